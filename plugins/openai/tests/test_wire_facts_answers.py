"""What answers of each vendor mean, in the forms that the page of wire facts names: an answer in, and a response or an
error out, by a model of that vendor's row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ContentFilterError,
    InvalidRequestError,
    ModelError,
    OverloadedError,
)
from agentforge.model import ChatRequest, ChatResponse, FinishReason, ResponseDone
from plugins.openai.tests.support import FakeTransport, call_delta, delta, message, model_on, piece, sse

CALL = piece("get_time", "{}", id="c1", type="function")
WHOLE = {**CALL, "index": 0}


def filtered() -> dict[str, Any]:
    return {
        "error": {
            "message": "filtered",
            "code": "content_filter",
            "innererror": {"content_filter_result": {"hate": {"filtered": True}}},
        }
    }


#: Fact, vendor, the answer (an object, or the chunks of a stream), then reason, calls and text.
READ: list[tuple[str, str, Any, FinishReason, list[tuple[str, str]], str | None]] = [
    ("named", "openai", message("stop", tool_calls=[CALL]), FinishReason.TOOL_EXECUTION, [("c1", "get_time")], None),
    (
        "named",
        "openai",
        [sse(call_delta(WHOLE), delta("stop"))],
        FinishReason.TOOL_EXECUTION,
        [("c1", "get_time")],
        None,
    ),
    (
        "azure",
        "azure",
        [sse({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, delta("stop", content="hi"))],
        FinishReason.STOP,
        [],
        "hi",
    ),
    ("azure", "azure", message("content_filter", content="so f"), FinishReason.CONTENT_FILTER, [], "so f"),
    (
        "deepseek keep-alive",
        "deepseek",
        [b": keep-alive\n\n", sse(b": keep-alive\n\n", delta("stop", content="hi"))],
        FinishReason.STOP,
        [],
        "hi",
    ),
    (
        "deepseek keep-alive",
        "deepseek",
        b"\n\n\n" + json.dumps(message(content="hi")).encode(),
        FinishReason.STOP,
        [],
        "hi",
    ),
    (
        "qwen stream",
        "dashscope",
        [
            sse(
                call_delta(piece("get_time", "", index=0, id="c1")),
                delta(role=None, content=None, tool_calls=[piece("", '{"x"', index=0, id="c1")]),
                delta(role=None, content=None, tool_calls=[piece("", ":1}", index=0, id="")]),
                delta("tool_calls"),
            )
        ],
        FinishReason.TOOL_EXECUTION,
        [("c1", "get_time")],
        None,
    ),
    (
        "ollama stream",
        "ollama",
        [
            sse(
                call_delta(piece("get_time", "{}", index=0, id="c1")),
                call_delta(piece("look", "{}", index=0, id="c2")),
                delta("stop"),
            )
        ],
        FinishReason.TOOL_EXECUTION,
        [("c1", "get_time"), ("c2", "look")],
        None,
    ),
    (
        "vllm reasons",
        "vllm",
        message("stop", tool_calls=[CALL]),
        FinishReason.TOOL_EXECUTION,
        [("c1", "get_time")],
        None,
    ),
    ("vllm reasons", "vllm", message("tool_calls", content="no call"), FinishReason.STOP, [], "no call"),
    (
        "xinference",
        "xinference",
        [sse(delta(role="assistant", content=""), call_delta(WHOLE, finish="tool_calls"))],
        FinishReason.TOOL_EXECUTION,
        [("c1", "get_time")],
        None,
    ),
    (
        "openrouter",
        "openrouter",
        message("tool_calls", content=None, tool_calls=[{"id": "c1", "function": {"name": "look", "arguments": None}}]),
        FinishReason.TOOL_EXECUTION,
        [("c1", "look")],
        None,
    ),
    (
        "openrouter",
        "openrouter",
        [sse(b": OPENROUTER PROCESSING\n\n", delta("stop", content="hi"))],
        (FinishReason.STOP),
        [],
        "hi",
    ),
    (
        "xai",
        "xai",
        [sse(call_delta(WHOLE, finish="tool_calls"))],
        FinishReason.TOOL_EXECUTION,
        [("c1", "get_time")],
        None,
    ),
    ("snowflake", "snowflake", message("", tool_calls=[CALL]), FinishReason.TOOL_EXECUTION, [("c1", "get_time")], None),
]


async def response_to(vendor: str, answer: Any) -> ChatResponse:
    """What a model of that vendor makes of an answer."""
    model = model_on(FakeTransport(answer), vendor)
    if not isinstance(answer, list):
        return await model.chat(ChatRequest("q"))
    last = [event async for event in model.stream(ChatRequest("q"))][-1]
    assert isinstance(last, ResponseDone)
    return last.response


@pytest.mark.parametrize(("fact", "vendor", "answer", "reason", "calls", "text"), READ)
async def test_an_answer_means_what_the_vendor_means_by_it(
    fact: str, vendor: str, answer: Any, reason: FinishReason, calls: list[tuple[str, str]], text: str | None
) -> None:
    response = await response_to(vendor, answer)
    requests = response.ai_message.tool_execution_requests
    assert response.finish_reason is reason
    assert [(request.id, request.name) for request in requests] == calls
    assert all(isinstance(request.arguments_as_map(), dict) for request in requests)
    assert response.ai_message.text == text


@pytest.mark.parametrize("streams", [False, True])
async def test_calls_without_ids_and_index_get_ids_of_ours(streams: bool) -> None:
    """Fact ``gemini``: the reason differs between its plain answers and its streams."""
    calls = [piece("get_time", "{}", id=""), piece("look", "{}", id="")]
    answer = [sse(call_delta(*calls, finish="stop"))] if streams else message("tool_calls", tool_calls=calls)
    response = await response_to("gemini", answer)
    first, second = response.ai_message.tool_execution_requests
    assert first.id and second.id and first.id != second.id
    assert not first.id_was_given
    assert response.finish_reason is FinishReason.TOOL_EXECUTION


#: Fact, vendor, the answer, the class of the error, and words of its message or of what to do.
FAILED: list[tuple[str, str, Any, type[ModelError], str]] = [
    ("azure", "azure", (400, filtered()), ContentFilterError, "filtered"),
    (
        "o-series",
        "openai",
        (400, {"error": {"message": "Unsupported parameter: 'parallel_tool_calls'", "param": "parallel_tool_calls"}}),
        InvalidRequestError,
        "parallel_tool_calls",
    ),
    (
        "effort",
        "openai",
        (400, {"error": {"message": "use /v1/responses", "param": "reasoning_effort"}}),
        InvalidRequestError,
        "reasoning_effort='none'",
    ),
    (
        "groq",
        "groq",
        (400, {"error": {"message": "bad call", "code": "tool_use_failed", "failed_generation": "<x>"}}),
        InvalidRequestError,
        "loosen tool_choice",
    ),
    (
        "groq",
        "groq",
        [sse(delta(content="so"), {"error": {"message": "bad call", "code": "tool_use_failed"}})],
        InvalidRequestError,
        "loosen tool_choice",
    ),
    (
        "vllm parser",
        "vllm",
        (400, {"object": "error", "message": '"auto" requires --enable-auto-tool-choice', "code": 400}),
        InvalidRequestError,
        "--tool-call-parser",
    ),
    (
        "litellm",
        "litellm",
        (400, {"error": {"message": "litellm.UnsupportedParamsError: ... seed", "type": None, "code": "400"}}),
        InvalidRequestError,
        "seed",
    ),
    ("openrouter", "openrouter", {"error": {"code": 502, "message": "upstream"}}, OverloadedError, "upstream"),
    ("openrouter", "openrouter", [sse({"error": {"code": 502, "message": "upstream"}})], OverloadedError, "upstream"),
    ("xai", "xai", (400, {"code": "invalid", "error": "no such tool"}), InvalidRequestError, "no such tool"),
    ("xai", "xai", (401, {"code": "no key", "error": "bad key"}), AuthenticationError, "bad key"),
]


@pytest.mark.parametrize(("fact", "vendor", "answer", "kind", "words"), FAILED)
async def test_a_failure_is_of_its_class_and_says_what_to_do(
    fact: str, vendor: str, answer: Any, kind: type[ModelError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        await response_to(vendor, answer)
    assert words in str(caught.value)
