"""What each vendor's endpoint of this form really takes, and what we do about it: a request in, its bytes or a refusal
out. The facts are those of the page of wire facts, each of which has a row there; those about answers and about what
goes back are in `test_wire_facts_answers.py` and `test_replay.py`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    ImageContent,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.openai.tests import test_replay, test_wire_facts_answers, test_wire_facts_rows
from plugins.openai.tests.support import FakeTransport, delta, exchange, message, model_on, sse

TIME = ToolSpecification("get_time", "the time")
STRICT = ToolSpecification("look", "looks", ToolParameters({"type": "object", "properties": {}}), True)
ONE = {"type": "function", "function": {"name": "get_time"}}

#: Vendor and words of each row of the page that is shown here, under the name that its cases have.
HERE = {
    "effort": ("OpenAI Chat", "gpt-5.6"),
    "strict": ("OpenAI, Azure", "strict is not honoured"),
    "o-series": ("OpenAI o-series", "rejected"),
    "named": ("OpenAI", "named choice"),
    "limit": ("OpenAI reasoning", "max_completion_tokens"),
    "azure": ("Azure", "deployments"),
    "deepseek strict": ("DeepSeek", "strict:true"),
    "deepseek parallel": ("DeepSeek", "parallel_tool_calls"),
    "deepseek replay": ("DeepSeek", "must be replayed"),
    "deepseek choice": ("DeepSeek", "required/named refused"),
    "deepseek sampling": ("DeepSeek", "penalties"),
    "deepseek keep-alive": ("DeepSeek", "keep-alive"),
    "qwen tools": ("DashScope", "description required"),
    "qwen choice": ("DashScope", "not supported for Qwen"),
    "qwen parallel": ("DashScope", "defaults to"),
    "qwen thinking": ("DashScope", "only stream"),
    "qwen stream": ("DashScope", "streamed"),
    "groq": ("Groq", "tool_use_failed"),
    "ollama": ("Ollama compatible (`/v1`)", "unsupported and ignored"),
    "ollama stream": ("Ollama", "same index"),
    "vllm parser": ("vLLM", "enable-auto-tool-choice"),
    "vllm reasons": ("vLLM", "reason mismatches"),
    "xinference": ("Xinference", "OpenAI form"),
    "litellm": ("LiteLLM proxy", "refuses unsupported"),
    "openrouter": ("OpenRouter", "reasoning_details"),
    "xai": ("xAI", "whole calls"),
    "gemini": ("Gemini's OpenAI layer", "no ids"),
    "snowflake": ("Snowflake-hosted", "with calls"),
    "kimi replay": ("Kimi", "missing in an assistant turn"),
    "kimi choice": ("Kimi", "forced choice"),
    "kimi schemas": ("Kimi", "MFJS"),
    "kimi sampling": ("Kimi", "sampling values fixed"),
    "minimax split": ("MiniMax", "reasoning_split"),
    "minimax choice": ("MiniMax", "no documented"),
    "together": ("Together", "some models"),
    "mistral forms": ("Mistral", "`any` = required"),
    "mistral ids": ("Mistral", "9 letters"),
    "responses strict": ("Responses", "omitted"),
    "responses one tool": ("Responses", "seldom parallel"),
    "deepseek responses": ("DeepSeek Responses (`/responses`)", "between two calls"),
}

#: The others, and where they belong.
ELSEWHERE = {("Cohere v2", "strict_tools"): "another protocol; the vendor's compatible form has a row"}

# -- what a request becomes ------------------------------------------------------------------------


def time(choice: str | None = None, **more: Any) -> dict[str, Any]:
    """Parameters with one tool, a choice and others."""
    return {"tools": [TIME], "tool_choice": choice, **more}


def strict(**more: Any) -> dict[str, Any]:
    return {"tools": [STRICT], **more}


def custom(**more: Any) -> dict[str, Any]:
    return {"custom_parameters": more}


OFF = {"thinking": {"type": "disabled"}}
BARE = ("tools", "tool_choice", "parallel_tool_calls", "temperature", "stop", "seed", "stream", "user")
FLASH = "deepseek-v4-flash"

#: Fact, vendor, model, parameters, and what stands in the body; ``None``: the key is not there.
SENT: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
    ("effort", "openai", "gpt-5.4", time(), {"reasoning_effort": None}),
    ("effort", "openai", "gpt-5.6", time(reasoning_effort="none"), {"reasoning_effort": "none"}),
    ("effort", "openai", "gpt-5.6", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
    ("effort", "azure", "gpt-5.4", time(reasoning_effort="none"), {"reasoning_effort": "none"}),
    ("strict", "openai", "gpt-x", strict(), {"parallel_tool_calls": False}),
    ("strict", "azure", "desk", strict(), {"parallel_tool_calls": False}),
    ("strict", "openai", "gpt-x", time(), {"parallel_tool_calls": None}),
    ("o-series", "openai", "o3-mini", strict(), {"parallel_tool_calls": None}),
    ("o-series", "azure", "o4-mini", strict(), {"parallel_tool_calls": None}),
    ("o-series", "openai", "o3", time(parallel_tool_calls=False), {"parallel_tool_calls": False}),
    ("limit", "openai", "gpt-x", {"max_output_tokens": 5}, {"max_completion_tokens": 5, "max_tokens": None}),
    ("limit", "azure", "desk", {"max_output_tokens": 5}, {"max_completion_tokens": 5, "max_tokens": None}),
    ("limit", "deepseek", "deepseek-chat", {"max_output_tokens": 5}, {"max_tokens": 5, "max_completion_tokens": None}),
    ("limit", "dashscope", "qwen-plus", {"max_output_tokens": 5}, {"max_tokens": 5}),
    ("limit", "ollama", "qwen3", {"max_output_tokens": 5}, {"max_tokens": 5}),
    ("limit", "generic", "m", {"max_output_tokens": 5}, {"max_tokens": 5, "max_completion_tokens": None}),
    ("azure", "azure", "desk", {}, {"model": "desk"}),
    ("deepseek parallel", "deepseek", "deepseek-chat", time(parallel_tool_calls=True), {"parallel_tool_calls": None}),
    ("deepseek choice", "deepseek", "deepseek-chat", time("required"), {"tool_choice": "required"}),
    ("deepseek choice", "deepseek", "deepseek-chat", time("get_time"), {"tool_choice": ONE}),
    ("deepseek choice", "deepseek", FLASH, time("auto"), {"tool_choice": "auto"}),
    (
        "deepseek choice",
        "deepseek",
        FLASH,
        time("required", reasoning_effort="none"),
        {**OFF, "reasoning_effort": None},
    ),
    ("deepseek choice", "deepseek", FLASH, time("required", **custom(**OFF)), {**OFF, "tool_choice": "required"}),
    ("deepseek choice", "deepseek", FLASH, {"reasoning_effort": "low"}, {"reasoning_effort": "low", "thinking": None}),
    ("deepseek choice", "deepseek", FLASH, custom(thinking={"n": 1}), {"thinking": {"n": 1}}),
    ("deepseek sampling", "deepseek", "deepseek-chat", {"temperature": 0.5}, {"temperature": 0.5}),
    ("deepseek sampling", "deepseek", "deepseek-chat", custom(logprobs=True), {"logprobs": True}),
    ("qwen choice", "dashscope", "qwen-plus", time("get_time"), {"tool_choice": ONE}),
    ("qwen parallel", "dashscope", "qwen-plus", time(parallel_tool_calls=True), {"parallel_tool_calls": True}),
    ("qwen parallel", "dashscope", "qwen-plus", time(parallel_tool_calls=False), {"parallel_tool_calls": False}),
    ("qwen parallel", "dashscope", "qwen-plus", time(), {"parallel_tool_calls": None}),
    ("qwen thinking", "dashscope", "qwen-plus", {"reasoning_effort": "none"}, {"enable_thinking": False}),
    ("qwen thinking", "dashscope", "qwen-plus", {"reasoning_effort": "none"}, {"reasoning_effort": None}),
    ("qwen thinking", "dashscope", "qwen-plus", custom(enable_thinking=True), {"enable_thinking": True}),
    ("qwen thinking", "dashscope", "qwq-plus", {}, {"stream": True}),
    ("qwen thinking", "dashscope", "qwen-plus", {}, {"stream": None}),
    ("ollama", "ollama", "qwen3", time("none"), {"tools": None, "tool_choice": None}),
    ("ollama", "ollama", "qwen3", time("auto"), {"tool_choice": "auto"}),
    ("ollama", "ollama", "qwen3", time(parallel_tool_calls=True), {"parallel_tool_calls": None}),
    ("vllm parser", "vllm", "m", time("required"), {"tool_choice": "required"}),
    ("vllm parser", "vllm", "m", time("get_time"), {"tool_choice": ONE}),
    ("vllm parser", "vllm", "m", strict(), {"parallel_tool_calls": None, "tool_choice": None}),
    ("litellm", "litellm", "m", {}, dict.fromkeys(BARE)),
]


def outcome(vendor: str, model: str, parameters: dict[str, Any], **policy: str) -> tuple[dict[str, Any], ChatResponse]:
    """The body of a request with these parameters, and the response to a plain answer."""
    stream = [sse(delta("stop", content="ok"))]
    answer = stream if model.startswith("qwq") else message(content="ok")
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    return exchange(request, vendor, answer, model=model, profile_overrides={"unsupported": policy})


@pytest.mark.parametrize(("fact", "vendor", "model", "parameters", "expected"), SENT)
def test_what_can_be_said_is_said_in_the_vendors_form(
    fact: str, vendor: str, model: str, parameters: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Exactly, and so without a notice."""
    body, response = outcome(vendor, model, parameters)
    assert {key: body.get(key) for key in expected} == expected
    assert response.notices == ()


#: Fact, vendor, model, parameters, and the feature that the error names.
REFUSED: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("effort", "openai", "gpt-5.4", time(reasoning_effort="low"), "tools_with_thinking"),
    ("effort", "openai", "gpt-5.6-sol", time(), "tools_with_thinking"),
    ("effort", "azure", "gpt-5.6", time(), "tools_with_thinking"),
    ("strict", "openai", "gpt-x", strict(parallel_tool_calls=True), "strict_with_parallel"),
    ("strict", "azure", "desk", strict(parallel_tool_calls=True), "strict_with_parallel"),
    ("deepseek strict", "deepseek", "deepseek-chat", strict(), "strict_tools"),
    ("deepseek parallel", "deepseek", "deepseek-chat", time(parallel_tool_calls=False), "parallel_tool_calls"),
    ("deepseek choice", "deepseek", FLASH, time("required"), "forced_choice_with_thinking"),
    ("deepseek choice", "deepseek", "deepseek-reasoner", time("get_time"), "forced_choice_with_thinking"),
    ("qwen tools", "dashscope", "qwen-plus", {"tools": [ToolSpecification("files.read", "reads")]}, "tool_name"),
    ("qwen tools", "dashscope", "qwen-plus", {"tools": [ToolSpecification("a" * 65, "does")]}, "tool_name"),
    ("qwen tools", "dashscope", "qwen-plus", {"tools": [ToolSpecification("look")]}, "tool_description"),
    ("qwen tools", "dashscope", "qwen-plus", strict(), "strict_tools"),
    ("qwen choice", "dashscope", "qwen-plus", time("required"), "tool_choice.required"),
    ("qwen choice", "dashscope", "qwq-plus", time("get_time"), "forced_choice_with_thinking"),
    (
        "qwen choice",
        "dashscope",
        "qwen-plus",
        time("get_time", **custom(enable_thinking=True)),
        "forced_choice_with_thinking",
    ),
    ("ollama", "ollama", "qwen3", time("required"), "tool_choice.required"),
    ("ollama", "ollama", "qwen3", time("get_time"), "tool_choice.tool"),
    ("ollama", "ollama", "qwen3", time(parallel_tool_calls=False), "parallel_tool_calls"),
    ("ollama", "ollama", "qwen3", strict(), "strict_tools"),
]


@pytest.mark.parametrize(("fact", "vendor", "model", "parameters", "feature"), REFUSED)
def test_what_the_vendor_cannot_do_is_refused_before_anything_is_sent(
    fact: str, vendor: str, model: str, parameters: dict[str, Any], feature: str
) -> None:
    """The error names the vendor, the model and the feature, and says what to do."""
    transport = FakeTransport()
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    with pytest.raises(UnsupportedFeatureError) as caught:
        asyncio.run(model_on(transport, vendor, model=model).chat(request))
    assert transport.requests == []
    assert caught.value.details == {"vendor": vendor, "model": model, "feature": feature}
    assert vendor in caught.value.message
    assert repr(model) in caught.value.message
    assert caught.value.next_step


def test_of_tools_beside_effort_the_error_names_both_ways_out() -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        outcome("openai", "gpt-5.6", {"tools": [TIME]})
    assert "reasoning_effort: none" in (caught.value.next_step or "")
    assert "Responses API" in (caught.value.next_step or "")


#: Fact, vendor, model, parameters, the feature that a user lets go (or the row does), and what stands in the body.
DROPPED: list[tuple[str, str, str, dict[str, Any], str, dict[str, Any]]] = [
    ("effort", "openai", "gpt-5.6", time(), "tools_with_thinking", {"reasoning_effort": "none"}),
    ("deepseek parallel", "deepseek", "deepseek-chat", time(parallel_tool_calls=False), "parallel_tool_calls", {}),
    ("deepseek choice", "deepseek", FLASH, time("required"), "forced_choice_with_thinking", {"tool_choice": None}),
    ("deepseek sampling", "deepseek", FLASH, {"temperature": 0.1}, "thinking_ignores", {"temperature": None}),
    ("deepseek sampling", "deepseek", FLASH, {"top_p": 0.1}, "thinking_ignores", {"top_p": None}),
    ("deepseek sampling", "deepseek", FLASH, custom(presence_penalty=1), "thinking_ignores", {}),
    ("deepseek sampling", "deepseek", FLASH, custom(frequency_penalty=1), "thinking_ignores", {}),
    ("deepseek sampling", "deepseek", FLASH, custom(logprobs=True, user="u"), "thinking_ignores", {"user": "u"}),
    ("deepseek sampling", "deepseek", FLASH, custom(temperature=1), "thinking_ignores", {}),
    ("qwen tools", "dashscope", "qwen-plus", strict(), "strict_tools", {}),
    (
        "qwen thinking",
        "dashscope",
        "qwen-plus",
        {"reasoning_effort": "high"},
        "reasoning_effort.level",
        {"enable_thinking": True, "reasoning_effort": None},
    ),
    ("ollama", "ollama", "qwen3", time("required"), "tool_choice.required", {"tool_choice": None}),
]
#: None of these goes out where the notice says that it was left out.
LEFT = ("parallel_tool_calls", "presence_penalty", "frequency_penalty", "logprobs", "temperature")


@pytest.mark.parametrize(("fact", "vendor", "model", "parameters", "feature", "expected"), DROPPED)
def test_what_is_let_go_is_left_out_with_a_notice(
    fact: str, vendor: str, model: str, parameters: dict[str, Any], feature: str, expected: dict[str, Any]
) -> None:
    body, response = outcome(vendor, model, parameters, **{feature: "drop"})
    assert {key: body.get(key) for key in expected} == expected
    assert [key for key in LEFT if key in body] == []
    (notice,) = response.notices
    assert (notice.code, notice.details["feature"]) == ("feature_dropped", feature)
    assert vendor in notice.message


def test_both_strict_and_parallel_can_be_asked_for_with_a_warning() -> None:
    parameters = {"tools": [STRICT], "parallel_tool_calls": True}
    body, response = outcome("openai", "gpt-x", parameters, strict_with_parallel="drop")
    assert body["parallel_tool_calls"] is True
    assert [notice.code for notice in response.notices] == ["strict_with_parallel"]


def test_names_and_descriptions_can_be_mapped_by_option() -> None:
    parameters = {"tools": [ToolSpecification("files.read")]}
    body, _ = outcome("dashscope", "qwen-plus", parameters, tool_name="map", tool_description="map")
    function = body["tools"][0]["function"]
    assert function["name"].startswith("files_read_")
    assert function["description"] == "files.read"


def test_deepseeks_strict_tools_need_the_beta_base() -> None:
    """Given by the user, or gone to for such requests by option."""
    request = ChatRequest("q", ChatRequestParameters(tools=(STRICT,)))
    given, moved = FakeTransport(), FakeTransport()
    asyncio.run(model_on(given, "deepseek", base_url="https://api.deepseek.com/beta").chat(request))
    asyncio.run(model_on(moved, "deepseek", profile_overrides={"unsupported": {"strict_tools": "map"}}).chat(request))
    for transport in (given, moved):
        assert transport.requests[0].url == "https://api.deepseek.com/beta/chat/completions"
        assert transport.bodies[0]["tools"][0]["function"]["strict"] is True


def test_ollama_takes_images_as_data_only() -> None:
    def ask(image: ImageContent) -> dict[str, Any]:
        return exchange(ChatRequest([UserMessage(image)]), "ollama")[0]

    assert ask(ImageContent(data="QUJD"))["messages"][0]["content"][0]["type"] == "image_url"
    with pytest.raises(UnsupportedFeatureError, match="image_urls"):
        ask(ImageContent(url="https://x.example/a.png"))


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({"base_url": "https://desk.example"}, "https://desk.example/openai/v1/chat/completions"),
        (
            {"base_url": "https://desk.example", "api_version": "2026-01-01", "model": "my desk"},
            "https://desk.example/openai/deployments/my%20desk/chat/completions?api-version=2026-01-01",
        ),
    ],
)
def test_azure_has_two_addresses_and_a_header_of_its_own(options: dict[str, Any], url: str) -> None:
    transport = FakeTransport()
    asyncio.run(model_on(transport, "azure", **options).chat(ChatRequest("q")))
    assert transport.requests[0].url == url
    assert transport.header("api-key") == "key-for-tests"
    assert transport.header("authorization") is None


# -- no fact is lost --------------------------------------------------------------------------------

TABLES: list[list[Any]] = [
    SENT,
    REFUSED,
    DROPPED,
    test_wire_facts_rows.SENT,
    test_wire_facts_rows.REFUSED,
    test_wire_facts_rows.DROPPED,
    test_wire_facts_rows.TURNS,
    test_wire_facts_rows.OTHER_API,
    test_wire_facts_answers.READ,
    test_wire_facts_answers.FAILED,
    test_replay.REPLAYED,
]
#: Facts whose cases are tests of their own.
ALONE = {"deepseek strict", "gemini", "azure", "ollama"}


def test_each_row_of_the_page_is_shown_here_or_belongs_elsewhere(shared: Path) -> None:
    page = (shared / "wire-facts.md").read_text()
    table = page.partition("## 13.")[2].partition("### Replay")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")][2:]
    known = [*HERE.values(), *ELSEWHERE]
    for vendor, quirk in ((row[0].strip(), row[1]) for row in rows):
        assert len([1 for name, words in known if name == vendor and words in quirk]) == 1, (vendor, quirk)
    assert len(rows) == len(known)
    with_cases = {row[0] for table in TABLES for row in table} | ALONE
    assert with_cases == set(HERE)
