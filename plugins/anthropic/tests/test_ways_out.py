"""What a user is told where something cannot be, and what a vendor's own address means here."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatRequest,
    ChatRequestParameters,
    ResponseFormat,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge_anthropic import AnthropicChatModel
from plugins.anthropic.tests.support import exchange, model_on
from tests.support.wire_exchange import WEATHER

KEYS = {"ANTHROPIC_API_KEY": "sk-1"}
CALL = ToolExecutionRequest("c1", "get_weather", "{}")


@pytest.mark.parametrize(
    ("base_url", "vendor"),
    [
        ("https://api.anthropic.com", "anthropic"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("http://api.anthropic.com", "generic"),
        ("https://api.deepseek.com/anthropic", "generic"),
    ],
)
def test_the_vendors_own_host_means_its_row_and_its_key(base_url: str, vendor: str) -> None:
    model = AnthropicChatModel(model="claude-opus-5-5", base_url=base_url, environment=KEYS)
    assert f"vendor={vendor!r}" in repr(model)
    assert (model.secrets.mask("sk-1") == "***") is (vendor == "anthropic")
    assert model.profile.strict_tools is (vendor == "anthropic")


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"tools": (ToolSpecification("look", strict=True),)}, True),
        ({"response_format": ResponseFormat.json_schema({"type": "object"})}, True),
        ({"response_format": ResponseFormat.JSON}, False),
        ({"seed": 1}, False),
    ],
)
def test_another_host_names_the_vendor_where_that_would_help(parameters: Any, names: bool) -> None:
    """Not where the vendor could not either."""
    with pytest.raises(UnsupportedFeatureError) as caught:
        model_on(vendor="generic").preview(ChatRequest("q", ChatRequestParameters(**parameters)))
    assert ("set vendor: anthropic" in (caught.value.next_step or "")) is names


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-5", "claude-opus-4-6", "claude-opus-5-5"])
def test_a_higher_level_never_thinks_less(model: str) -> None:
    """In tokens and in effort, the levels in their order."""
    budgets, efforts = [], []
    for level in ("minimal", "low", "medium", "high", "xhigh", "max"):
        body, response = exchange("q", ChatRequestParameters(reasoning_effort=level), model=model)
        budgets.append(body["thinking"].get("budget_tokens", 0))
        efforts.append(
            ("low", "medium", "high", "xhigh", "max").index(body.get("output_config", {}).get("effort", "low"))
        )
        assert len(response.notices) <= 1
    assert (budgets, efforts) == (sorted(budgets), sorted(efforts))
    assert budgets[-1] > budgets[0] or efforts[-1] > efforts[0]


@pytest.mark.parametrize("effort", ["high", None])
def test_a_turn_that_goes_on_without_thinking_says_what_else_was_left_out(effort: Any) -> None:
    history: list[Any] = [UserMessage("q"), AiMessage([CALL]), ToolExecutionResultMessage("c1", "get_weather", "rain")]
    thinks = {} if effort else {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    parameters = ChatRequestParameters(reasoning_effort=effort, custom_parameters=thinks, tools=(WEATHER,))
    body, response = exchange(history, parameters, model="claude-opus-4-5")
    [notice] = [notice for notice in response.notices if notice.code == "thinking_off_for_turn"]
    assert "output_config" not in body
    assert ("the reasoning effort 'high' was left out" in notice.message) is (effort is not None)


def test_media_of_a_result_that_cannot_be_taken_become_a_note() -> None:
    history: list[Any] = [
        UserMessage("q"),
        AiMessage([CALL]),
        ToolExecutionResultMessage("c1", "get_weather", [AudioContent(data="QUJD")]),
    ]
    body, response = exchange(history)
    assert body["messages"][2]["content"][0]["content"] == [
        {"type": "text", "text": "[audio left out: this model cannot take it]"}
    ]
    assert [notice.code for notice in response.notices] == ["feature_dropped"]


@pytest.mark.parametrize("choice", ["none", "required"])
def test_a_choice_beside_the_vendors_own_tools_goes_out(choice: str) -> None:
    own = {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    body, _ = exchange("q", ChatRequestParameters(custom_parameters=own, tool_choice=choice))
    assert body["tool_choice"] == {"type": {"none": "none", "required": "any"}[choice]}


def test_a_feature_of_this_wire_may_have_a_policy_and_a_misspelt_one_is_found() -> None:
    model_on(profile_overrides={"unsupported": {"sampling_with_thinking": "drop"}})
    with pytest.raises(ConfigurationError) as caught:
        model_on(profile_overrides={"unsupported": {"sampling_with_thinkin": "drop"}})
    assert "Did you mean 'sampling_with_thinking'?" in (caught.value.next_step or "")
