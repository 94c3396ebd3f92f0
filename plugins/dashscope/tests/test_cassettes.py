"""Every recording of an answer of this API is read, plain and streamed, wherever the network cuts it."""

from __future__ import annotations

from pathlib import Path

from agentforge.model import (
    AiMessage,
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
from plugins.dashscope.tests.support import READING, events_in, plain, streamed
from tests.support.cassette_checks import RecordedStreams, Recordings, check_calls
from tests.support.wire_exchange import calls_of

RECORDINGS = Recordings(READING, "dashscope", "dashscope", files=4)
answers, answer, decoded = RECORDINGS.answers, RECORDINGS.answer, RECORDINGS.decoded


def test_every_answer_is_read(shared: Path) -> None:
    """Each has a reason that fits, calls with names and objects as arguments, ids that differ, and counted tokens."""
    count = 0
    for name, position, body in answers(shared):
        response, where = decoded(body), f"{name} {position}"
        calls = response.ai_message.tool_execution_requests
        assert response.ai_message.contents and response.notices == (), where
        check_calls(response, where)
        assert all(call.id_was_given for call in calls), where
        assert response.finish_reason is (FinishReason.TOOL_EXECUTION if calls else FinishReason.STOP), where
        usage = response.token_usage
        assert (usage.input_tokens or 0) + (usage.output_tokens or 0) == usage.total_tokens, where
        assert response.id, where
        count += 1
    assert count == 8 and not RECORDINGS.failed(shared)


def test_the_plain_answer_with_parallel_calls_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand."""
    body = answer(shared, "loong-testreactstepspan-test-react-step-multi-tool-single-iteration")
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
    body = answer(shared, "loong-qwen-agent-with-tool-call", 1).encode()
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
    response = streamed(answer(shared, "loong-qwen-agent-with-tool-call").encode())
    assert calls_of(response) == [("call_355b7a9ccc024c71a743ab", "get_current_weather_test", '{"city": "Beijing"}')]
    assert response.token_usage == TokenUsage(252, 20, 272, 0)


class TestStreams(RecordedStreams):
    RECORDINGS = RECORDINGS
    STREAMS = 4
