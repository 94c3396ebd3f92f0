"""Every recording of a Responses answer is read, plain and streamed, wherever the network cuts it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import AuthenticationError
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatResponse,
    FinishReason,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.testing.contracts.streams import check_stream
from agentforge_openai.responses.errors import parse_error
from agentforge_openai.responses.response import decode_response
from agentforge_openai.responses.stream import ResponsesDecoder
from plugins.openai.tests.responses.support import OWNER, answering, calls_of, events_in


def answers(shared: Path) -> Iterator[tuple[str, int, Any]]:
    """File with position, status and body of each recorded answer."""
    files = sorted((shared / "cassettes").glob("*/responses-*.json"))
    assert len(files) >= 20
    for file in files:
        for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
            response = interaction["response"]
            yield f"{file.parent.name}/{file.stem}#{position}", response["status"], response["body"]


def decoded(body: Any) -> ChatResponse:
    """The response to a recorded body, plain or streamed."""
    if isinstance(body, str):
        return check_stream(events_in(body.encode()))
    return decode_response(json.dumps(body).encode(), answering())


def items_in(body: Any) -> list[dict[str, Any]]:
    """The output items, found without our reader."""
    if isinstance(body, dict):
        found: list[dict[str, Any]] = body["output"]
        return found
    data = [json.loads(line[5:]) for line in body.splitlines() if line.startswith("data:")]
    return [one["item"] for one in data if one["type"] == "response.output_item.done"]


def test_every_good_answer_holds_what_its_items_say(shared: Path) -> None:
    """Texts, calls and the count of parts, against a reading that knows nothing of ours."""
    count = 0
    for name, status, body in answers(shared):
        if status >= 400:
            continue
        response, items = decoded(body), items_in(body)
        calls = [item for item in items if item["type"] == "function_call"]
        assert calls_of(response) == [(one["call_id"], one["name"], one["arguments"]) for one in calls], name
        parts = [part for item in items if item["type"] == "message" for part in item["content"]]
        said = "".join(part.get("text") or part.get("refusal") for part in parts)
        assert (response.ai_message.text or "") == said, name
        assert len(response.ai_message.contents) == len(items), name
        refused = any(part["type"] == "refusal" for part in parts)
        expected = FinishReason.REFUSAL if refused else FinishReason.STOP
        assert response.finish_reason is (FinishReason.TOOL_EXECUTION if calls else expected), name
        assert response.token_usage.total_tokens, name
        assert response.notices == (), name
        count += 1
    assert count >= 35


def state(**data: Any) -> ProviderState:
    return ProviderState(OWNER, data)


def test_two_answers_are_what_a_person_reads_in_them(shared: Path) -> None:
    """A plain one of OpenAI with a refusal, and a stream of DeepSeek with reasoning and a call."""
    found = {name: body for name, _, body in answers(shared)}
    plain = decoded(found["openai/responses-mira-refusal-openai-gpt-4o-responses-sync#0"])
    message = {
        "id": "msg_0e0644cfe502d3570068f966c91284819592a8b09a8e1b3597",
        "type": "message",
        "status": "completed",
        "role": "assistant",
    }
    assert plain == ChatResponse(
        ai_message=AiMessage(
            [
                TextContent(
                    "I'm very sorry, but I can't assist with that.", state(message=message, part={"type": "refusal"})
                )
            ],
            provider_state=state(response_id="resp_0e0644cfe502d3570068f966c84d6c81958f57dbddc6c44841"),
        ),
        finish_reason=FinishReason.REFUSAL,
        token_usage=TokenUsage(54, 13, 67, 0, None, 0),
        id="resp_0e0644cfe502d3570068f966c84d6c81958f57dbddc6c44841",
        model_name="gpt-4o-2024-08-06",
        raw_finish_reason="completed",
    )
    thought = "The user asks about temperature in Tokyo. I'll call the tool."
    reasoning = {
        "type": "reasoning",
        "id": "fa6f3a83-5d25-46e8-9d03-1a89ce5cf2ba",
        "status": "completed",
        "content": [{"type": "reasoning_text", "text": thought}],
        "summary": [],
    }
    call = {
        "type": "function_call",
        "id": "62bf2bb7-56af-4e3a-883b-83d4aad54da1",
        "status": "completed",
        "call_id": "call_00_xjY8Z2BvSlzgEmmw0DtH0464",
        "name": "get_temperature",
    }
    assert decoded(found["deepseek/responses-pyd-deepseek-responses-function-tool-stream#0"]) == ChatResponse(
        ai_message=AiMessage(
            [
                ThinkingContent(thought, state(item=reasoning)),
                ToolExecutionRequest(
                    "call_00_xjY8Z2BvSlzgEmmw0DtH0464",
                    "get_temperature",
                    '{"city": "Tokyo"}',
                    provider_state=state(item=call),
                ),
            ]
        ),
        finish_reason=FinishReason.TOOL_EXECUTION,
        token_usage=TokenUsage(366, 59, 425, 256, None, 14),
        id="1235b7ba-fdc9-4a1c-bfe4-6137c207baf3",
        model_name="deepseek-v4-flash",
        raw_finish_reason="completed",
    )


def outcome(pieces: list[bytes]) -> list[ChatEvent]:
    """The events of a stream in pieces."""
    decoder = ResponsesDecoder(answering())
    return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.finish()]


def test_every_stream_is_read_the_same_at_every_cut(shared: Path) -> None:
    bodies = [body.encode() for _, status, body in answers(shared) if status < 400 and isinstance(body, str)]
    whole = {body: outcome([body]) for body in bodies}
    assert len(whole) >= 13

    @settings(max_examples=80, deadline=None)
    @given(st.sampled_from(bodies), st.lists(st.floats(0, 1), min_size=1, max_size=8))
    def check(body: bytes, cuts: list[float]) -> None:
        edges = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
        assert outcome([body[at:to] for at, to in itertools.pairwise(edges)]) == whole[body]

    check()


def test_a_short_stream_is_read_the_same_byte_by_byte(shared: Path) -> None:
    bodies = sorted((body for _, _, body in answers(shared) if isinstance(body, str)), key=len)
    content = bodies[0].encode()
    assert outcome([content[at : at + 1] for at in range(len(content))]) == outcome([content])


def test_failed_answers_have_their_class(shared: Path) -> None:
    errors = [
        parse_error(status, {}, json.dumps(body).encode()) for _, status, body in answers(shared) if status >= 400
    ]
    assert len(errors) == 3
    assert {type(error) for error in errors} == {AuthenticationError}
    assert {error.provider_code for error in errors} == {"invalid_api_key"}
