"""What is shown on a terminal: readable, cut sensibly, and never in command of it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatRequestParameters,
    ChatResponse,
    Run,
    ScriptedChatModel,
    TextDelta,
    ToolExecution,
    ToolExecutionRequest,
    ToolExecutionResult,
    ToolFinished,
    ToolOutcome,
    ToolService,
    ToolStarted,
)
from agentforge.cli.console import Console
from agentforge.cli.conversation import Conversation
from agentforge.cli.text import shorten, table, visible
from agentforge.cli.view import JsonView, TextView
from agentforge.client import ChatClient
from agentforge.model import Notice
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask, AttemptDiscarded, PlannedCall, event_to_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 中文, tab\tand\nline", "plain, 中文, tab\tand\nline"),
        ("\x1b[2Jclear", "\\x1b[2Jclear"),
        ("\x9b31m", "\\x9b31m"),
        ("bell\x07 back\x08", "bell\\x07 back\\x08"),
        ("over\rwritten", "over\\x0dwritten"),
        ("windows\r\nend", "windows\nend"),
        ("\u202eturned", "\\u202eturned"),
        ("no\u200bwidth", "no\\u200bwidth"),
        ("hidden\U000e0041", "hidden\\U000e0041"),
        ("half \ud83d", "half \\ud83d"),
        ("whole 😀 👨‍👩‍👧", "whole 😀 👨‍👩‍👧"),
    ],
)
def test_what_steers_a_terminal_is_written_out(text: str, shown: str) -> None:
    """And all that is only text stays as it is."""
    assert visible(text) == shown


def test_data_can_be_written_to_any_stream() -> None:
    """Half a character, as a provider may send it, is written as JSON escapes it."""
    out = io.StringIO()
    Console(io.StringIO(), out, io.StringIO(), {}).data({"text": "天 \ud83d"})

    assert out.getvalue() == '{"text": "\\u5929 \\ud83d"}\n'


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("short", "short"),
        ("a\nb\nc", "a\nb\nc"),
        ("a\nb\nc\nd", "a\nb\nc ... (2 more characters)"),
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 20 + " ... (1 more character)"),
        ("", ""),
    ],
)
def test_a_long_text_is_cut_and_says_how_much(text: str, cut: str) -> None:
    """By lines and by characters."""
    assert shorten(text, lines=3, characters=20) == cut


def test_columns_line_up_under_wide_characters() -> None:
    """A Chinese character takes two columns."""
    assert table(("a", "b"), [("天气", "x"), ("w", "y")]).splitlines() == ["a     b", "天气  x", "w     y"]


def test_a_result_can_neither_steer_the_terminal_nor_pass_for_a_line_of_ours(project: Any) -> None:
    """Its escape codes are written out and its further lines are moved in."""
    project.script("[{calls: [{name: read_page}]}, done]", component="SlyTools")
    err = project.run("chat", "hello").err

    assert "\x1b" not in err and "\\x1b[2Jgone" in err
    assert [line for line in err.splitlines() if line.startswith("->")] == ["-> read_page {}"]


def test_a_long_result_is_cut(project: Any) -> None:
    """The model gets it all; people get its beginning."""
    project.script("[{calls: [{name: read_book}]}, done]", component="SlyTools")
    err = project.run("chat", "hello").err

    assert "line 11" in err and "line 12" not in err and "more characters)" in err


def test_a_secret_is_masked_before_a_text_is_cut() -> None:
    """In a call's arguments as in its result; else its beginning would be shown."""
    err = io.StringIO()
    console = Console(io.StringIO(), io.StringIO(), err, {})
    console.secrets.add("sk-0123456789")
    request = ToolExecutionRequest("c1", "act", "x" * 595 + "sk-0123456789")
    execution = ToolExecution(request, ToolExecutionResult.success("y" * 1195 + "sk-0123456789"), ToolOutcome.OK)
    view = TextView(console, "m")
    view.event(ToolStarted(request, 0))
    view.event(ToolFinished(execution, 0))

    assert "x***" in err.getvalue() and "y***" in err.getvalue() and "sk-0" not in err.getvalue()


def test_an_answer_cannot_steer_a_terminal_and_is_untouched_in_a_pipe(project: Any, terminal: Any) -> None:
    """What reads the pipe gets what the model said."""
    project.script('["\\e[31mred"]')
    assert project.run("chat", "hello").out == "\x1b[31mred\n"

    project.script('["\\e[31mred"]')
    assert project.run("chat", "hello", stdout=terminal()).out == "\\x1b[31mred\n"


def test_on_a_terminal_text_before_a_call_is_shown_too(project: Any, terminal: Any) -> None:
    """And the answer only once."""
    project.script(
        '[{text: Let me look., calls: [{name: get_weather, arguments: \'{"city": "Paris"}\'}]}, It is fine.]'
    )

    assert project.run("chat", "hello", stdout=terminal()).out == "Let me look.\nIt is fine.\n"


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_only_where_it_is_wanted(
    project: Any, terminal: Any, environment: dict[str, str], coloured: bool
) -> None:
    """On a terminal, without NO_COLOR and not with TERM=dumb; never in the answer."""
    ended = project.run("chat", "hello", stderr=terminal(), environment=environment)

    assert ("\x1b[36m->" in ended.err) is coloured and ("\x1b" in ended.err) is coloured
    assert "\x1b" not in ended.out


def test_an_unknown_tool_that_is_refused_is_shown_with_its_call(project: Any) -> None:
    """Though it never began; a call of another round that did begin in its place is another call."""
    project.script(
        "[{calls: [{name: get_weather, args: {city: Paris}}]}, {calls: [{name: nothing}]}, done]",
        more=", error_handlers: {unknown_tool: list_known_tools}",
    )
    lines = project.run("chat", "hello").err.splitlines()

    assert lines[2] == "-> nothing {}" and lines[3].startswith("<- nothing (unknown_tool, ")


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ("{text: '', thinking: hm}", "! the model gave no text"),
        ("{text: half, finish_reason: length}", "ended by length"),
        ("{text: x, thinking: hm}", "(thinking ...)"),
    ],
)
def test_what_people_should_know_of_a_reply(project: Any, turn: str, said: str) -> None:
    """An empty one, one that was cut, one that is long in coming."""
    project.script(f"[{turn}]")

    assert said in project.run("chat", "hello").err


@pytest.mark.parametrize("text", ["", "text: I would look., "])
@pytest.mark.parametrize("chain", ["tool_calling: false", "advisors: [{type: tool_calling, user_controlled: true}]"])
def test_calls_that_are_handed_back_are_shown(project: Any, chain: str, text: str) -> None:
    """With or without a text beside them: nobody runs them here, and the turn is over."""
    project.script(f"[{{{text}calls: [{{name: get_weather, args: {{city: Paris}}}}]}}]", more=f", {chain}")
    ended = project.run("chat", "hello")

    assert (ended.code, ended.out) == (0, "I would look.\n" if text else "")
    assert ended.err.splitlines()[:2] == [
        '-> get_weather {"city":"Paris"}',
        "! handed back: this client does not run the model's calls",
    ]


def test_arguments_that_are_no_json_stay_text(project: Any) -> None:
    """In the data of a call that was refused."""
    project.script(
        "[{calls: [{name: get_weather, arguments: '{broken'}]}, done]",
        more=", error_handlers: {arguments: return_to_model}",
    )
    (execution,) = json.loads(project.run("chat", "hello", "--json").out)["tool_executions"]

    assert (execution["arguments"], execution["outcome"]) == ("{broken", "invalid_arguments")


class _AskFirst:
    """A gate that lets nothing run without a decision."""

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Ask]:
        return [Ask("is that right?") for _ in batch]


async def test_a_turn_that_waits_for_decisions() -> None:
    """Says which call waits and why, in text and as data."""

    def pay(amount: int) -> str:
        "Pays."
        return "paid"

    err, out = io.StringIO(), io.StringIO()
    text, data = (Console(io.StringIO(), stream, err, {}) for stream in (io.StringIO(), out))
    for view in (TextView(text, "m"), JsonView(data, "m", streamed=True), JsonView(data, "m", streamed=False)):
        model: Any = ScriptedChatModel([call("pay", amount=5)])
        with ToolService(pay, gates=[_AskFirst()]) as service:
            await Conversation(ChatClient(model, service=service), view, streamed=True).ask("Pay.")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]

    assert "! call 1 waits for a decision: is that right?" in err.getvalue() and "suspended" in err.getvalue()
    assert [line["waiting"] for line in lines if line.get("event") == "run_suspended"] == [{"0": "is that right?"}]
    assert lines[-2]["result"]["suspended"] is True
    assert (lines[-1]["suspended"], lines[-1]["text"], lines[-1]["model"]) == (True, None, "m")


def test_an_attempt_that_does_not_count(terminal: Any) -> None:
    """Is said after what was shown of it."""
    out, err = terminal(), io.StringIO()
    view = TextView(Console(io.StringIO(), out, err, {}), "m")
    for event in (TextDelta("first"), AttemptDiscarded("it was cut"), TextDelta("second\r"), TextDelta("\n")):
        view.event(event)
    view.abort()

    assert out.getvalue() == "first\nsecond\n"
    assert err.getvalue() == "! that answer does not count: it was cut\n"


def test_a_discarded_attempt_as_data() -> None:
    """With the run and its parent."""
    event = AttemptDiscarded("it was cut", run_id="r2", parent_run_id="r1")

    assert event_to_json(event, model="m", seconds=0) == {
        "event": "attempt_discarded",
        "run_id": "r2",
        "parent_run_id": "r1",
        "reason": "it was cut",
    }


def test_a_notice_of_the_run_is_shown_once(project: Any) -> None:
    """Streamed or not, in text and as data."""
    call_it = '{calls: [{name: get_weather, arguments: \'{"city": "Paris"}\'}]}'
    for words in ([], ["--no-stream"]):
        project.script(f"[{call_it}, done]", more=", tool_choice: required")
        assert project.run("chat", "hello", *words).err.count("(tool_choice_first_round_only)") == 1
    project.script(f"[{call_it}, done]", more=", tool_choice: required")
    lines = [json.loads(line) for line in project.run("chat", "hello", "--json", "--stream").out.splitlines()]

    assert [line["code"] for line in lines if line["event"] == "notice"] == ["tool_choice_first_round_only"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_each_round_says_again_is_shown_once_a_turn(streamed: bool) -> None:
    """Notices of replies, which stand on each of them, beside those of the run itself."""

    def pay() -> str:
        "Pays."
        return "paid"

    err = io.StringIO()
    view = TextView(Console(io.StringIO(), io.StringIO(), err, {}), "m")
    relaxed, other = Notice("schema_narrowed", "tool 'pay': no bounds"), Notice("feature_dropped", "a seed; left out")
    rounds = [
        ChatResponse(AiMessage([ToolExecutionRequest(str(number), "pay", "{}")]), notices=(relaxed, other))
        for number in range(3)
    ]
    model = ScriptedChatModel([*rounds, ChatResponse(AiMessage("done"), notices=(relaxed, relaxed))], repeat=True)
    parameters = ChatRequestParameters(tool_choice="required")
    with ToolService(pay) as service:
        conversation = Conversation(ChatClient(model, service=service, parameters=parameters), view, streamed=streamed)
        for turn in (1, 2):
            await conversation.ask("Pay.")
            shown = err.getvalue()
            for code in ("schema_narrowed", "feature_dropped", "tool_choice_first_round_only"):
                assert shown.count(f"({code})") == turn, shown


def test_parts_that_are_no_text_are_counted(project: Any) -> None:
    """In a conversation and in a call by hand."""
    project.write(
        f"{project.module}.py",
        "from agentforge import ImageContent, ToolExecutionResult, tool\n"
        "@tool('A picture.')\ndef picture() -> ToolExecutionResult:\n"
        "    return ToolExecutionResult(parts=[ImageContent(url='https://127.0.0.1/a.png')])\n",
    )
    project.script("[{calls: [{name: picture}]}, done]", component="picture")

    assert "s) (and 1 part of no text)" in project.run("chat", "hello").err
    assert "(1 part of the result not shown: no text)" in project.run("tools", "call", "picture").err


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ("{input: 3, output: 2}", "5 tokens (3 in, 2 out)"),
        ("{total: 1}", "1 token,"),
        ("{reasoning: 2}", "0 calls, 0."),
    ],
)
def test_tokens_as_far_as_they_are_known(project: Any, usage: str, said: str) -> None:
    """A provider that reports none is not said to have used none."""
    project.script(f"[{{text: x, usage: {usage}}}]")

    assert said in project.run("chat", "hello").err


@pytest.mark.parametrize(
    ("second", "said", "data"),
    [
        (
            "cost=Decimal('0.02'), currency='USD'",
            "4 tokens (2 in, 2 out), 0.03 USD, ",
            {"cost": "0.03", "currency": "USD"},
        ),
        ("", "4 tokens (2 in, 2 out), at least 0.01 USD, ", {"partial_costs": {"USD": "0.01"}}),
    ],
)
def test_what_a_turn_cost_as_far_as_it_is_known(project: Any, second: str, said: str, data: dict[str, Any]) -> None:
    """In words for people, exactly for programs."""
    project.write(
        f"{project.module}.py",
        "from decimal import Decimal\n"
        "from agentforge import ScriptedChatModel, TokenUsage, tool\n"
        "from agentforge.testing import call\n"
        "@tool('Now.')\ndef now() -> str:\n    return 'noon'\n"
        "first = TokenUsage(1, 1, 2, cost=Decimal('0.01'), currency='USD')\n"
        f"second = TokenUsage(1, 1, 2, {second})\n"
        "class Metered(ScriptedChatModel):\n"
        "    def __init__(self) -> None:\n"
        "        calls = {'calls': [call('now')], 'usage': first}\n"
        "        super().__init__([calls, {'text': 'Noon.', 'usage': second}])\n",
    )
    project.write(
        "agentforge.yaml",
        f"""agentforge: 1
scan: [{project.module}]
beans:
  model: {{type: component, component: Metered}}
  tools: {{type: python_tools, component: now}}
  assistant: {{type: chat_client, model: model, tools: [tools]}}
""",
    )
    assert said in project.run("chat", "hello").err
    usage = json.loads(project.run("chat", "hello", "--json", "--no-stream").out)["usage"]
    assert usage == {"input_tokens": 2, "output_tokens": 2, "total_tokens": 4, **data}
