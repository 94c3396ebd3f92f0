"""Section M: what a stream tells, in which order, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatResponse,
    FinishReason,
    RunFinished,
    ScriptedChatModel,
    TextDelta,
    TokenUsage,
    ToolExecutionRequest,
    ToolFinished,
    ToolStarted,
)
from agentforge.client import ChatClient
from agentforge.model import ToolCallDelta
from agentforge.model.scripted import call
from tests.anchors.support import ANSWER, ask, differs, row, rows


def look(where: str) -> str:
    "Look somewhere."
    return f"{where}: nothing"


FIRST, SECOND = TokenUsage(10, 20, 30), TokenUsage(1, 2, 3)
ASKED = ToolExecutionRequest("c1", "look", '{"where": "here"}')


def turns(last: TokenUsage) -> list[Any]:
    return [
        ChatResponse(AiMessage([ASKED]), FinishReason.TOOL_EXECUTION, FIRST),
        ChatResponse(AiMessage(ANSWER), FinishReason.STOP, last),
    ]


SUMS = [
    row(305, "the last round reports none", TokenUsage(), FIRST),
    row(305, "the last round reports its own", SECOND, TokenUsage(11, 22, 33)),
]


@pytest.mark.parametrize(("last", "total"), SUMS)
async def test_the_last_event_has_no_text_and_the_tokens_of_all_rounds(last: TokenUsage, total: TokenUsage) -> None:
    done = await ask(turns(last), tools=[look], streamed=True)
    finished = done.events[-1]
    assert isinstance(finished, RunFinished) and not hasattr(finished, "text")
    assert finished.result.token_usage == total


@rows(306, "the same prompt twice")
async def test_a_prompt_that_is_streamed_twice_counts_each_time(anchor: int) -> None:
    """Each stream is a run of its own."""
    async with ChatClient(ScriptedChatModel([*turns(SECOND), *turns(SECOND)]), tools=[look]) as client:
        prompt = client.prompt("question")
        for _ in range(2):
            async with prompt.stream() as events:
                last = [event async for event in events][-1]
            assert isinstance(last, RunFinished) and last.result.token_usage == TokenUsage(11, 22, 33)


@differs(307, "the call is shown")
async def test_a_call_is_told_piece_by_piece_and_then_what_becomes_of_it(anchor: int) -> None:
    """A listener chooses what to show; text of rounds that go on can be hidden."""
    done = await ask(turns(SECOND), tools=[look], streamed=True)
    assert any(isinstance(event, ToolCallDelta) for event in done.events)
    assert "".join(event.text for event in done.events if isinstance(event, TextDelta)) == ANSWER


@rows(309, "pieces of a call")
async def test_the_pieces_of_a_call_make_its_arguments(anchor: int) -> None:
    """Each has the place, the id and the name of its call."""
    asked = [ASKED, ToolExecutionRequest("c2", "look", '{"where": "杭州 and further"}')]
    script = [ChatResponse(AiMessage(asked), FinishReason.TOOL_EXECUTION), ANSWER]
    done = await ask(script, tools=[look], streamed=True)
    pieces = [event for event in done.events if isinstance(event, ToolCallDelta)]
    for index, request in enumerate(asked):
        own = [piece for piece in pieces if piece.index == index]
        assert len(own) > 1 and {(piece.id, piece.name) for piece in own} == {(request.id, "look")}
        assert "".join(piece.arguments_delta for piece in own) == request.arguments


@rows(310, "the order of one round")
async def test_events_come_in_the_order_of_what_happens(anchor: int) -> None:
    """Pieces of the call, the call begins, it has its result, text, the end."""
    done = await ask([call("look", where="here"), ANSWER], tools=[look], streamed=True)
    wanted = (ToolCallDelta, ToolStarted, ToolFinished, TextDelta, RunFinished)
    kinds = [type(event) for event in done.events if isinstance(event, wanted)]
    assert list(dict.fromkeys(kinds)) == list(wanted)
    assert kinds == sorted(kinds, key=wanted.index)
    [started] = [event for event in done.events if isinstance(event, ToolStarted)]
    [finished] = [event for event in done.events if isinstance(event, ToolFinished)]
    assert started.request == finished.execution.request and finished.execution.result_text() == "here: nothing"
