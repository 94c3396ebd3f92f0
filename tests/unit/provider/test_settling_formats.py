"""Forms of answers and sampling against what an endpoint can do, on a row of no vendor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ModelProfile, ResponseFormat, ToolSpecification
from agentforge.provider import Endpoint, EndpointRow, Settled, ThinkingLimits, profile_of, settle

TOOL = ToolSpecification("look", "looks")
JSON, TEXT = ResponseFormat.JSON, ResponseFormat.TEXT
SCHEMA = ResponseFormat.json_schema({"type": "object"})
LIMITS = ThinkingLimits(models="^deep", json_formats=False, ignores=frozenset({"temperature", "penalty"}))
ROW = EndpointRow(
    name="house",
    base_url="https://llm.example/v1",
    thinking=LIMITS,
    capabilities=ModelProfile(response_formats=frozenset({"text", "json"}), response_format_with_tools=False),
)


def settled(*, thinking: bool = False, policy: dict[str, str] | None = None, **parameters: Any) -> Settled:
    """The parameters as the row's endpoint takes them."""
    row = replace(ROW, capabilities=ROW.capabilities.with_(unsupported=policy or {}))
    profile = profile_of(row, "m", base_url="https://llm.example/v1")
    endpoint = Endpoint(row, profile, "m", "https://llm.example/v1")
    return settle(ChatRequestParameters(**parameters), endpoint, thinking=thinking)


@pytest.mark.parametrize(
    ("given", "feature"),
    [
        ({"response_format": None, "tools": (TOOL,)}, None),
        ({"response_format": TEXT, "tools": (TOOL,), "thinking": True}, None),
        ({"response_format": JSON}, None),
        ({"response_format": SCHEMA}, "response_format.json_schema"),
        ({"response_format": JSON, "tools": (TOOL,)}, "response_format_with_tools"),
        ({"response_format": JSON, "thinking": True}, "response_format_with_thinking"),
    ],
)
def test_a_form_is_kept_refused_or_let_go(given: dict[str, Any], feature: str | None) -> None:
    wanted = given["response_format"]
    if feature is None:
        kept = settled(**given)
        assert (kept.parameters.response_format, kept.notices) == (wanted, [])
        return
    with pytest.raises(UnsupportedFeatureError) as caught:
        settled(**given)
    assert caught.value.details["feature"] == feature
    made = settled(**given, policy={feature: "drop"})
    assert made.parameters.response_format is None
    assert [notice.details["feature"] for notice in made.notices] == [feature]


@pytest.mark.parametrize(
    ("given", "left", "names"),
    [
        ({"temperature": 0.5}, {}, ["temperature"]),
        ({"custom_parameters": {"penalty": 1, "user": "u"}}, {"user": "u"}, ["penalty"]),
        ({"custom_parameters": {"temperature": 1}, "temperature": 0.5}, {}, ["temperature"]),
        ({"top_p": 0.5}, {}, []),
    ],
)
def test_what_thinking_ignores_is_left_out_wherever_it_was_set(
    given: dict[str, Any], left: dict[str, Any], names: list[str]
) -> None:
    """Under its own name or among the custom parameters; without thinking it stays."""
    made = settled(**given, thinking=True, policy={"thinking_ignores": "drop"})
    assert made.parameters.temperature is None
    assert made.parameters.custom_parameters == left
    assert [notice.message for notice in made.notices] == [
        f"house model 'm' does not support {name} while thinking; it was left out" for name in names
    ]
    kept = settled(**given)
    assert (kept.parameters, kept.notices) == (ChatRequestParameters(**given), [])
