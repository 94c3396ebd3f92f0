"""A row of vendor data that a user writes into a file, or gives in Python: down to the bytes of a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ChatRequest, ChatRequestParameters
from agentforge.config import ConfigurationFaults
from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ProviderState,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolSpecification,
    UserMessage,
)
from agentforge.testing import ScriptedEndpoint, calls
from agentforge_openai import OpenAiChatModel, OpenAiEmbeddingModel, OpenAiResponsesModel

TIME = ToolSpecification("get_time", "the time")
FILE = """
beans:
  model:
    type: openai.chat
    model: big-1
    base_url: {base_url}
    defaults: {{max_output_tokens: 7}}
    vendor:
      like: generic
      name: house
      key_variable: HOUSE_KEY
      max_tokens_field: max_completion_tokens
      sends: {{tier: fast}}
      required_word: any
      sends_strict_false: true
      replay_fields: [reasoning]
      thinking: {{models: ^big, switch: enable_thinking, ignores: [temperature]}}
      capabilities: {{max_tools: 1, tool_choice: [auto, required], unsupported: {{thinking_ignores: drop}}}}
"""


async def test_a_file_adds_a_row_without_a_line_of_code(tmp_path: Path) -> None:
    """Its address, key, forms and limits are those of the request; what it says nothing of is as in ``generic``."""
    async with ScriptedEndpoint([calls(ToolExecutionRequest("c1", "get_time", "{}"), thinking="hm")]) as endpoint:
        path = tmp_path / "agentforge.yaml"
        path.write_text(FILE.format(base_url=endpoint.base_url), "utf-8")
        async with AgentForge.load(path, environment={"HOUSE_KEY": "house-0123456789"}) as app:
            model: Any = app.get("model")
            parameters = ChatRequestParameters(tools=(TIME,), tool_choice="required", temperature=0.5)
            response = await model.chat(ChatRequest("When?", parameters))
            two = ChatRequestParameters(tools=(TIME, ToolSpecification("other", "o")))
            with pytest.raises(UnsupportedFeatureError, match="2 tools in one request; the limit is 1"):
                await model.chat(ChatRequest("When?", two))

    [request] = endpoint.requests
    assert request.headers["authorization"] == "Bearer house-0123456789"
    assert request.body["tier"] == "fast"
    assert request.body["max_completion_tokens"] == 7
    assert request.body["tool_choice"] == "any"
    assert request.body["tools"][0]["function"]["strict"] is False
    assert "temperature" not in request.body
    assert [notice.details["feature"] for notice in response.notices] == ["thinking_ignores"]
    [thought] = [part for part in response.ai_message.contents if isinstance(part, ThinkingContent)]
    assert thought.provider_state is not None
    assert thought.provider_state.provider.startswith("house@")


ROW = {"name": "house", "base_url": "https://house.example/v1"}


@pytest.mark.parametrize("kind", [OpenAiChatModel, OpenAiResponsesModel, OpenAiEmbeddingModel])
def test_in_python_the_same_mapping_is_given(kind: Any) -> None:
    model = kind(model="m", vendor=ROW, environment={})
    assert repr(model) == f"{kind.__name__}(vendor='house', model='m', base_url='https://house.example/v1')"
    with pytest.raises(ConfigurationError, match="unknown setting 'base_uri'"):
        kind(model="m", vendor={"name": "house", "base_uri": "x"})


def test_a_row_like_one_of_ours_has_its_forms_on_both_apis() -> None:
    row = {"like": "deepseek", "name": "house", "responses": {"item_ids": False}}
    model = OpenAiResponsesModel(model="m", vendor=row, api_key="key-for-tests")
    assert (model._row.responses.calls_together, model._row.responses.item_ids) == (True, False)
    more = {**row, "responses": {"capabilities": {"images": True}}}
    found = OpenAiResponsesModel(model="m", vendor=more, api_key="key-for-tests").profile
    assert found.images
    assert "json_schema" in found.response_formats  # what the row says of this API stays
    assert OpenAiChatModel(model="m", vendor=row, api_key="key-for-tests").profile.strict_tools is False


def faults(tmp_path: Path, vendor: str) -> list[str]:
    path = tmp_path / "agentforge.yaml"
    path.write_text(f"beans:\n  model: {{type: openai.chat, model: m, vendor: {vendor}}}\n", "utf-8")
    try:
        AgentForge.load(path, environment={}).check()
    except ConfigurationFaults as found:
        return [f"{each.mark.line}:{each.mark.column} {each.message} | {each.next_step}" for each in found.diagnostics]
    return []


@pytest.mark.parametrize(
    ("vendor", "words"),
    [
        (
            "{name: h, sends_strictfalse: true}",
            "unknown setting 'sends_strictfalse' | Did you mean 'sends_strict_false'",
        ),
        ("{name: h, required_word: some}", "'required_word' is 'required' or 'any'"),
        ("{name: h, sends: {messages: []}}", "'messages' cannot stand here, as each request has it from elsewhere"),
        ("{name: h, headers: {Authorization: sk-0123456789}}", "'Authorization' cannot stand here"),
        ("{name: h, sends: {stream: true}}", "'stream' cannot stand here"),
        ("{name: h, sends: {tools: []}}", "'tools' cannot stand here"),
        ("{name: h, call_extra: {id: x}}", "'id' cannot stand here"),
        ("{name: h, prefix_field: content}", "'content' cannot stand here"),
        ("{name: h, untaken: {tool_choice: ''}}", "'tool_choice' cannot stand here"),
        ("{name: h, replay_fields: [thought]}", "'replay_fields.0' is 'reasoning', 'reasoning_content',"),
        ("{name: h, efforts: [lo, high]}", "'efforts.0' is 'minimal', 'low', 'medium',"),
        ("{name: h, user_name_pattern: '^[a-z]{1,3}$'}", "'user_name_pattern' does not fit: no alias"),
        ("{name: h, key_variable: sk-0123456789}", "'key_variable' does not fit: it is not the name of an environment"),
        ("{name: h, base_url_variable: ''}", "'base_url_variable' does not fit"),
        ("{name: h, further_base_urls: [x]}", "'further_base_urls.0' does not fit: an address of the vendor is not"),
        ("{name: h, untaken: {temperature: '('}}", "'temperature' does not fit: it is no regular expression"),
        ("{name: h, thinking: {switch: thinking}}", "'thinking' of the vendor needs 'models'"),
        ("{name: h, responses: {reasoning_models: '('}}", "'reasoning_models' does not fit"),
        ("{name: h, responses: {capabilities: {imags: true}}}", "unknown setting 'imags' | Did you mean 'images'?"),
    ],
)
def test_the_fields_of_this_plugins_rows_are_checked_too(tmp_path: Path, vendor: str, words: str) -> None:
    [found] = faults(tmp_path, vendor)
    assert found.startswith("2:")
    assert words in found
    assert "sk-0123456789" not in found


def test_a_key_that_is_needed_and_has_no_variable_is_asked_for_in_the_bean() -> None:
    row = {"name": "h", "base_url": "https://house.example/v1", "key_required": True}
    with pytest.raises(ConfigurationError) as caught:
        OpenAiChatModel(model="m", vendor=row, environment={})
    assert caught.value.next_step == "Give api_key, or say key_variable in its row."


async def test_what_one_row_gave_goes_to_no_other_row_of_the_same_name(tmp_path: Path) -> None:
    """Two beans may each have a row of that name, at different addresses."""
    beans = "".join(
        f"  {bean}: {{type: openai.chat, model: m, vendor: {{name: house, base_url: 'https://{bean}.example/v1'}}}}\n"
        for bean in ("one", "other")
    )
    path = tmp_path / "agentforge.yaml"
    path.write_text(f"beans:\n{beans}", "utf-8")
    async with AgentForge.load(path, environment={}) as app:
        models: list[Any] = [app.get("one"), app.get("other")]
        state = ProviderState("house@one.example/v1", {"reasoning_content": "hm"})
        history: list[ChatMessage] = [
            UserMessage("q"),
            AiMessage([ThinkingContent("hm", state), TextContent("so")]),
            UserMessage("on"),
        ]
        bodies = [json.loads(model.preview(ChatRequest(history))[0]) for model in models]
    assert [body["messages"][1].get("reasoning_content") for body in bodies] == ["hm", None]
