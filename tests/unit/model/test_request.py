"""What is asked of a model: parameters that merge field by field, choices and response formats by name."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.model.history import History
from agentforge.model.messages import SystemMessage, UserMessage
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest, ChatRequestParameters, ResponseFormat, ToolChoice
from agentforge.model.specification import ToolParameters, ToolSpecification

NOW = ToolSpecification("now")
TODAY = ToolSpecification("today")
P = ChatRequestParameters


@pytest.mark.parametrize(
    ("given", "choice", "forces"),
    [
        ("auto", ToolChoice.AUTO, False),
        ("none", ToolChoice.NONE, False),
        ("required", ToolChoice.REQUIRED, True),
        ("get_weather", ToolChoice.tool("get_weather"), True),
        (ToolChoice.allowed(["now"]), ToolChoice("allowed", ("now",)), False),
        (ToolChoice.allowed(["now"], required=True), ToolChoice("allowed", ("now",), required=True), True),
        (ToolChoice("required"), ToolChoice("required"), True),
    ],
)
def test_a_tool_choice_is_given_by_name_or_as_a_value(given: Any, choice: ToolChoice, forces: bool) -> None:
    assert ToolChoice.of(given) == choice
    assert P(tool_choice=given).tool_choice == choice
    assert choice.forces_a_call is forces


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("Required", "did you mean 'required'"),
        ("AUTO", "did you mean 'auto'"),
        (" none", "did you mean 'none'"),
        ("None", r"A tool of that name is ToolChoice\.tool\('None'\)"),
        ("", "or a tool's name, not an empty text"),
        (" ", "or a tool's name, not an empty text"),
    ],
)
def test_a_tool_choice_that_only_looks_like_one_is_refused(given: str, says: str) -> None:
    """It would be the name of a tool that nobody has; a tool that is really called so can be chosen."""
    with pytest.raises(ValueError, match=says):
        P(tool_choice=given)
    assert P(tool_choice=ToolChoice.tool("None")).tool_choice == ToolChoice("tool", ("None",), required=True)


def test_a_list_of_names_is_no_tool_choice_and_the_error_says_what_is() -> None:
    wrong: Any = ["now", "today"]
    with pytest.raises(TypeError, match=r"several tools are ToolChoice\.allowed"):
        P(tool_choice=wrong)
    assert ToolChoice.allowed("now") == ToolChoice.allowed(["now"])


@pytest.mark.parametrize("level", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_a_reasoning_effort_is_one_of_the_levels(level: Any) -> None:
    assert P(reasoning_effort=level).reasoning_effort == level


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("hgih", ValueError, "there is no reasoning_effort 'hgih': did you mean 'high'"),
        ("High", ValueError, "did you mean 'high'"),
        ("maximum", ValueError, "did you mean 'm"),
        ("default", ValueError, "it is one of none, minimal, low, medium, high, xhigh, max"),
        ("", ValueError, "it is one of none"),
        (3, TypeError, "reasoning_effort must be str, not int"),
    ],
)
def test_another_reasoning_effort_is_refused(given: Any, error: type[Exception], says: str) -> None:
    """What only one vendor has goes into the custom parameters."""
    with pytest.raises(error, match=says):
        P(reasoning_effort=given)
    with pytest.raises(error, match=says):
        P(seed=1).with_(reasoning_effort=given)


def test_the_three_response_formats_are_not_the_same_thing() -> None:
    schema = ResponseFormat.json_schema({"type": "object"}, name="person", description="A person.")
    assert (ResponseFormat.TEXT.type, ResponseFormat.JSON.type, schema.type) == ("text", "json", "json_schema")
    assert (schema.name, schema.strict, schema.schema) == ("person", True, {"type": "object"})
    assert ResponseFormat.JSON.schema is None


@pytest.mark.parametrize(
    ("defaults", "overrides", "merged"),
    [
        (None, None, P()),
        (P(seed=1), None, P(seed=1)),
        (None, P(seed=1), P(seed=1)),
        (P(seed=1, top_p=0.5), P(seed=2), P(seed=2, top_p=0.5)),
        (P(temperature=1.0), P(temperature=0.0), P(temperature=0.0)),
        (P(parallel_tool_calls=True), P(parallel_tool_calls=False), P(parallel_tool_calls=False)),
        (P(tools=(NOW,)), P(tools=(TODAY,)), P(tools=(TODAY,))),
        (P(tools=(NOW,)), P(seed=1), P(tools=(NOW,), seed=1)),
        (P(stop=("a",)), P(stop=()), P(stop=("a",))),
        (
            P(custom_parameters={"a": 1, "b": 1}),
            P(custom_parameters={"b": 2, "c": 2}),
            P(custom_parameters={"a": 1, "b": 2, "c": 2}),
        ),
    ],
)
def test_overrides_are_laid_over_defaults_field_by_field(defaults: P | None, overrides: P | None, merged: P) -> None:
    assert P.merge(defaults, overrides) == merged


def test_merging_with_nothing_gives_the_same_object() -> None:
    parameters = P(seed=1)
    assert P.merge(parameters, None) is parameters
    assert P.merge(None, parameters) is parameters
    assert P.merge(parameters, P()) is parameters


@pytest.mark.parametrize(
    ("given", "kept"), [("END", ("END",)), (["a", "b"], ("a", "b")), (("a",), ("a",)), (None, None)]
)
def test_stop_takes_a_text_or_several(given: Any, kept: Any) -> None:
    assert P(stop=given).stop == kept


def test_tools_are_copied_into_a_tuple() -> None:
    tools = [NOW]
    parameters = P(tools=tools)  # type: ignore[arg-type]
    tools.append(TODAY)
    assert parameters.tools == (NOW,)
    assert parameters.with_(seed=3) == P(tools=(NOW,), seed=3)


@pytest.mark.parametrize("given", ["Hi", [UserMessage("Hi")], (UserMessage("Hi"),), iter([UserMessage("Hi")])])
def test_a_request_takes_a_text_or_messages(given: Any) -> None:
    request = ChatRequest(given)
    assert request.messages == (UserMessage("Hi"),)
    assert request.parameters == P()


def test_a_history_stays_one_so_that_nobody_checks_it_again() -> None:
    history = History.of([UserMessage("Hi")])
    assert ChatRequest(history).messages is history


def test_a_request_does_not_change_with_the_list_it_was_made_from() -> None:
    messages: list[Any] = [SystemMessage("a")]
    request = ChatRequest(messages, P(seed=1))
    messages.append(UserMessage("b"))
    assert request.messages == (SystemMessage("a"),)
    assert request.parameters.seed == 1


def test_a_profile_says_what_happens_where_the_model_cannot() -> None:
    profile = ModelProfile(unsupported={"seed": "drop"})
    assert profile.when_unsupported("seed") == "drop"
    assert profile.when_unsupported("audio") == "error"
    assert profile.with_(name="tiny", seed=False) == ModelProfile(name="tiny", seed=False, unsupported={"seed": "drop"})


def test_tool_parameters_are_built_property_by_property() -> None:
    built = (
        ToolParameters.builder()
        .add_property("city", "string", "name of the city", required=True)
        .add_property("city", "string", "name of the city", required=True)
        .add_property("days", {"type": "integer", "minimum": 1})
    )
    assert built.build().schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "name of the city"},
            "days": {"type": "integer", "minimum": 1},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert built.allow_additional_properties().build().schema["additionalProperties"] is True


def test_tool_parameters_are_equal_when_their_schemas_are() -> None:
    one = ToolParameters({"type": "object", "properties": {"a": {}}, "required": ["a"]})
    same = ToolParameters({"required": ["a"], "properties": {"a": {}}, "type": "object"})
    assert one == same
    assert hash(one) == hash(same)
    assert one != ToolParameters.empty()
    assert one != "text"
    assert ToolParameters({"properties": 3, "required": "a"}).properties == {}
    assert ToolParameters({"properties": 3, "required": "a"}).required == ()


def test_a_specification_takes_a_schema_as_it_is_and_nothing_that_is_none() -> None:
    schema: Any = {"type": "object"}
    assert ToolSpecification("now", parameters=schema).parameters == ToolParameters(schema)
    wrong: Any = [schema]
    with pytest.raises(TypeError, match="the parameters of tool 'now' must be ToolParameters or a JSON Schema mapping"):
        ToolSpecification("now", parameters=wrong)


def test_a_specification_survives_json_and_is_hashed_by_name() -> None:
    tool = ToolSpecification("now", "The time.", ToolParameters({"type": "object"}), True, {"owner": "a"})
    assert ToolSpecification.from_json(tool.to_json()) == tool
    assert ToolSpecification.from_json({"name": "now"}) == NOW
    assert hash(tool) == hash(NOW)
    assert tool != NOW


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "must be a JSON object"),
        ({}, "'name'"),
        ({"name": ""}, "'name'"),
        ({"name": "a", "kind": 1}, "unknown field 'kind'"),
        ({"name": "a", "description": 1}, "'description' of tool 'a'"),
        ({"name": "a", "strict": 1}, "'strict' of tool 'a'"),
        ({"name": "a", "parameters": []}, "'parameters' of tool 'a'"),
        ({"name": "a", "metadata": []}, "'metadata' of tool 'a'"),
    ],
)
def test_a_specification_that_is_not_ours_is_refused(data: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ToolSpecification.from_json(data)
