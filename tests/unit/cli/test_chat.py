"""`agentforge chat`: one question, its answer on standard output and everything else on standard error."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

ANSWER = "杭州今天 22 度。"


def test_the_answer_is_the_result_and_all_else_is_beside_it(project: Any) -> None:
    """The call with its arguments, its result, and one line with rounds, calls, tokens, time and model."""
    ended = project.run("chat", "杭州今天天气怎么样？")

    assert (ended.code, ended.out) == (0, f"{ANSWER}\n")
    call, result, summary = ended.err.splitlines()
    assert call == '-> get_weather {"city": "杭州"}'
    assert re.fullmatch(r"<- get_weather \(\d+\.\d\d s\) 杭州: 22 degrees", result)
    assert re.fullmatch(r"-- 2 rounds, 1 call, \d+ tokens \(\d+ in, \d+ out\), \d+\.\d s, model scripted", summary)


@pytest.mark.parametrize("words", [["-"], []], ids=["dash", "no text"])
def test_the_question_from_standard_input(project: Any, words: list[str]) -> None:
    """Is taken whole."""
    ended = project.run("chat", *words, "--json", stdin="杭州\n今天天气怎么样？\n")

    assert json.loads(ended.out)["text"] == ANSWER


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        ([""], "", "the question is empty"),
        (["  \n"], "", "the question is empty"),
        (["-"], "", "standard input is empty"),
        ([], " \n", "standard input is empty"),
    ],
)
def test_an_empty_question_is_wrong_usage(project: Any, words: list[str], stdin: str, said: str) -> None:
    """No model is asked."""
    ended = project.run("chat", *words, stdin=stdin)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_bytes_that_are_no_text_are_refused(project: Any) -> None:
    """With the place of the first of them."""
    ended = project.run("chat", "-", stdin=io.TextIOWrapper(io.BytesIO("天".encode() + b"\xff"), "utf-8"))

    assert ended.code == 1
    assert "standard input is not UTF-8 text: byte 4 is 0xff" in ended.err


def test_an_argument_that_is_no_text_is_refused(project: Any) -> None:
    """As Python hands such bytes over: as lone surrogates."""
    ended = project.run("chat", "caf\udce9")

    assert ended.code == 1 and "the question is not UTF-8 text" in ended.err


def test_a_byte_order_mark_is_no_part_of_the_question(project: Any) -> None:
    """As some editors put before a text."""
    ended = project.run("chat", stdin=io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf"), "utf-8"))

    assert ended.code == 2 and "is empty" in ended.err


def test_the_result_as_data(project: Any) -> None:
    """One JSON object and nothing beside it."""
    ended = project.run("chat", "hello", "--json")
    data = json.loads(ended.out)

    assert ended.err == ""
    (execution,) = data["tool_executions"]
    assert (execution["name"], execution["arguments"]) == ("get_weather", {"city": "杭州"})
    assert (execution["outcome"], execution["result"]) == ("ok", "杭州: 22 degrees")
    assert (data["text"], data["rounds"], data["model"]) == (ANSWER, 2, "scripted")
    assert data["usage"]["total_tokens"] > 0
    assert data["seconds"] >= 0 and execution["seconds"] >= 0


def test_events_as_data_are_one_line_each_and_end_with_the_result(project: Any) -> None:
    """`--stream --json`: NDJSON, the same result last."""
    lines = [json.loads(line) for line in project.run("chat", "hello", "--stream", "--json").out.splitlines()]
    names = [line["event"] for line in lines]

    assert names[0] == "run_started" and names[-1] == "run_finished"
    assert names.index("tool_call_ready") < names.index("tool_started") < names.index("tool_finished")
    assert "".join(line["text"] for line in lines if line["event"] == "text_delta") == ANSWER
    assert len({line["run_id"] for line in lines}) == 1
    assert lines[-1]["result"]["text"] == ANSWER


class _Counting(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[str] = []

    def flush(self) -> None:
        self.flushed.append(self.getvalue())


def test_every_event_is_flushed_as_it_comes(project: Any) -> None:
    """So that a reader of the pipe has it before the next is made."""
    out = _Counting()
    ended = project.run("chat", "hello", "--stream", "--json", stdout=out)
    seen = {text.count("\n") for text in out.flushed}

    assert seen >= set(range(1, ended.out.count("\n") + 1))


@pytest.mark.parametrize("words", [["--no-stream"], ["--stream"], []])
def test_streamed_or_not_the_same_is_shown(project: Any, words: list[str]) -> None:
    """The way to ask the model changes neither the answer nor the calls."""
    ended = project.run("chat", "hello", *words)

    assert ended.out == f"{ANSWER}\n"
    assert [line[:2] for line in ended.err.splitlines()] == ["->", "<-", "--"]


# -- which client -----------------------------------------------------------------------------------

SEVERAL = """
agentforge: 1
beans:
  one: {type: scripted, turns: [from one]}
  two: {type: scripted, turns: [from two]}
  first: {type: chat_client, model: one}
  second: {type: chat_client, model: two, bean: {OPTIONS}}
"""


@pytest.mark.parametrize(
    ("options", "words", "answer"),
    [
        ("primary: true", [], "from two"),
        ("primary: true", ["--bean", "first"], "from one"),
        ("lazy: true", ["--bean", "second"], "from two"),
        ("aliases: [desk]", ["--bean", "desk"], "from two"),
    ],
)
def test_the_client_that_answers(project: Any, options: str, words: list[str], answer: str) -> None:
    """The one that is named, by id or alias, else the primary one."""
    project.write("agentforge.yaml", SEVERAL.replace("OPTIONS", options))

    assert project.run("chat", "hello", *words).out == f"{answer}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "several beans that are a chat client: first, second"),
        (["--bean", "thrid"], "there is no bean 'thrid'"),
        (["--bean", "frist"], "Did you mean 'first'?"),
        (["--bean", "one"], "the bean 'one' is no chat client: its type is scripted"),
    ],
)
def test_a_client_that_cannot_be_chosen(project: Any, words: list[str], said: str) -> None:
    """Is an error that lists what there is."""
    project.write("agentforge.yaml", SEVERAL.replace("OPTIONS", "lazy: false"))
    ended = project.run("chat", "hello", *words)

    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err


def test_a_configuration_without_a_client(project: Any) -> None:
    """Says which type of bean is missing."""
    project.write("agentforge.yaml", "agentforge: 1\nbeans: {model: {type: scripted, turns: []}}\n")

    assert "type chat_client" in project.run("chat", "hello").err


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_turn_that_waits_for_a_decision_is_not_done(
    project: Any, gated: Callable[[str], None], words: list[str]
) -> None:
    """Its exit code says so."""
    gated("Ask('is that right?')")
    project.script("[{calls: [{name: get_weather, args: {city: Paris}}]}]", more=", gates: [{type: desk.gate}]")
    ended = project.run("chat", "hello", *words)

    assert ended.code == 1
    assert '"suspended": true' in ended.out if words else "suspended" in ended.err


# -- when it goes wrong -----------------------------------------------------------------------------


def test_a_failing_model_is_one_block_after_what_was_done(project: Any) -> None:
    """The calls that ran are shown; the error is the last word and the code is 1."""
    project.script('[{calls: [{name: get_weather, arguments: \'{"city": "Paris"}\'}]}, {error: {type: overloaded}}]')
    ended = project.run("chat", "hello")

    assert (ended.code, ended.out) == (1, "")
    lines = ended.err.splitlines()
    assert lines[0].startswith("-> get_weather") and lines[1].startswith("<- get_weather")
    assert lines[2].startswith("[AF308]") and "Traceback" not in ended.err


def test_an_error_as_data(project: Any) -> None:
    """Code, message, location, next step and where more is said, as one object on standard error."""
    project.script("[]")
    ended = project.run("chat", "hello", "--json")
    error = json.loads(ended.err)["error"]

    assert (ended.code, ended.out) == (1, "")
    assert set(error) == {"code", "message", "location", "next_step", "help"}
    assert error["code"] == "AF300" and error["next_step"].startswith("Add a turn")


def test_a_tool_that_ends_the_run_is_one_block(project: Any) -> None:
    """Its words and its name; the traceback only with --debug."""
    project.script(
        '[{calls: [{name: broken, arguments: \'{"reason": "rain"}\'}]}]', more=", error_handlers: {execution: rethrow}"
    )
    plain, debug = project.run("chat", "hello"), project.run("chat", "hello", "--debug")

    assert plain.code == debug.code == 1
    assert plain.err.splitlines()[1:] == [
        "[AF402] because of rain (tool 'broken')",
        "help: agentforge explain AF402 (docs/reference/errors.md#af402)",
    ]
    assert "ValueError: because of rain" in debug.err and "Traceback" in debug.err


def test_a_logged_warning_has_no_traceback(project: Any) -> None:
    """A failing tool is told to the model and logged: one line."""
    project.script('[{calls: [{name: broken, arguments: \'{"reason": "rain"}\'}]}, sorry]')
    ended = project.run("chat", "hello")

    assert ended.code == 0 and ended.out == "sorry\n"
    assert "warning: tool 'broken' failed" in ended.err and "Traceback" not in ended.err
    assert "<- broken (failed, " in ended.err


@pytest.mark.parametrize("words", [(), ("--json",), ("--debug",), ("--no-stream",)])
def test_a_secret_is_masked_in_an_error(project: Any, words: tuple[str, ...]) -> None:
    """Also in the words of an exception, and in its traceback."""
    project.write(
        f"{project.module}.py",
        "from agentforge import tool\n"
        "class Orders:\n    def __init__(self, key) -> None:\n        self.key = key.get_secret_value()\n"
        "    @tool('Orders.')\n    def orders(self) -> str:\n        raise ValueError(f'{self.key} was refused')\n",
    )
    project.write(
        "agentforge.yaml",
        """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: [{calls: [{name: orders}]}]}
  orders: {type: python_tools, component: Orders, arguments: {key: "${secret:DESK_KEY}"}}
  assistant: {type: chat_client, model: model, tools: [orders], error_handlers: {execution: rethrow}}
""",
    )
    ended = project.run("chat", "hello", *words, environment={"DESK_KEY": "sk-12345"})

    assert ended.code == 1 and "AF402" in ended.err
    assert "sk-12345" not in ended.err and "*** was refused" in ended.err


@pytest.mark.parametrize("words", [["--json"], ["--json", "--stream"]])
def test_a_secret_is_masked_in_data_which_stays_json(project: Any, words: list[str]) -> None:
    """Also one that is a number: as text it stands in a result, and as it is in the arguments."""
    project.write(
        f"{project.module}.py",
        "from agentforge import tool\n"
        "class Safe:\n    def __init__(self, pin) -> None:\n        self.pin = pin\n"
        "    @tool('Opens.')\n    def open(self, pin: int) -> str:\n        return f'opened with {pin}'\n",
    )
    project.write(
        "agentforge.yaml",
        """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: [{calls: [{name: open, args: {pin: 987654}}]}, It is open.]}
  safe: {type: python_tools, component: Safe, arguments: {pin: "${secret:PIN}"}}
  assistant: {type: chat_client, model: model, tools: [safe]}
""",
    )
    ended = project.run("chat", "hello", *words, environment={"PIN": "987654"})
    last = [json.loads(line) for line in ended.out.splitlines()][-1]
    (execution,) = last.get("result", last)["tool_executions"]

    assert (execution["arguments"], execution["result"]) == ({"pin": "***"}, "opened with ***")
    assert "987654" not in ended.out


def test_the_memory_id_reaches_the_tools(project: Any) -> None:
    """As the conversation's id."""
    project.write(
        f"{project.module}.py",
        "from agentforge import ToolContext, tool\n"
        "@tool('Who asks.')\ndef who(context: ToolContext) -> str:\n    return f'it is {context.memory_id}'\n",
    )
    project.script("[{calls: [{name: who}]}, done]", component="who")

    assert "it is anna" in project.run("chat", "hello", "--memory-id", "anna").err
