"""Every recording of an answer of this API is read, plain and streamed, wherever the network cuts it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ModelError
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatResponse,
    FinishReason,
    ResponseDone,
    TextContent,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    UsageEvent,
)
from agentforge_dashscope.wire.stream import StreamDecoder
from plugins.dashscope.tests.support import answering, calls_of, events_in, plain, streamed


def answers(shared: Path) -> Iterator[tuple[str, int, Any]]:
    """File, position and body of each recorded answer."""
    files = sorted((shared / "cassettes" / "dashscope").glob("dashscope-*.json"))
    assert len(files) == 4
    for file in files:
        for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
            assert interaction["response"]["status"] == 200
            yield file.stem, position, interaction["response"]["body"]


def decoded(body: Any) -> ChatResponse:
    return streamed(body.encode()) if isinstance(body, str) else plain(body)


def answer(shared: Path, stem: str, position: int = 0) -> Any:
    return next(body for name, at, body in answers(shared) if (name, at) == (f"dashscope-loong-{stem}", position))


def test_every_answer_is_read(shared: Path) -> None:
    """Each has a reason that fits, calls with names and objects as arguments, ids that differ, and counted tokens."""
    count = 0
    for name, position, body in answers(shared):
        response, where = decoded(body), f"{name} {position}"
        calls = calls_of(response)
        assert response.ai_message.contents and response.notices == (), where
        assert len({identity for identity, _, _ in calls}) == len(calls), where
        for request in response.ai_message.tool_execution_requests:
            assert request.name and request.id_was_given and isinstance(request.arguments_as_map(), dict), where
        assert response.finish_reason is (FinishReason.TOOL_EXECUTION if calls else FinishReason.STOP), where
        usage = response.token_usage
        assert (usage.input_tokens or 0) + (usage.output_tokens or 0) == usage.total_tokens, where
        assert response.id, where
        count += 1
    assert count == 8


def test_the_plain_answer_with_parallel_calls_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand."""
    body = answer(shared, "testreactstepspan-test-react-step-multi-tool-single-iteration")
    assert plain(body) == ChatResponse(
        AiMessage(
            [
                ToolExecutionRequest(
                    "call_d90542ed39194792b1a7bc",
                    "execute_shell_command",
                    '{"command": "echo hello", "timeout": 300}',
                ),
                ToolExecutionRequest(
                    "call_397c574d91844bc78baf40",
                    "execute_shell_command",
                    '{"command": "echo world", "timeout": 300}',
                ),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(349, 54, 403, 0),
        "f71e4feb-75bb-476b-99bd-692d1185a1b3",
        None,
        "tool_calls",
    )


def test_the_stream_of_a_text_and_a_call_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: text in five pieces, then a call in two, whose second one has no id and no name."""
    body = answer(shared, "qwen-agent-with-tool-call", 1).encode()
    call = ToolExecutionRequest("call_cbd8e5262b69466a8f8fdc", "get_current_weather_test", '{"city": "Beijing"}')
    usage = TokenUsage(434, 39, 473, 0)
    done = ChatResponse(
        AiMessage(
            [
                TextContent("It seems there was an error retrieving the current weather for Beijing. Let's try again."),
                call,
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        usage,
        "3b4ff815-8227-4f6b-bb55-4d2822e621d8",
        None,
        "tool_calls",
    )
    assert events_in(body) == [
        TextDelta("It"),
        TextDelta(" seems there was"),
        TextDelta(" an error retrieving"),
        TextDelta(" the current weather for Beijing"),
        TextDelta(". Let's try again."),
        ToolCallDelta(0, call.id, call.name, '{"city": "Be'),
        ToolCallDelta(0, call.id, call.name, 'ijing"}'),
        UsageEvent(usage),
        ToolCallReady(call, 0),
        ResponseDone(done),
    ]


def test_the_stream_whose_last_event_has_an_empty_piece_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: the reason comes with a piece of the call in which nothing is said."""
    response = streamed(answer(shared, "qwen-agent-with-tool-call").encode())
    assert calls_of(response) == [("call_355b7a9ccc024c71a743ab", "get_current_weather_test", '{"city": "Beijing"}')]
    assert response.token_usage == TokenUsage(252, 20, 272, 0)


def test_every_stream_is_read_the_same_at_every_cut(shared: Path) -> None:
    bodies = [body.encode() for _, _, body in answers(shared) if isinstance(body, str)]
    whole = {body: outcome([body]) for body in bodies}
    assert len(whole) == 4

    @settings(max_examples=60, deadline=None)
    @given(st.sampled_from(bodies), st.lists(st.floats(0, 1), min_size=1, max_size=8))
    def check(body: bytes, cuts: list[float]) -> None:
        edges = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
        pieces = [body[at:to] for at, to in itertools.pairwise(edges)]
        assert outcome(pieces) == whole[body]

    check()


def test_streams_are_read_the_same_byte_by_byte(shared: Path) -> None:
    for _, _, body in answers(shared):
        if isinstance(body, str):
            content = body.encode()
            assert outcome([content[at : at + 1] for at in range(len(content))]) == outcome([content])


def outcome(pieces: list[bytes]) -> tuple[list[ChatEvent], str]:
    """The events of a stream in pieces, and the words of the error that ended it."""
    decoder = StreamDecoder(answering())
    events: list[ChatEvent] = []
    try:
        for part in pieces:
            events += decoder.feed(part)
        events += decoder.finish()
    except ModelError as error:
        return [], f"{error} {error.details}"
    return events, ""
