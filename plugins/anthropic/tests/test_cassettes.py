"""Every recording of a Messages answer is read, plain and streamed, wherever the network cuts it."""

from __future__ import annotations

from pathlib import Path

from agentforge.model import (
    AiMessage,
    ChatResponse,
    FinishReason,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
)
from plugins.anthropic.tests.support import READING, events_in, plain, streamed
from tests.support.cassette_checks import RecordedStreams, Recordings, check_calls

RECORDINGS = Recordings(READING, "messages", "anthropic", files=13)
answers, answer, decoded = RECORDINGS.answers, RECORDINGS.answer, RECORDINGS.decoded


def test_every_answer_is_read(shared: Path) -> None:
    """Each has a reason that fits, calls with names and objects as arguments, ids that differ, and counted tokens."""
    count = 0
    for name, position, body in answers(shared):
        response, where = decoded(body), f"{name} {position}"
        calls = response.ai_message.tool_execution_requests
        check_calls(response, where)
        assert all(call.id_was_given for call in calls), where
        if calls:
            assert response.finish_reason is FinishReason.TOOL_EXECUTION, where
        elif response.finish_reason is not FinishReason.REFUSAL:
            assert response.finish_reason is FinishReason.STOP and response.ai_message.contents, where
        assert response.id and response.token_usage.input_tokens and response.token_usage.output_tokens, where
        count += 1
    assert count == 31 and not RECORDINGS.failed(shared)


def test_plain_answers_hold_the_blocks_that_are_in_them(shared: Path) -> None:
    """Against a reading that knows nothing of ours: each block is one part, in its place."""
    seen = 0
    for name, _, body in answers(shared):
        if not isinstance(body, dict):
            continue
        parts = decoded(body).ai_message.contents
        assert len(parts) == len(body["content"]), name
        for part, block in zip(parts, body["content"], strict=True):
            if block["type"] == "text":
                assert part == TextContent(block["text"]), name
            elif block["type"] == "tool_use":
                assert isinstance(part, ToolExecutionRequest), name
                assert (part.id, part.name, part.arguments_as_map()) == (block["id"], block["name"], block["input"])
            else:
                assert isinstance(part, ThinkingContent) and part.provider_state is not None, name
                assert part.text == block.get("thinking", ""), name
                assert {**part.provider_state.data, **({"thinking": part.text} if part.text else {})} == block, name
            seen += 1
    assert seen > 40


def test_the_answer_with_thinking_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: thinking with its signature, then text, then a call without arguments."""
    body = answer(shared, "pyd-anthropic-tool-with-thinking")
    thinking, text, _ = body["content"]
    assert plain(body) == ChatResponse(
        AiMessage(
            [
                ThinkingContent(
                    thinking["thinking"],
                    ProviderState("anthropic/messages", {"type": "thinking", "signature": thinking["signature"]}),
                ),
                TextContent(
                    "I'll help you find the largest city in your country. First, let me determine which country you're "
                    "from."
                ),
                ToolExecutionRequest("toolu_01YGzqpRE16Vricda3Aqcejo", "get_user_country", "{}"),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(398, 155, 553, 0, 0),
        "msg_01WvueFjZVbHcj4H4zUzeGv2",
        "claude-sonnet-4-20250514",
        "tool_use",
    )
    assert text["text"].startswith("I'll help you")


def test_the_stream_with_a_tool_of_the_provider_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: text, the provider's own call with its whole input, what it found, text, and a call of ours."""
    body = answer(shared, "pyd-anthropic-native-tool-search-streaming").encode()
    response = streamed(body)
    server = "srvtoolu_01S5swZdBmTzLDVzwcT5LbHp"
    searched = {
        "type": "server_tool_use",
        "id": server,
        "name": "tool_search_tool_bm25",
        "input": {"query": "USD EUR exchange rate currency conversion"},
    }
    found = {
        "type": "tool_search_tool_result",
        "tool_use_id": server,
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "get_exchange_rate"}],
        },
    }
    assert response == ChatResponse(
        AiMessage(
            [
                TextContent("Let me search for a tool that can provide current exchange rate information."),
                ThinkingContent("", ProviderState("anthropic/messages", searched)),
                ThinkingContent("", ProviderState("anthropic/messages", found)),
                TextContent("I found the right tool! Let me fetch the current USD to EUR exchange rate for you."),
                ToolExecutionRequest(
                    "toolu_01EFn5wTNBYA8Reni8rbmnHT",
                    "get_exchange_rate",
                    '{"from_currency": "USD", "to_currency": "EUR"}',
                    provider_state=ProviderState("anthropic/messages", {"caller": {"type": "direct"}}),
                ),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(1591, 175, 1766, 0, 0),
        response.id,
        "claude-sonnet-4-6",
        "tool_use",
    )
    events = events_in(body)
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    assert {event.index for event in deltas} == {0}, "the provider's own call is none of ours"
    assert (
        "".join(event.arguments_delta for event in deltas) == response.ai_message.tool_execution_requests[0].arguments
    )
    assert [event.request for event in events if isinstance(event, ToolCallReady)] == list(
        response.ai_message.tool_execution_requests
    )


def test_the_refusal_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: nothing was said, and the provider says why."""
    response = streamed(answer(shared, "vai-anthropic-refusal-stream").encode())
    assert response.ai_message == AiMessage()
    assert response.finish_reason is FinishReason.REFUSAL
    [notice] = response.notices
    assert notice.code == "refusal" and notice.details["type"] == "refusal"


class TestStreams(RecordedStreams):
    RECORDINGS = RECORDINGS
    STREAMS = 9
