"""What a user is told where something cannot be, and what becomes of it where no word was said beforehand."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.config import ConfigurationFaults
from agentforge.errors import InvalidRequestError, ModelError, NotFoundError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    ProviderState,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel
from plugins.openai.tests.support import GOOD, WEATHER, FakeTransport, exchange, model_on

PIXEL = ImageContent(data="QUJD", media_type="image/png")
CALL = ToolExecutionRequest("c1", "get_weather", "{}")


# -- the other API ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (400, InvalidRequestError, "Function tools with reasoning_effort are not supported. Please use /v1/responses."),
        (404, NotFoundError, "This model is only supported in v1/responses and not in v1/chat/completions."),
    ],
)
def test_a_server_that_names_the_other_api_is_understood_behind_any_gateway(
    status: int, kind: type[ModelError], words: str
) -> None:
    transport = FakeTransport((status, {"error": {"message": words, "type": "invalid_request_error"}}))
    with pytest.raises(kind) as caught:
        asyncio.run(model_on(transport).chat(ChatRequest("q")))
    step = caught.value.next_step or ""
    assert "openai.responses" in step and "tools_need_responses: responses" in step


def test_tools_are_shown_as_the_other_api_gets_them_where_requests_go_there() -> None:
    options: dict[str, Any] = {"vendor": "openai", "model": "gpt-5.6-sol", "api_key": "key-for-tests"}
    sent = OpenAiChatModel(**options, tools_need_responses="responses").preview_tools((WEATHER,))
    assert sent == OpenAiResponsesModel(**options).preview_tools((WEATHER,))
    with pytest.raises(UnsupportedFeatureError):
        OpenAiChatModel(**options).preview_tools((WEATHER,))
    other = OpenAiChatModel(**{**options, "model": "gpt-4o"}, tools_need_responses="responses")
    assert "function" in other.preview_tools((WEATHER,)).tools[0]
    assert other.preview_tools(()).tools == ()


# -- media of results ------------------------------------------------------------------------------


def history(part: Any) -> list[Any]:
    return [UserMessage("q"), AiMessage([CALL]), ToolExecutionResultMessage("c1", "get_weather", [part])]


@pytest.mark.parametrize(("part", "feature"), [(PIXEL, "images"), (FileContent(data="QUJD"), "files")])
@pytest.mark.parametrize("kind", [OpenAiChatModel, OpenAiResponsesModel])
def test_what_a_tool_returned_does_not_make_later_requests_fail(kind: Any, part: Any, feature: str) -> None:
    """A note stands in its place, which the response says; in a user's message it is refused, as it was chosen."""
    model = kind(vendor="deepseek", model="deepseek-chat", api_key="key-for-tests")
    body, notices = model.preview(ChatRequest(history(part)))
    assert f"[{feature} left out: this model cannot take it]".encode() in body
    assert [(notice.code, notice.details["feature"]) for notice in notices] == [("feature_dropped", feature)]
    with pytest.raises(UnsupportedFeatureError) as caught:
        model.preview(ChatRequest([*history(part), AiMessage("a"), UserMessage([TextContent("q"), part])]))
    step = caught.value.next_step or ""
    assert f"profile_overrides: {{unsupported: {{{feature}: drop}}}}" in step
    assert f"profile_overrides: {{{feature}: true}}" in step


@pytest.mark.parametrize(("policy", "refused"), [("error", True), ("drop", False)])
def test_what_the_profile_says_of_media_holds_for_results_too(policy: Any, refused: bool) -> None:
    model = model_on(FakeTransport(GOOD), "deepseek", profile_overrides={"unsupported": {"images": policy}})
    if not refused:
        model.preview(ChatRequest(history(PIXEL)))
        return
    with pytest.raises(UnsupportedFeatureError):
        model.preview(ChatRequest(history(PIXEL)))


# -- the vendor's own tools ------------------------------------------------------------------------


def test_reasoning_goes_back_in_a_conversation_with_the_vendors_own_tools_only() -> None:
    """As in one with ours."""
    thought = ThinkingContent("hm", ProviderState("deepseek", {"reasoning_content": "hm"}))
    messages: list[Any] = [UserMessage("q"), AiMessage([thought, TextContent("a")]), UserMessage("and?")]
    own = ChatRequestParameters(custom_parameters={"tools": [{"type": "function", "function": {"name": "f"}}]})
    for parameters, expected in ((own, "hm"), (ChatRequestParameters(), None)):
        body, _ = exchange(ChatRequest(messages, parameters), "deepseek", model="deepseek-v4-flash")
        assert body["messages"][1].get("reasoning_content") == expected


@pytest.mark.parametrize("kind", [OpenAiChatModel, OpenAiResponsesModel])
def test_a_choice_and_the_flag_go_out_beside_the_vendors_own_tools(kind: Any) -> None:
    given = ChatRequestParameters(
        custom_parameters={"tools": [{"type": "web_search"}]}, tool_choice="none", parallel_tool_calls=False
    )
    body = json.loads(
        kind(model="gpt-4o", vendor="openai", api_key="key-for-tests").preview(ChatRequest("q", given))[0]
    )
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("none", False)
    assert body["tools"] == [{"type": "web_search"}]


# -- sentences -------------------------------------------------------------------------------------


def test_a_vendor_without_levels_says_what_became_of_the_level() -> None:
    request = ChatRequest("q", ChatRequestParameters(reasoning_effort="medium"))
    body, response = exchange(request, "dashscope", model="qwen-plus")
    assert body["enable_thinking"] is True
    [notice] = response.notices
    assert notice.message == (
        "dashscope model 'qwen-plus' has no levels of thinking: it was turned on, and the level 'medium' was left out"
    )
    assert (notice.code, notice.details["feature"]) == ("feature_dropped", "reasoning_effort.level")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"profile_overrides": {"unsupported": {"strict_tool": "drop"}}}, "Did you mean 'strict_tools'?"),
        ({"profile_overrides": {"response_formats": ["text", "jsno"]}}, "Did you mean 'json'?"),
        ({"profile_overrides": {"images": "maybe"}}, "Say whether the model can do that."),
    ],
)
@pytest.mark.parametrize("kind", ["openai.chat", "openai.responses"])
def test_an_override_that_cannot_be_is_found_when_the_file_is_checked(kind: str, settings: Any, words: str) -> None:
    """Before anything is built."""
    bean = {"type": kind, "model": "m", "base_url": "https://llm.example/v1", **settings}
    with pytest.raises(ConfigurationFaults) as caught:
        AgentForge.from_mapping({"beans": {"model": bean}}, environment={}).check()
    assert words in (caught.value.diagnostics[0].next_step or "")
