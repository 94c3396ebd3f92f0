"""`profile_overrides`: what cannot be is an error when the model is made, with the place and the near miss."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from agentforge.errors import ConfigurationError
from agentforge.model import ModelProfile
from agentforge.provider import FEATURES, EndpointRow, profile_of

ROW = EndpointRow(
    name="house",
    base_url="https://llm.example/v1",
    capabilities=ModelProfile(seed=False, unsupported={"tool_name": "map", "house_rule": "drop"}),
)


def profile(overrides: Any) -> ModelProfile:
    return profile_of(ROW, "m", base_url="https://llm.example/v1", overrides=overrides)


@pytest.mark.parametrize(
    ("overrides", "message", "step"),
    [
        ({"imagse": False}, "profile_overrides has no field 'imagse'", "Did you mean 'images'?"),
        ({"unsupported": {"strict_tool": "drop"}}, "has the feature 'strict_tool'", "Did you mean 'strict_tools'?"),
        ({"unsupported": {"strict_tools": "ignore"}}, "unsupported.strict_tools must be one of map, drop", "map, drop"),
        ({"unsupported": {"seed": "dorp"}}, "not 'dorp'", "Did you mean 'drop'?"),
        ({"unsupported": {"seed": None}}, "not None", ""),
        ({"unsupported": 5}, "unsupported must be a mapping", "{seed: drop}"),
        ({"unsupported": {7: "drop"}}, "has the feature 7", ""),
        ({"response_formats": ["text", "jsno"]}, "an entry of profile_overrides.response_formats", "'json'"),
        ({"response_formats": "text"}, "must be a list", "a list"),
        ({"tool_choice": ["auto", "requird"]}, "an entry of profile_overrides.tool_choice", "'required'"),
        ({"tool_choice": 5}, "tool_choice must be a list", "a list"),
        ({"tool_choice": [["auto"]]}, "an entry of profile_overrides.tool_choice", ""),
        ({"replay": "x"}, "replay must be a list", "a list"),
        ({"replay": [1]}, "an entry of profile_overrides.replay must be a text", ""),
        ({"strict_subset": "portabel"}, "strict_subset must be one of", "'portable'"),
        ({"images": "maybe"}, "images must be true or false", ""),
        ({"images": 1}, "images must be true or false", ""),
        ({"seed": None}, "seed must be true or false", ""),
        ({"tool_mode": "bogus"}, "tool_mode must be one of native, json_schema, none", ""),
        ({"parallel_tool_calls": True}, "parallel_tool_calls must be one of settable, always, never", ""),
        ({"max_tools": "x"}, "max_tools must be a whole number from 0", ""),
        ({"max_tools": -1}, "max_tools must be a whole number from 0", ""),
        ({"max_tools": True}, "max_tools must be a whole number from 0", ""),
        ({"tool_name_pattern": "["}, "tool_name_pattern must be a regular expression", ""),
        ({"tool_name_pattern": 5}, "tool_name_pattern must be a regular expression: it is 5", ""),
        ({"name": ""}, "name must be a text", ""),
        ([("images", False)], "profile_overrides must be a mapping", ""),
    ],
)
def test_what_cannot_be_is_found_with_its_place_and_a_way_out(overrides: Any, message: str, step: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        profile(overrides)
    assert message in caught.value.message
    assert step in (caught.value.next_step or "")
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("overrides", "field", "value"),
    [
        ({"images": False}, "images", False),
        ({"tool_choice": ["auto", "none"]}, "tool_choice", frozenset({"auto", "none"})),
        ({"tool_choice": ()}, "tool_choice", frozenset()),
        ({"response_formats": {"text"}}, "response_formats", frozenset({"text"})),
        ({"replay": ["reasoning"]}, "replay", frozenset({"reasoning"})),
        ({"max_tools": None}, "max_tools", None),
        ({"max_tools": 0}, "max_tools", 0),
        ({"strict_subset": "portable"}, "strict_subset", "portable"),
        ({"tool_mode": "none"}, "tool_mode", "none"),
        ({"parallel_tool_calls": "never"}, "parallel_tool_calls", "never"),
        ({"tool_name_pattern": "^a$"}, "tool_name_pattern", "^a$"),
        ({"name": "mine"}, "name", "mine"),
        # Laid over the row's own, whose features are known whatever the wire says.
        ({"unsupported": {"seed": "drop"}}, "unsupported", {"tool_name": "map", "house_rule": "drop", "seed": "drop"}),
        ({"unsupported": {"house_rule": "error"}}, "unsupported", {"tool_name": "map", "house_rule": "error"}),
    ],
)
def test_what_can_be_is_a_value_of_the_profile(overrides: Any, field: str, value: object) -> None:
    assert getattr(profile(overrides), field) == value


def test_every_flag_and_feature_of_the_core_is_known() -> None:
    """No capability is left out of the checks."""
    for name in ModelProfile.__dataclass_fields__:
        with pytest.raises(ConfigurationError):
            profile({name: object()})
    assert profile({"unsupported": dict.fromkeys(FEATURES, "error")}).unsupported.keys() >= FEATURES


class FewFields(EndpointRow):
    """A form of request without a field for a choice or strict tools."""

    FORM: ClassVar = {"tool_choice": ("auto",), "strict_tools": (False,), "parallel_tool_calls": ("always", "never")}


FEW = FewFields(name="few", capabilities=ModelProfile(unsupported={"tool_choice.none": "map"}))


@pytest.mark.parametrize(
    ("overrides", "message", "step"),
    [
        ({"tool_choice": ["auto", "required"]}, "profile_overrides.tool_choice has 'required'", "is auto."),
        ({"tool_choice": ["allowed"]}, "profile_overrides.tool_choice has 'allowed'", "is auto."),
        ({"strict_tools": True}, "profile_overrides.strict_tools has true", "is false."),
        ({"parallel_tool_calls": "settable"}, "parallel_tool_calls has 'settable'", "is always, never."),
        ({"unsupported": {"tool_choice.tool": "map"}}, "unsupported.tool_choice.tool is 'map'", "Write drop"),
    ],
)
def test_what_the_form_has_no_place_for_cannot_be_added(overrides: Any, message: str, step: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        profile_of(FEW, "m", base_url="https://llm.example/v1", overrides=overrides)
    assert message in caught.value.message
    assert step in (caught.value.next_step or "")


def test_what_the_form_has_no_place_for_is_in_no_profile() -> None:
    """Whatever the row says; what a mapping says otherwise may stand in an override."""
    for overrides in (None, {"tool_choice": ["auto", "none"]}, {"parallel_tool_calls": "always"}):
        made = profile_of(FEW, "m", base_url="https://llm.example/v1", overrides=overrides)
        assert (made.tool_choice, made.strict_tools, made.parallel_tool_calls) == (frozenset({"auto"}), False, "always")
