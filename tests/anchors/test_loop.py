"""Section I, as far as the bare loop goes: rounds, usage, order, history, limits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentforge import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ResponseDone,
    Run,
    ScriptedChatModel,
    SystemMessage,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolService,
    UserMessage,
    tool,
)
from agentforge.errors import ToolRoundTripLimitError
from agentforge.model import History
from agentforge.model.scripted import call, calls
from agentforge.tool.execution import Ask, PlannedCall, Verdict
from tests.anchors.support import ANSWER, FACES, Conversation, converse, differs, row


class Desk:
    """Three tools that note their calls."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    @tool("Weather.")
    def weather(self, city: str) -> str:
        self.ran.append(f"weather {city}")
        return f"{city}: 22"

    @tool("The time.")
    def now(self) -> str:
        self.ran.append("now")
        return "10:00"

    @tool("A price.")
    def price(self, item: str) -> str:
        self.ran.append(f"price {item}")
        return f"{item}: 7"


ROUNDS = [
    row(226, "one round", [call("now"), ANSWER], 2, ["now"]),
    row(227, "two rounds", [call("now"), call("price", item="tea"), ANSWER], 3, ["now", "price tea"]),
]


@FACES
@pytest.mark.parametrize(("turns", "requests", "ran"), ROUNDS)
async def test_each_round_is_one_request_more_and_runs_its_calls_once(
    turns: Sequence[object], requests: int, ran: list[str], streamed: bool
) -> None:
    desk = Desk()
    done = await converse(ToolService(desk), turns, streamed=streamed)
    assert (len(done.requests), desk.ran, done.result.text) == (requests, ran, ANSWER)


FIRST, SECOND = TokenUsage(10, 20, 30), TokenUsage(1, 2, 3)
CACHED = TokenUsage(10, 20, 30, cached_input_tokens=100, raw={"cache_read": 100})
WRITTEN = TokenUsage(1, 2, 3, cached_input_tokens=200, cache_write_tokens=5, raw={"cache_read": 200})
USAGE = [
    row(230, "tokens", FIRST, SECOND, TokenUsage(11, 22, 33)),
    row(231, "cache", CACHED, WRITTEN, TokenUsage(11, 22, 33, cached_input_tokens=300, cache_write_tokens=5)),
]


@FACES
@pytest.mark.parametrize(("first", "second", "total"), USAGE)
async def test_usage_is_summed_over_the_rounds(
    first: TokenUsage, second: TokenUsage, total: TokenUsage, streamed: bool
) -> None:
    """Counts are added; the provider's own object belongs to one reply and is left out of the sum."""
    turns = [
        ChatResponse(AiMessage([ToolExecutionRequest("c1", "now")]), FinishReason.TOOL_EXECUTION, first),
        ChatResponse(AiMessage(ANSWER), FinishReason.STOP, second),
    ]
    done = await converse(ToolService(Desk()), turns, streamed=streamed)
    assert done.result.token_usage == total
    assert done.result.token_usage.raw is None


def answers_of(done: Conversation) -> list[tuple[str, str]]:
    """The results that the second request holds, by id."""
    messages = done.requests[1].messages
    return [(message.id, message.text) for message in messages if isinstance(message, ToolExecutionResultMessage)]


ORDER = [
    row(
        239,
        "different tools",
        [("a", "weather", '{"city": "Lima"}'), ("b", "now", ""), ("c", "price", '{"item": "tea"}')],
        [("a", "Lima: 22"), ("b", "10:00"), ("c", "tea: 7")],
    ),
    row(
        240,
        "the same tool twice",
        [("a", "weather", '{"city": "Lima"}'), ("b", "now", ""), ("c", "weather", '{"city": "Oslo"}')],
        [("a", "Lima: 22"), ("b", "10:00"), ("c", "Oslo: 22")],
    ),
]


@FACES
@pytest.mark.parametrize(("asked", "answers"), ORDER)
async def test_results_stand_in_the_order_of_the_calls_each_with_its_own_id(
    asked: list[tuple[str, str, str]], answers: list[tuple[str, str]], streamed: bool
) -> None:
    """They follow their reply directly, as one block."""
    turns = [calls(*(ToolExecutionRequest(*made) for made in asked)), ANSWER]
    done = await converse(ToolService(Desk()), turns, streamed=streamed)
    assert answers_of(done) == answers
    assert [type(message) for message in done.requests[1].messages[-len(asked) - 1 :]] == [
        AiMessage,
        *[ToolExecutionResultMessage] * len(asked),
    ]


# -- where we decide otherwise -------------------------------------------------------------------


class AskFirst:
    """A gate that has every call decided by someone."""

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """One question a call."""
        return [Ask("may it?") for _ in batch]


@FACES
@differs(232, "the run suspends")
async def test_calls_that_are_not_to_run_yet_suspend_the_run(anchor: int, streamed: bool) -> None:
    """The waiting calls are in its state; the messages stay valid without them."""
    desk = Desk()
    done = await converse(ToolService(desk, gates=[AskFirst()]), [call("now")], streamed=streamed)
    state = done.result.suspended
    assert state is not None
    assert state.reply is not None
    assert [request.name for request in state.reply.ai_message.tool_execution_requests] == ["now"]
    assert (desk.ran, done.result.messages) == ([], (UserMessage("question"),))


@FACES
@differs(232, "the model alone")
async def test_whoever_runs_calls_himself_asks_the_model_without_a_service(anchor: int, streamed: bool) -> None:
    """The call is handed back as it came."""
    desk = Desk()
    parameters = ChatRequestParameters(tools=ToolService(desk).tool_specifications)
    request = ChatRequest([UserMessage("time?")], parameters)
    model = ScriptedChatModel([call("now")])
    if streamed:
        *_, last = [event async for event in model.stream(request)]
        assert isinstance(last, ResponseDone)
        response = last.response
    else:
        response = await model.chat(request)
    assert [made.name for made in response.ai_message.tool_execution_requests] == ["now"]
    assert desk.ran == []


@FACES
@differs(233, "no calls, no round")
async def test_a_reply_without_calls_ends_the_turn_whatever_its_finish_reason_says(anchor: int, streamed: bool) -> None:
    turn = ChatResponse(AiMessage(ANSWER), FinishReason.TOOL_EXECUTION)
    done = await converse(ToolService(Desk()), [turn], streamed=streamed)
    assert (len(done.requests), done.result.text) == (1, ANSWER)


@differs(236, "the whole turn, always")
async def test_every_request_holds_the_whole_turn(anchor: int) -> None:
    model = ScriptedChatModel([call("now"), ANSWER])
    await ToolService(Desk()).chat(model, None, [SystemMessage("be brief"), UserMessage("time?")])
    assert [type(message) for message in model.requests[1].messages] == [
        SystemMessage,
        UserMessage,
        AiMessage,
        ToolExecutionResultMessage,
    ]


@FACES
@differs(237, "a typed error with the history")
async def test_more_rounds_than_allowed_are_an_error_that_carries_all_there_is(anchor: int, streamed: bool) -> None:
    service = ToolService(Desk(), max_tool_calling_round_trips=1)
    with pytest.raises(ToolRoundTripLimitError, match="more than 1") as caught:
        await converse(service, [call("now"), call("now"), ANSWER], streamed=streamed)
    partial = caught.value.partial
    assert [made.outcome for made in partial.tool_executions] == [ToolOutcome.OK, ToolOutcome.LIMITED]  # type: ignore[attr-defined]
    assert History.of(partial.messages) is partial.messages  # type: ignore[attr-defined]
