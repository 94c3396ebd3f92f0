"""The lines of the log: what stands in them, what is masked, and what is never written."""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.advisor import Advised, Chain, ToolCallingAdvisor, arranged, model_call
from agentforge.advisor.logger import LoggerAdvisor
from agentforge.errors import ConfigurationError, RateLimitError
from agentforge.model import ChatRequest, Event, ImageContent, SystemMessage, TokenUsage, UserMessage
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask, PlannedCall, Run

QUESTION = ChatRequest((SystemMessage("Be short."), UserMessage("Weather in Rome?")))


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: 22 degrees"


async def lines(
    caplog: pytest.LogCaptureFixture,
    advisor: LoggerAdvisor,
    *advisors: Any,
    turns: list[Any],
    run: Run | None = None,
    request: ChatRequest = QUESTION,
    streamed: bool = False,
    first: bool = True,
) -> list[str]:
    """The lines that one turn writes."""

    async def emit(event: Event) -> None:
        pass

    listed = [advisor, *advisors] if first else [*advisors, advisor]
    chain = Chain(arranged(listed), model_call(ScriptedChatModel(turns)), emit=emit if streamed else None)
    with caplog.at_level(logging.DEBUG, logger="agentforge.chat"):
        await chain.next(run or Run(id="0123456789"), request)
    return [record.getMessage() for record in caplog.records]


TWO_ROUNDS = [
    {"text": "Let me look.", "calls": [call("get_weather", city="Rome")], "usage": {"input": 10, "output": 1}},
    {"text": "Sunny.", "usage": {"input": 20, "output": 2}},
]


@pytest.mark.parametrize("streamed", [False, True])
async def test_outside_the_loop_a_turn_is_two_lines(caplog: pytest.LogCaptureFixture, streamed: bool) -> None:
    with ToolService(get_weather) as service:
        await lines(caplog, LoggerAdvisor(), ToolCallingAdvisor(service), turns=TWO_ROUNDS, streamed=streamed)

    asked, answered = (record.getMessage() for record in caplog.records)
    assert asked == "run 01234567 > 2 messages; last: user 'Weather in Rome?'"
    assert answered.startswith("run 01234567 < assistant 'Sunny.'; finish: stop; tokens: 30 in, 3 out; 0.")
    assert {record.levelno for record in caplog.records} == {logging.INFO}


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ((), ["tokens: 5 in, 1 out; 0.", "tokens: 5 in, 1 out; 0."]),
        (("0.1", "0.2"), ["1 out; cost: 0.1 USD; 0.", "1 out; cost: 0.2 USD; 0."]),
        (("0.1",), ["1 out; cost: 0.1 USD; 0.", "tokens: 5 in, 1 out; 0."]),
    ],
)
async def test_a_line_says_what_was_spent_where_that_is_known(
    caplog: pytest.LogCaptureFixture, costs: tuple[str, ...], said: list[str]
) -> None:
    """Of each round by itself."""
    usages = [TokenUsage(5, 1, cost=Decimal(cost), currency="USD") for cost in costs]
    first, second = (*usages, TokenUsage(5, 1), TokenUsage(5, 1))[:2]
    turns = [{"calls": [call("get_weather", city="Rome")], "usage": first}, {"text": "Sunny.", "usage": second}]
    with ToolService(get_weather) as service:
        found = await lines(caplog, LoggerAdvisor(), ToolCallingAdvisor(service), turns=turns, first=False)

    assert all(words in line for words, line in zip(said, found[1::2], strict=True))


@pytest.mark.parametrize("streamed", [False, True])
async def test_inside_the_loop_each_round_is(caplog: pytest.LogCaptureFixture, streamed: bool) -> None:
    with ToolService(get_weather) as service:
        loop = ToolCallingAdvisor(service)
        await lines(caplog, LoggerAdvisor("debug"), loop, turns=TWO_ROUNDS, streamed=streamed, first=False)

    texts = [record.getMessage().rpartition("; 0.")[0] or record.getMessage() for record in caplog.records]
    assert texts == [
        "run 01234567 > 2 messages; tools: get_weather; last: user 'Weather in Rome?'",
        "run 01234567 < assistant 'Let me look.'; calls: get_weather('{\"city\":\"Rome\"}'); finish: tool_execution; "
        "tokens: 10 in, 1 out",
        "run 01234567 > 4 messages; tools: get_weather; last: result of get_weather 'Rome: 22 degrees'",
        "run 01234567 < assistant 'Sunny.'; finish: stop; tokens: 20 in, 2 out",
    ]


async def test_without_content_no_text_and_no_argument_is_written(caplog: pytest.LogCaptureFixture) -> None:
    with ToolService(get_weather) as service:
        loop, advisor = ToolCallingAdvisor(service), LoggerAdvisor(content=False)
        await lines(caplog, advisor, loop, turns=TWO_ROUNDS, first=False)

    written = caplog.text
    assert all(word not in written for word in ("Rome", "Sunny", "look", "22"))
    assert "last: result of get_weather" in written and "calls: get_weather; finish: tool_execution" in written


async def test_a_secret_is_masked_before_the_text_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    """A half of it at the end of a line would be one too much."""
    run = Run()
    run.secrets.add("sk-0123456789")
    request = ChatRequest("The key is sk-0123456789.")
    written = await lines(caplog, LoggerAdvisor(max_characters=14), turns=["sk-0123456789"], run=run, request=request)

    assert "user 'The key is ***' and 1 characters more" in written[0]
    assert "sk-" not in caplog.text and "assistant '***'" in caplog.text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("one\ntwo", r"'one\ntwo'"), ("\x1b[2J", r"'\x1b[2J'"), ("\u2028", r"'\u2028'"), ("天气", "'天气'")],
)
async def test_a_text_stays_on_its_line(caplog: pytest.LogCaptureFixture, text: str, shown: str) -> None:
    """Whatever is in it: nobody writes a line of the log from outside."""
    await lines(caplog, LoggerAdvisor(), turns=["Hello."], request=ChatRequest(text))

    assert shown in caplog.records[0].getMessage()
    assert all(len(record.getMessage().splitlines()) == 1 for record in caplog.records)


async def test_other_parts_are_named(caplog: pytest.LogCaptureFixture) -> None:
    request = ChatRequest((UserMessage(["See", ImageContent(url="http://localhost/a.png")]),))
    await lines(caplog, LoggerAdvisor(), turns=["Hello."], request=request)

    assert "last: user 'See' [image]" in caplog.text


@pytest.mark.parametrize(
    ("content", "expected"),
    [(True, "! RateLimitError [AF307]: 'slow down, ***'; 0."), (False, "! RateLimitError [AF307]; 0.")],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_error_is_written_and_passes(
    caplog: pytest.LogCaptureFixture, content: bool, expected: str, streamed: bool
) -> None:
    run = Run()
    run.secrets.add("hush-hush")
    turns: list[Any] = [{"error": {"type": "rate_limit", "message": "slow down, hush-hush"}}]
    with pytest.raises(RateLimitError):
        await lines(caplog, LoggerAdvisor("debug", content=content), turns=turns, run=run, streamed=streamed)

    assert expected in caplog.records[-1].getMessage()
    assert caplog.records[-1].levelno == logging.WARNING


async def test_a_turn_that_waits_is_written_as_such(caplog: pytest.LogCaptureFixture) -> None:
    class Approval:
        async def check(self, batch: list[PlannedCall], run: Run) -> list[Ask]:
            return [Ask() for _ in batch]

    with ToolService(get_weather, gates=[Approval()]) as service:
        await lines(caplog, LoggerAdvisor(), ToolCallingAdvisor(service), turns=TWO_ROUNDS)

    assert "< suspended; waiting: get_weather; tokens: 10 in, 1 out; 0." in caplog.text


async def test_below_its_level_nothing_is_made(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("agentforge.tests.quiet")
    log.setLevel(logging.WARNING)
    advised = await Chain(arranged([LoggerAdvisor(logger=log)]), model_call(ScriptedChatModel(["Hi."]))).next(
        Run(), QUESTION
    )

    assert isinstance(advised, Advised) and caplog.records == []


@pytest.mark.parametrize(
    "wrong", [{"level": "loud"}, {"max_characters": 0}, {"max_characters": True}, {"max_characters": "2000"}]
)
def test_settings_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"level is one of|max_characters must be at least 1"):
        LoggerAdvisor(**wrong)
