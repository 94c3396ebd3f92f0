"""Choices of tools, the vendor's own tools, and levels of reasoning against what an endpoint can do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ModelProfile, ResponseFormat, ToolChoice, ToolSpecification
from agentforge.provider import (
    EFFORTS,
    Endpoint,
    EndpointRow,
    Settled,
    ThinkingLimits,
    nearest_effort,
    policy_setting,
    profile_of,
    settle,
)

LOOK, FIND = ToolSpecification("look", "looks"), ToolSpecification("find", "finds")
ROW = EndpointRow(
    name="house",
    base_url="https://llm.example/v1",
    efforts=("low", "high"),
    thinking=ThinkingLimits(models="^deep", forced_choice=False),
    capabilities=ModelProfile(
        tool_choice=frozenset({"auto", "tool"}), unsupported={"tool_choice.none": "map", "tool_choice.allowed": "map"}
    ),
)
SEARCH = {"type": "web_search"}


def settled(
    row: EndpointRow = ROW, *, thinking: bool = False, overrides: dict[str, Any] | None = None, **parameters: Any
) -> Settled:
    """The parameters as the row's endpoint takes them."""
    profile = profile_of(row, "m", base_url="https://llm.example/v1", overrides=overrides)
    return settle(
        ChatRequestParameters(**parameters), Endpoint(row, profile, "m", "https://llm.example/v1"), thinking=thinking
    )


def refused(*args: Any, **given: Any) -> UnsupportedFeatureError:
    with pytest.raises(UnsupportedFeatureError) as caught:
        settled(*args, **given)
    return caught.value


# -- choices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "tools", "message", "step"),
    [
        ("lok", (LOOK, FIND), "tool_choice names 'lok', which is not among the tools", "Did you mean 'look'?"),
        (ToolChoice.allowed(["look", "zzz"]), (LOOK,), "tool_choice names 'zzz'", "Known here: look."),
        ("look", (), "tool_choice names 'look', which is not among the tools", "offered in the same request"),
        ("required", (), "tool_choice 'required' forces a call, and the request offers no tools", "Offer a tool"),
    ],
)
def test_a_choice_of_what_is_not_offered_is_the_requests_fault(
    choice: Any, tools: Any, message: str, step: str
) -> None:
    """It does not say that the model cannot do it."""
    error = refused(tool_choice=choice, tools=tools)
    assert message in error.message and "does not support" not in error.message
    assert step in (error.next_step or "")
    assert error.details["feature"] == "tool_choice"


def test_what_the_model_cannot_do_at_all_is_said_before_what_it_cannot_do_while_thinking() -> None:
    """So the way out leads to no second refusal."""
    error = refused(thinking=True, tools=(LOOK,), tool_choice="required")
    assert error.details["feature"] == "tool_choice.required"
    assert refused(thinking=True, tools=(LOOK,), tool_choice="look").details["feature"] == "forced_choice_with_thinking"
    dropped = settled(
        thinking=True,
        overrides={"unsupported": {"tool_choice.required": "drop"}},
        tools=(LOOK,),
        tool_choice="required",
    )
    assert dropped.parameters.tool_choice is None


# -- the vendor's own tools ------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_choice_beside_the_vendors_own_tools_goes_out(choice: str) -> None:
    row = replace(ROW, capabilities=ModelProfile())
    made = settled(row, tool_choice=choice, parallel_tool_calls=False, custom_parameters={"tools": [SEARCH]})
    assert made.parameters.tool_choice == ToolChoice.of(choice)
    assert made.parameters.parallel_tool_calls is False
    assert made.parameters.custom_parameters == {"tools": [SEARCH]}


def test_no_call_where_there_is_no_such_word_takes_their_tools_away_too() -> None:
    custom = {"tools": [SEARCH], "user": "u"}
    made = settled(tools=(LOOK,), tool_choice="none", custom_parameters=custom)
    assert (made.parameters.tools, made.parameters.tool_choice) == ((), None)
    assert made.parameters.custom_parameters == {"user": "u"}


def test_a_list_made_of_fewer_tools_leaves_theirs_out_and_says_so() -> None:
    choice = ToolChoice.allowed(["look"])
    made = settled(tools=(LOOK, FIND), tool_choice=choice, custom_parameters={"tools": [SEARCH]})
    assert (made.parameters.tools, made.parameters.custom_parameters) == ((LOOK,), {})
    assert [notice.code for notice in made.notices] == ["tools_narrowed", "tools_narrowed"]
    assert settled(tools=(LOOK,), tool_choice=choice).notices == []


def test_a_choice_of_one_of_theirs_is_made_in_its_own_form() -> None:
    error = refused(tools=(LOOK,), tool_choice="sql", custom_parameters={"tools": [{"type": "custom", "name": "sql"}]})
    assert "custom_parameters: {tool_choice:" in (error.next_step or "")


@pytest.mark.parametrize("tools", [{"type": "web_search"}, "web_search", 5])
def test_what_is_no_list_of_tools_is_an_error(tools: Any) -> None:
    """It would vanish without a word."""
    with pytest.raises(ConfigurationError) as caught:
        settled(custom_parameters={"tools": tools})
    assert "custom_parameters.tools must be a list" in caught.value.message


# -- reasoning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("none", "none"),
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "low"),
        ("high", "high"),
        ("xhigh", "high"),
        ("max", "high"),
    ],
)
def test_a_level_that_the_endpoint_does_not_know_becomes_the_nearest_below(asked: str, sent: str) -> None:
    """Or the lowest there is; a row without levels sends what was asked."""
    made = settled(reasoning_effort=asked)
    assert made.parameters.reasoning_effort == sent
    told = [(notice.code, notice.details["asked"], notice.details["sent"]) for notice in made.notices]
    assert told == ([] if sent == asked else [("reasoning_effort_mapped", asked, sent)])
    assert settled(replace(ROW, efforts=()), reasoning_effort=asked).parameters.reasoning_effort == asked


def test_no_level_ever_costs_more_than_a_higher_one() -> None:
    """Whatever the endpoint knows, and also for a level of nobody."""
    for known in (("low",), ("high", "low"), ("max", "minimal"), EFFORTS[1:]):
        found = [EFFORTS.index(nearest_effort(level, known)) for level in EFFORTS[1:]]
        assert found == sorted(found)
        assert nearest_effort("hgih", known) == min(known, key=EFFORTS.index)


# -- ways out --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "parameters", "setting"),
    [
        ({"seed": False}, {"seed": 1}, policy_setting("seed", "drop")),
        (
            {"strict_tools": False},
            {"tools": (ToolSpecification("look", strict=True),)},
            policy_setting("strict_tools", "drop"),
        ),
        (
            {"response_formats": ["text"]},
            {"response_format": ResponseFormat.JSON},
            policy_setting("response_format.json", "drop"),
        ),
        (
            {"parallel_tool_calls": "always"},
            {"tools": (LOOK,), "parallel_tool_calls": False},
            policy_setting("parallel_tool_calls", "drop"),
        ),
        ({}, {"tools": (LOOK,), "tool_choice": "required"}, policy_setting("tool_choice.required", "drop")),
        ({"unsupported": {"tool_name": "error"}}, {"tools": (ToolSpecification("a.b", "c"),)}, "names: alias"),
    ],
)
def test_each_way_out_is_a_setting_that_works(overrides: Any, parameters: Any, setting: str) -> None:
    """As it stands in the next step, it is YAML that a model takes, and then nothing is refused."""
    error = refused(overrides=overrides, **parameters)
    assert setting in (error.next_step or "")
    if setting.startswith("profile_overrides"):
        import yaml

        policies = yaml.safe_load(setting)["profile_overrides"]["unsupported"]
        assert settled(overrides={**overrides, "unsupported": policies}, **parameters).notices


def test_a_form_that_is_refused_names_what_asks_for_it_in_another_way() -> None:
    error = refused(overrides={"response_formats": ["text"]}, response_format=ResponseFormat.JSON)
    assert "structured_output" in (error.next_step or "") and "entity" in (error.next_step or "")


def test_names_that_a_setting_refuses_are_cured_by_leaving_it_out() -> None:
    row = replace(ROW, capabilities=ROW.capabilities.with_(unsupported={"tool_name": "map"}))
    error = refused(row, overrides={"unsupported": {"tool_name": "error"}}, tools=(ToolSpecification("a.b", "c"),))
    assert "leave names out" in (error.next_step or "")


def test_a_row_for_any_host_names_the_vendor_that_could_only_where_one_could() -> None:
    row = replace(ROW, name="generic", others_can={"seed": "house"})
    assert "set vendor: house" in (refused(row, overrides={"seed": False}, seed=1).next_step or "")
    assert "vendor:" not in (refused(row, tools=(LOOK,), tool_choice="required").next_step or "")
