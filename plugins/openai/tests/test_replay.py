"""What goes back of an assistant turn: what its vendor wants of it, letter by letter, and to no other provider."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ProviderState,
    ResponseDone,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from plugins.openai.tests.support import FakeTransport, call_delta, delta, message, model_on, piece, sse

TIME = ToolSpecification("get_time", "the time")
CALL = piece("get_time", "{}", id="c1", type="function")
DETAILS = [{"type": "reasoning.text", "text": "hm", "signature": "sig", "index": 0}]

#: Fact, vendor, model, the fields of an answer, and those of them that go back with its turn.
REPLAYED: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
    ("deepseek replay", "deepseek", "deepseek-v4-flash", {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
    ("deepseek replay", "deepseek", "deepseek-chat", {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
    ("deepseek replay", "deepseek", "deepseek-v4-flash", {}, {"reasoning_content": ""}),
    ("deepseek replay", "deepseek", "deepseek-chat", {}, {}),
    ("deepseek replay", "deepseek", "deepseek-r1", {"reasoning_content": "hm"}, {}),
    ("qwen thinking", "dashscope", "qwen-plus", {"reasoning_content": "hm"}, {}),
    ("kimi replay", "moonshot", "kimi-k2.6", {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
    ("kimi replay", "moonshot", "kimi-k2.6", {}, {"reasoning_content": ""}),
    ("kimi replay", "moonshot", "moonshot-v1-8k", {}, {}),
    ("minimax split", "minimax", "MiniMax-M2", {"reasoning_details": DETAILS}, {"reasoning_details": DETAILS}),
    ("named", "openai", "gpt-x", {"reasoning_content": "hm", "reasoning": "hm"}, {}),
    ("azure", "azure", "desk", {"reasoning_content": "hm"}, {}),
    ("ollama", "ollama", "qwen3", {"reasoning": "hm"}, {"reasoning": "hm"}),
    ("vllm reasons", "generic", "m", {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
    ("vllm reasons", "vllm", "m", {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
    ("vllm reasons", "vllm", "m", {"reasoning": "hm"}, {"reasoning": "hm"}),
    ("xinference", "xinference", "m", {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
    ("groq", "groq", "m", {"reasoning": "hm"}, {}),
    ("together", "together", "m", {"reasoning": "hm", "reasoning_content": "hm"}, {}),
    (
        "openrouter",
        "openrouter",
        "m",
        {"reasoning": "hm", "reasoning_details": DETAILS},
        {"reasoning_details": DETAILS},
    ),
    ("snowflake", "snowflake", "m", {"reasoning_details": DETAILS}, {"reasoning_details": DETAILS}),
    (
        "litellm",
        "litellm",
        "m",
        {"thinking_blocks": [{"signature": "s"}], "provider_specific_fields": {"a": 1}},
        {
            "thinking_blocks": [{"signature": "s"}],
            "provider_specific_fields": {"a": 1},
        },
    ),
    (
        "gemini",
        "gemini",
        "m",
        {"extra_content": {"google": {"thought_signature": "s"}}},
        {"extra_content": {"google": {"thought_signature": "s"}}},
    ),
]


async def replayed(vendor: str, model: str, turn: AiMessage, *, offers: bool = True) -> dict[str, Any]:
    """The assistant turn as it goes back, with the result of its call behind it."""
    transport = FakeTransport()
    results = [ToolExecutionResultMessage(call.id, call.name, "noon") for call in turn.tool_execution_requests]
    parameters = ChatRequestParameters(tools=(TIME,) if offers else ())
    history: list[ChatMessage] = [UserMessage("q"), turn, *results, UserMessage("more")]
    await model_on(transport, vendor, model=model).chat(ChatRequest(history, parameters))
    found: dict[str, Any] = transport.bodies[0]["messages"][1]
    return found


@pytest.mark.parametrize(("fact", "vendor", "model", "fields", "back"), REPLAYED)
@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streamed"])
async def test_an_answer_goes_back_with_what_its_vendor_wants_and_nothing_else(
    fact: str, vendor: str, model: str, fields: dict[str, Any], back: dict[str, Any], streams: bool
) -> None:
    """Read from a whole answer or from a stream, the turn has the same bytes."""
    whole = message("tool_calls", content=None, tool_calls=[CALL], **fields)
    pieces = [delta(**{name: value}) for name, value in fields.items()]
    answer = [sse(*pieces, call_delta({**CALL, "index": 0}), delta("tool_calls"))] if streams else whole
    transport = FakeTransport(answer)
    asked = model_on(transport, vendor, model=model)
    if streams:
        last = [event async for event in asked.stream(ChatRequest("q"))][-1]
        assert isinstance(last, ResponseDone)
        turn = last.response.ai_message
    else:
        turn = (await asked.chat(ChatRequest("q"))).ai_message
    assert await replayed(vendor, model, turn) == {"role": "assistant", "content": None, "tool_calls": [CALL], **back}


@pytest.mark.parametrize("offers", [True, False])
async def test_deepseek_gets_reasoning_where_tools_are_or_were_in_play(offers: bool) -> None:
    """Offered now, or called before: case TL-16."""
    state = ProviderState("deepseek", {"reasoning_content": "hm"})
    turn = AiMessage([ThinkingContent("hm", state), ToolExecutionRequest("c1", "get_time", "{}")])
    back = await replayed("deepseek", "deepseek-v4-flash", turn, offers=offers)
    assert back["reasoning_content"] == "hm"


async def test_deepseeks_reasoning_stays_away_where_there_are_no_tools() -> None:
    turn = AiMessage([ThinkingContent("hm", ProviderState("deepseek", {"reasoning_content": "hm"}))])
    back = await replayed("deepseek", "deepseek-v4-flash", turn, offers=False)
    assert back == {"role": "assistant", "content": ""}


#: Vendor, model, and what a turn of another provider becomes beyond text and calls.
MOVED = [
    ("openai", "gpt-x", {}),
    ("azure", "desk", {}),
    ("deepseek", "deepseek-v4-flash", {"reasoning_content": ""}),
    ("deepseek", "deepseek-chat", {}),
    ("dashscope", "qwen-plus", {}),
    ("ollama", "qwen3", {}),
    ("generic", "m", {}),
    ("moonshot", "kimi-k2.6", {"reasoning_content": ""}),
    ("moonshot", "moonshot-v1-8k", {}),
    ("minimax", "MiniMax-M2", {}),
    ("mistral", "mistral-large-latest", {}),
    ("groq", "qwen/qwen3-32b", {}),
    ("openrouter", "m", {}),
    ("vllm", "m", {}),
    ("cerebras", "zai-glm-4.7", {}),
    ("gemini", "gemini-2.5-pro", {}),
]
#: Vendors that take ids of their own form only, and the longest.
SHORT_IDS = {"openai": 40, "azure": 40, "mistral": 9}
FOREIGN_ID = "toolu_" + "0" * 50


@pytest.mark.parametrize(("vendor", "model", "back"), MOVED)
async def test_a_history_of_another_provider_drops_what_is_opaque_and_stays_valid(
    vendor: str, model: str, back: dict[str, Any]
) -> None:
    """Text, calls and results are kept; ids get the target's form, in call and result alike."""
    state = ProviderState(
        "elsewhere",
        {"reasoning_content": "hm", "reasoning": "hm", "reasoning_details": DETAILS, "signature": "s"},
    )
    call = ToolExecutionRequest(FOREIGN_ID, "get_time", "{}", True, ProviderState("elsewhere", {"extra_content": {}}))
    turn = AiMessage([ThinkingContent("hm", state), call], provider_state=ProviderState("elsewhere", {"id": "x"}))
    transport = FakeTransport()
    result = ToolExecutionResultMessage(FOREIGN_ID, "get_time", "noon")
    request = ChatRequest([UserMessage("q"), turn, result], ChatRequestParameters(tools=(TIME,)))
    response = await model_on(transport, vendor, model=model).chat(request)
    _, asked, answered = transport.bodies[0]["messages"]
    (sent,) = asked.pop("tool_calls")
    assert asked == {"role": "assistant", "content": None, **back}
    assert sent == {"id": sent["id"], "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    named = {"name": "get_time"} if vendor == "mistral" else {}
    assert answered == {"role": "tool", "tool_call_id": sent["id"], "content": "noon", **named}
    assert (sent["id"] == FOREIGN_ID) is (vendor not in SHORT_IDS)
    assert len(sent["id"]) <= SHORT_IDS.get(vendor, 100)
    assert response.notices == ()
