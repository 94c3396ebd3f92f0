"""What the vendors whose forms differ most really take: a request in, its bytes or a refusal out; and the facts about
the other API. The names of the facts are those of `test_wire_facts.py`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    ProviderState,
    ResponseFormat,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import provider_id
from agentforge_openai import VENDORS, OpenAiResponsesModel
from plugins.openai.tests.support import FakeTransport, exchange, message, model_on

TIME = ToolSpecification("get_time", "the time")
ONE = {"type": "function", "function": {"name": "get_time"}}
SCHEMA = {
    "type": "object",
    "properties": {
        "at": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        "by": {"type": "string", "anyOf": [{"minLength": 2}, {"enum": ["me"]}]},
    },
}
LOOK = ToolSpecification("look", "looks", ToolParameters(SCHEMA))
STRICT = ToolSpecification("look", "looks", ToolParameters({"type": "object", "properties": {}}), True)
K2, KIMI, M2, LARGE = "kimi-k2-0711-preview", "kimi-k2.6", "MiniMax-M2", "mistral-large-latest"
OFF = {"thinking": {"type": "disabled"}}


def time(choice: str | None = None, **more: Any) -> dict[str, Any]:
    """Parameters with one tool, a choice and others."""
    return {"tools": [TIME], "tool_choice": choice, **more}


def custom(**more: Any) -> dict[str, Any]:
    return {"custom_parameters": more}


#: Fact, vendor, model, parameters, and what stands in the body; ``None``: the key is not there.
SENT: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
    ("kimi choice", "moonshot", KIMI, time("auto"), {"tool_choice": "auto"}),
    ("kimi choice", "moonshot", K2, time("get_time"), {"tool_choice": ONE}),
    ("kimi choice", "moonshot", KIMI, time("get_time", **custom(**OFF)), {"tool_choice": ONE, **OFF}),
    ("kimi choice", "moonshot", KIMI, time("get_time", reasoning_effort="none"), {"tool_choice": ONE, **OFF}),
    ("kimi sampling", "moonshot", KIMI, {"reasoning_effort": "none"}, {**OFF, "reasoning_effort": None}),
    ("kimi sampling", "moonshot", KIMI, {"reasoning_effort": "high"}, {"reasoning_effort": "high", "thinking": None}),
    ("kimi sampling", "moonshot", K2, {"temperature": 0.5}, {"temperature": 0.5}),
    ("kimi schemas", "moonshot", KIMI, {"tools": [STRICT]}, {"parallel_tool_calls": None}),
    ("minimax split", "minimax", M2, {}, {"reasoning_split": True}),
    ("minimax split", "minimax", M2, custom(reasoning_split=False), {"reasoning_split": False}),
    ("minimax split", "minimax", "abab6.5s-chat", {}, {"reasoning_split": None}),
    ("minimax choice", "minimax", M2, time("auto"), {"tool_choice": "auto"}),
    ("minimax choice", "minimax", M2, time("none"), {"tools": None, "tool_choice": None}),
    ("minimax choice", "minimax", M2, time(parallel_tool_calls=True), {"parallel_tool_calls": None}),
    ("groq", "groq", "qwen/qwen3-32b", time(), {"reasoning_format": "parsed"}),
    ("groq", "groq", "qwen/qwen3-32b", custom(reasoning_format="hidden"), {"reasoning_format": "hidden"}),
    ("groq", "groq", "openai/gpt-oss-120b", time(), {"reasoning_format": None}),
    ("groq", "groq", "llama-3.3-70b-versatile", {}, {"reasoning_format": None}),
    ("groq", "groq", "m", custom(disable_tool_validation=True), {"disable_tool_validation": True}),
    ("together", "together", "m", time("required"), {"tool_choice": "required"}),
    ("mistral forms", "mistral", LARGE, time("required"), {"tool_choice": "any"}),
    ("mistral forms", "mistral", LARGE, time("get_time"), {"tool_choice": ONE}),
    ("mistral forms", "mistral", LARGE, time("none"), {"tool_choice": "none"}),
    ("mistral forms", "mistral", LARGE, {"seed": 3}, {"random_seed": 3, "seed": None}),
    ("mistral forms", "mistral", LARGE, time(parallel_tool_calls=False), {"parallel_tool_calls": False}),
    ("openrouter", "openrouter", "m", {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
    ("xai", "xai", "grok-4.3", time("required"), {"tool_choice": "required"}),
    ("gemini", "gemini", "gemini-3-pro", time("required"), {"tool_choice": "required"}),
    ("snowflake", "snowflake", "claude", {"max_output_tokens": 5}, {"max_completion_tokens": 5, "max_tokens": None}),
    ("xinference", "xinference", "m", time("none"), {"tools": None, "tool_choice": None}),
]


@pytest.mark.parametrize(("fact", "vendor", "model", "parameters", "expected"), SENT)
def test_what_can_be_said_is_said_in_the_vendors_form(
    fact: str, vendor: str, model: str, parameters: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Exactly, and so without a notice."""
    body, response = exchange(ChatRequest("q", ChatRequestParameters(**parameters)), vendor, model=model)
    assert {key: body.get(key) for key in expected} == expected
    assert response.notices == ()


#: Fact, vendor, model, parameters, and the feature that the error names.
REFUSED: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("kimi choice", "moonshot", K2, time("required"), "tool_choice.required"),
    ("kimi choice", "moonshot", KIMI, time("get_time"), "forced_choice_with_thinking"),
    ("kimi sampling", "moonshot", "kimi-k2-thinking", {"reasoning_effort": "none"}, "reasoning_effort.none"),
    ("minimax choice", "minimax", M2, time("required"), "tool_choice.required"),
    ("minimax choice", "minimax", M2, time("get_time"), "tool_choice.tool"),
    ("minimax choice", "minimax", M2, time(parallel_tool_calls=False), "parallel_tool_calls"),
    ("minimax choice", "minimax", M2, {"tools": [STRICT]}, "strict_tools"),
    ("minimax choice", "minimax", M2, {"response_format": ResponseFormat.JSON}, "response_format.json"),
    ("xinference", "xinference", "m", time("required"), "tool_choice.required"),
    ("gemini", "gemini", "gemini-2.5-pro", time(parallel_tool_calls=False), "parallel_tool_calls"),
    ("snowflake", "snowflake", "claude", {"tools": [STRICT]}, "strict_tools"),
]


@pytest.mark.parametrize(("fact", "vendor", "model", "parameters", "feature"), REFUSED)
def test_what_the_vendor_cannot_do_is_refused_before_anything_is_sent(
    fact: str, vendor: str, model: str, parameters: dict[str, Any], feature: str
) -> None:
    transport = FakeTransport()
    with pytest.raises(UnsupportedFeatureError) as caught:
        asyncio.run(
            model_on(transport, vendor, model=model).chat(ChatRequest("q", ChatRequestParameters(**parameters)))
        )
    assert transport.requests == []
    assert caught.value.details == {"vendor": vendor, "model": model, "feature": feature}
    assert caught.value.next_step


#: Fact, vendor, model, parameters, code and feature of the notice, and what stands in the body.
DROPPED: list[tuple[str, str, str, dict[str, Any], str, dict[str, Any]]] = [
    ("kimi sampling", "moonshot", KIMI, {"temperature": 0.5}, "parameters", {"temperature": None}),
    ("kimi sampling", "moonshot", "kimi-k3", custom(n=2), "parameters", {"n": None}),
    ("kimi choice", "moonshot", K2, time("required"), "tool_choice.required", {"tool_choice": None}),
    ("minimax choice", "minimax", M2, time("required"), "tool_choice.required", {"tool_choice": None}),
]


@pytest.mark.parametrize(("fact", "vendor", "model", "parameters", "feature", "expected"), DROPPED)
def test_what_is_let_go_is_left_out_with_a_notice(
    fact: str, vendor: str, model: str, parameters: dict[str, Any], feature: str, expected: dict[str, Any]
) -> None:
    """By the row, or by the user."""
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    overrides = {"unsupported": {feature: "drop"}}
    body, response = exchange(request, vendor, model=model, profile_overrides=overrides)
    assert {key: body.get(key) for key in expected} == expected
    assert [(notice.code, notice.details["feature"]) for notice in response.notices] == [("feature_dropped", feature)]


def test_kimi_is_told_what_is_not_strict_in_a_schema_that_it_takes() -> None:
    """One type a schema and inside of the branches, no tuple, and no default that would be strict; a root is there."""
    body, response = exchange(
        ChatRequest("q", ChatRequestParameters(tools=(TIME, LOOK))), "moonshot", message(content="ok"), model=KIMI
    )
    plain, look = (tool["function"] for tool in body["tools"])
    assert plain["strict"] is look["strict"] is False
    assert plain["parameters"]["type"] == "object"
    made = look["parameters"]["properties"]
    assert made["at"]["items"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert "type" not in made["by"]
    assert [branch["type"] for branch in made["by"]["anyOf"]] == ["string", "string"]
    assert {notice.code for notice in response.notices} <= {"schema_simplified"}


def test_what_is_strict_at_kimi_says_so() -> None:
    body, _ = exchange(ChatRequest("q", ChatRequestParameters(tools=(STRICT,))), "moonshot", model=KIMI)
    assert body["tools"][0]["function"]["strict"] is True


def test_an_always_thinking_model_thinks_whatever_is_asked() -> None:
    """Its forced choice is refused even where the user says that it should not think."""
    with pytest.raises(UnsupportedFeatureError) as caught:
        exchange(
            ChatRequest("q", ChatRequestParameters(**time("get_time", **custom(**OFF)))),
            "moonshot",
            model="kimi-k2-thinking",
        )
    assert caught.value.details["feature"] == "forced_choice_with_thinking"


GLM = [
    ("glm-4.6", "none", {"thinking": {"type": "disabled"}}, []),
    ("glm-4.6", "medium", {"thinking": {"type": "enabled"}}, ["feature_dropped"]),
    ("glm-5.2", "high", {"reasoning_effort": "high", "thinking": None}, []),
    ("glm-5.3", "xhigh", {"reasoning_effort": "high", "thinking": None}, ["reasoning_effort_mapped"]),
]


@pytest.mark.parametrize(("model", "effort", "expected", "codes"), GLM)
def test_glm_has_levels_in_its_newest_models_only(
    model: str, effort: Any, expected: dict[str, Any], codes: list[str]
) -> None:
    """Others are only switched, and a notice names the level that was asked for."""
    request = ChatRequest("q", ChatRequestParameters(reasoning_effort=effort))
    body, response = exchange(request, "zhipu", model=model)
    assert {key: body.get(key) for key in expected} == expected
    assert [notice.code for notice in response.notices] == codes
    assert all(repr(effort) in notice.message for notice in response.notices)


# -- turns -----------------------------------------------------------------------------------------

CALL = ToolExecutionRequest("toolu_12345678", "get_time", "{}")
RESULT = ToolExecutionResultMessage("toolu_12345678", "get_time", "noon")


def turns(vendor: str, model: str, history: list[ChatMessage]) -> list[Any]:
    """The messages of a request with this history and a tool."""
    body, _ = exchange(ChatRequest(history, ChatRequestParameters(tools=(TIME,))), vendor, model=model)
    found: list[Any] = body["messages"]
    return found


def own(vendor: str, **state: Any) -> ProviderState:
    """State that this vendor gave."""
    row = VENDORS[vendor]
    return ProviderState(provider_id(row, row.base_url or ""), state)


THOUGHT = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}]
SIGNED = {"extra_content": {"google": {"thought_signature": "s1"}}}
DUMMY = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
DIGEST = "f2e656af0"
#: Fact, vendor, model, a history, and the messages that it becomes behind the first.
TURNS: list[tuple[str, str, str, list[ChatMessage], list[dict[str, Any]]]] = [
    (
        "mistral ids",
        "mistral",
        LARGE,
        [UserMessage("q"), AiMessage([CALL]), RESULT],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": DIGEST, "type": "function", "function": {"name": "get_time", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": DIGEST, "content": "noon", "name": "get_time"},
        ],
    ),
    (
        "mistral forms",
        "mistral",
        LARGE,
        [UserMessage("q"), AiMessage([CALL]), RESULT, UserMessage("more")],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": DIGEST, "type": "function", "function": {"name": "get_time", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": DIGEST, "content": "noon", "name": "get_time"},
            {"role": "assistant", "content": "OK"},
            {"role": "user", "content": "more"},
        ],
    ),
    (
        "mistral forms",
        "mistral",
        LARGE,
        [UserMessage("q"), AiMessage("It is")],
        [{"role": "assistant", "content": "It is", "prefix": True}],
    ),
    (
        "mistral forms",
        "mistral",
        LARGE,
        [
            UserMessage("q"),
            AiMessage([ThinkingContent("hm", own("mistral", thinking_parts=THOUGHT)), TextContent("so")]),
            UserMessage("more"),
        ],
        [
            {"role": "assistant", "content": [*THOUGHT, {"type": "text", "text": "so"}]},
            {"role": "user", "content": "more"},
        ],
    ),
    (
        "mistral forms",
        "mistral",
        LARGE,
        [UserMessage("q"), UserMessage([TextContent("see"), FileContent(data="QUJD", name="file.pdf")])],
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {
                        "type": "document_url",
                        "document_url": "data:application/pdf;base64,QUJD",
                        "document_name": "file.pdf",
                    },
                ],
            }
        ],
    ),
    (
        "gemini",
        "gemini",
        "gemini-3-pro",
        [
            UserMessage("q"),
            AiMessage([CALL, ToolExecutionRequest("c2", "get_time", "{}")]),
            RESULT,
            ToolExecutionResultMessage("c2", "get_time", "noon"),
        ],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": CALL.id,
                        "type": "function",
                        "function": {"name": "get_time", "arguments": "{}"},
                        **DUMMY,
                    },
                    {"id": "c2", "type": "function", "function": {"name": "get_time", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": CALL.id, "content": "noon"},
            {"role": "tool", "tool_call_id": "c2", "content": "noon"},
        ],
    ),
    (
        "gemini",
        "gemini",
        "gemini-3-pro",
        [
            UserMessage("q"),
            AiMessage([ToolExecutionRequest("c1", "get_time", "{}", True, own("gemini", **SIGNED))]),
            ToolExecutionResultMessage("c1", "get_time", "noon"),
        ],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}, **SIGNED}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        ],
    ),
    (
        "minimax split",
        "minimax",
        M2,
        [UserMessage("q"), AiMessage("<think>hm</think>so"), UserMessage("more")],
        [{"role": "assistant", "content": "<think>hm</think>so"}, {"role": "user", "content": "more"}],
    ),
]


@pytest.mark.parametrize(("fact", "vendor", "model", "history", "expected"), TURNS)
def test_a_history_has_the_vendors_form(
    fact: str, vendor: str, model: str, history: list[ChatMessage], expected: list[dict[str, Any]]
) -> None:
    assert turns(vendor, model, history)[1:] == expected


def test_cerebras_gets_the_reasoning_of_its_glm_models_in_the_text() -> None:
    """Between tags; other models get none, and nobody gets that of another provider."""
    mine = AiMessage([ThinkingContent("hm", own("cerebras", reasoning="hm")), TextContent("so")])
    theirs = AiMessage([ThinkingContent("hm", ProviderState("elsewhere", {"reasoning": "hm"})), TextContent("so")])
    asked: list[ChatMessage] = [UserMessage("q"), mine, UserMessage("q"), theirs, UserMessage("q")]
    assert [turn["content"] for turn in turns("cerebras", "zai-glm-4.7", asked)][1::2] == ["<think>hm</think>so", "so"]
    assert [turn["content"] for turn in turns("cerebras", "gpt-oss-120b", asked)][1::2] == ["so", "so"]


async def test_a_conversation_of_mistral_grows_into_the_same_bytes_as_one_that_is_sent_at_once() -> None:
    """The mark of a last message, and the word behind results, are not left where they were."""
    media = ToolExecutionResultMessage("c2", "get_time", [ImageContent(data="QUJD")])
    history: list[ChatMessage] = [
        UserMessage("q"),
        AiMessage("It is"),
        UserMessage("go on"),
        AiMessage([CALL]),
        RESULT,
        UserMessage("more"),
        AiMessage([ToolExecutionRequest("c2", "get_time", "{}")]),
        media,
    ]
    parameters = ChatRequestParameters(tools=(TIME,))
    growing = model_on(FakeTransport(), "mistral", model=LARGE)
    for size in (1, 2, 3, 5, 6, 8):
        request = ChatRequest(history[:size], parameters)
        at_once, _ = model_on(FakeTransport(), "mistral", model=LARGE).preview(request)
        assert growing.preview(request)[0] == at_once
        assert at_once.count(b'"prefix":true') == (size == 2)
    assert at_once.count(b'{"role":"assistant","content":"OK"}') == 2


# -- the other API ---------------------------------------------------------------------------------

#: Fact, vendor, model, history and parameters, and what stands in the body.
OTHER_API: list[tuple[str, str, str, list[ChatMessage], dict[str, Any], dict[str, Any]]] = [
    (
        "responses strict",
        "openai",
        "gpt-4o",
        [UserMessage("q")],
        time(),
        {
            "tools": [
                {
                    "type": "function",
                    "name": "get_time",
                    "description": "the time",
                    "parameters": TIME.parameters.schema,
                    "strict": False,
                }
            ]
        },
    ),
    (
        "responses one tool",
        "openai",
        "gpt-4o",
        [UserMessage("q")],
        time("required"),
        {"tool_choice": "required", "parallel_tool_calls": None},
    ),
    (
        "deepseek responses",
        "deepseek",
        "deepseek-v4-flash",
        [
            UserMessage("q"),
            AiMessage([CALL, TextContent("wait"), ToolExecutionRequest("c2", "get_time", "{}")]),
            RESULT,
            ToolExecutionResultMessage("c2", "get_time", "noon"),
        ],
        time(),
        {
            "input": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "wait"},
                {"type": "function_call", "call_id": CALL.id, "name": "get_time", "arguments": "{}"},
                {"type": "function_call", "call_id": "c2", "name": "get_time", "arguments": "{}"},
                {"type": "function_call_output", "call_id": CALL.id, "output": "noon"},
                {"type": "function_call_output", "call_id": "c2", "output": "noon"},
            ]
        },
    ),
    (
        "xai",
        "xai",
        "grok-4.3",
        [UserMessage("q")],
        {},
        {"include": ["reasoning.encrypted_content"], "store": False},
    ),
]


@pytest.mark.parametrize(("fact", "vendor", "model", "history", "parameters", "expected"), OTHER_API)
def test_the_other_api_gets_what_it_wants(
    fact: str,
    vendor: str,
    model: str,
    history: list[ChatMessage],
    parameters: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    asked = OpenAiResponsesModel(model=model, vendor=vendor, api_key="key-for-tests", environment={})
    body = json.loads(asked.preview(ChatRequest(history, ChatRequestParameters(**parameters)))[0])
    assert {key: body.get(key) for key in expected} == expected
