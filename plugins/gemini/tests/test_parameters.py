"""What is asked for, on this wire: settings, tools, choices, forms of the answer, thinking, the vendor's own fields."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ResponseFormat, ToolChoice, ToolParameters, ToolSpecification
from plugins.gemini.tests.support import body_of, model_on, notice_codes
from tests.support.wire_exchange import TIME, WEATHER

STRICT = ToolSpecification(WEATHER.name, WEATHER.description, WEATHER.parameters, strict=True)
SEARCH = {"googleSearch": {}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CLOSED = {**SCHEMA, "additionalProperties": False}
OLD, BEFORE_3, NEW = "gemini-2.0-flash", "gemini-2.5-flash", "gemini-3.5-flash"


def asked(**parameters: Any) -> ChatRequestParameters:
    return ChatRequestParameters(**parameters)


def test_settings_stand_in_the_generation_config() -> None:
    sent = body_of(
        "q", asked(temperature=0.5, top_p=0.9, max_output_tokens=100, stop=["END"], seed=7, reasoning_effort="low")
    )
    assert sent["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "seed": 7,
        "thinkingConfig": {"thinkingLevel": "low"},
    }
    assert body_of("q").keys() == {"contents"}, "what is not set is not sent"


def test_all_functions_stand_in_one_tool() -> None:
    """Before the vendor's own."""
    sent = body_of("q", asked(tools=[WEATHER, TIME], custom_parameters={"tools": [SEARCH]}))
    functions, own = sent["tools"]
    assert [each["name"] for each in functions["functionDeclarations"]] == ["get_weather", "get_time"]
    assert own == SEARCH
    assert functions["functionDeclarations"][0] == {
        "name": "get_weather",
        "description": "current weather of a city",
        "parametersJsonSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "name of the city"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }


def test_a_tool_without_parameters_says_nothing_of_them() -> None:
    """Unless it takes any."""
    free = ToolParameters({"type": "object", "properties": {}, "additionalProperties": True})
    tools = [ToolSpecification("now", "the time"), ToolSpecification("note", "any", free)]
    now, note = body_of("q", asked(tools=tools))["tools"][0]["functionDeclarations"]
    assert now == {"name": "now", "description": "the time"}
    assert note["parametersJsonSchema"]["additionalProperties"] is True


CHOICES: dict[str, tuple[Any, Any, str, dict[str, Any] | None]] = {
    "nothing": (None, [WEATHER, TIME], NEW, None),
    "auto": ("auto", [WEATHER, TIME], NEW, {"mode": "AUTO"}),
    "none": ("none", [WEATHER, TIME], NEW, {"mode": "NONE"}),
    "required": ("required", [WEATHER, TIME], OLD, {"mode": "ANY"}),
    "one": ("get_time", [WEATHER, TIME], OLD, {"mode": "ANY", "allowedFunctionNames": ["get_time"]}),
    "some": (
        ToolChoice.allowed(["get_time"]),
        [WEATHER, TIME],
        BEFORE_3,
        {"mode": "VALIDATED", "allowedFunctionNames": ["get_time"]},
    ),
    "some, required": (
        ToolChoice.allowed(["get_time"], required=True),
        [WEATHER, TIME],
        NEW,
        {"mode": "ANY", "allowedFunctionNames": ["get_time"]},
    ),
    "strict": (None, [STRICT, TIME], NEW, {"mode": "VALIDATED"}),
    "strict auto": ("auto", [STRICT], BEFORE_3, {"mode": "VALIDATED"}),
    "strict required": ("required", [STRICT], NEW, {"mode": "ANY"}),
}


@pytest.mark.parametrize(("choice", "tools", "model", "calling"), CHOICES.values(), ids=CHOICES)
def test_choices_of_tools(choice: Any, tools: Any, model: str, calling: dict[str, Any] | None) -> None:
    """Strict is the mode that holds calls to their schemas while the model may answer with text."""
    sent = body_of("q", asked(tools=tools, tool_choice=choice), model=model)
    assert sent.get("toolConfig") == (None if calling is None else {"functionCallingConfig": calling})
    assert len(sent["tools"][0]["functionDeclarations"]) == len(tools)


def test_a_choice_names_tools_by_their_alias() -> None:
    tool = ToolSpecification("files/read", "reads")
    sent = body_of("q", asked(tools=[tool], tool_choice="files/read"))
    [name] = sent["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"]
    assert name == sent["tools"][0]["functionDeclarations"][0]["name"] != "files/read"


def test_strict_where_it_is_possible_holds_when_all_tools_are() -> None:
    """The mode is one for all tools, so ``auto`` of some of them does not turn it on."""
    auto = ToolSpecification(WEATHER.name, WEATHER.description, WEATHER.parameters, strict="auto")
    assert "toolConfig" in body_of("q", asked(tools=[auto]))
    assert "toolConfig" not in body_of("q", asked(tools=[auto, TIME]))


def test_an_older_model_is_offered_only_the_allowed_tools() -> None:
    """It has no mode for that; with a notice."""
    parameters = asked(tools=[WEATHER, TIME], tool_choice=ToolChoice.allowed(["get_time"]))
    sent = body_of("q", parameters, model=OLD)
    assert [each["name"] for each in sent["tools"][0]["functionDeclarations"]] == ["get_time"]
    assert "toolConfig" not in sent
    assert notice_codes("q", parameters, model=OLD) == ["tools_narrowed"]


REFUSED: dict[str, tuple[ChatRequestParameters, str, str, str]] = {
    "one call at a time": (
        asked(tools=[WEATHER], parallel_tool_calls=False),
        NEW,
        "parallel_tool_calls",
        "run the calls one after another",
    ),
    "strict of an older model": (asked(tools=[STRICT]), OLD, "strict_tools", "Leave strict unset"),
    "own tools beside ours": (
        asked(tools=[WEATHER], custom_parameters={"tools": [SEARCH]}),
        BEFORE_3,
        "own_tools_with_tools",
        "Gemini 3 or newer",
    ),
    "JSON beside tools": (
        asked(tools=[WEATHER], response_format=ResponseFormat.JSON),
        BEFORE_3,
        "response_format_with_tools",
        "structured_output",
    ),
    "tools of a model of pictures": (asked(tools=[WEATHER]), "gemini-2.5-flash-image", "tools", "Use a model"),
    "no thinking": (asked(reasoning_effort="none"), NEW, "reasoning_effort.none", "reasoning_effort='minimal'"),
    "an effort of an older model": (asked(reasoning_effort="low"), OLD, "reasoning_effort", "Leave"),
}


@pytest.mark.parametrize(("parameters", "model", "feature", "step"), REFUSED.values(), ids=REFUSED)
def test_what_a_model_cannot_is_refused_before_the_request(
    parameters: ChatRequestParameters, model: str, feature: str, step: str
) -> None:
    """And left out with a notice where the policy says so."""
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters, model=model)
    assert caught.value.details["feature"] == feature
    assert step in str(caught.value.next_step)
    overrides = {"unsupported": {feature: "drop"}}
    assert notice_codes("q", parameters, model=model, profile_overrides=overrides) == ["feature_dropped"]


def test_what_is_so_anyhow_is_no_fault() -> None:
    """Several calls at a time, and no thinking of a model that cannot."""
    parameters = asked(tools=[WEATHER], parallel_tool_calls=True, reasoning_effort="none")
    assert notice_codes("q", parameters, model=OLD) == []


def test_functions_beside_the_vendors_tools_set_the_flag_that_they_need() -> None:
    """Not at Vertex AI, which does not know it; and auto has no mode of its own there."""
    parameters = asked(tools=[WEATHER], tool_choice="auto", custom_parameters={"tools": [SEARCH]})
    assert body_of("q", parameters)["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "toolConfig" not in body_of("q", parameters, vendor="vertexai")
    assert "toolConfig" not in body_of("q", asked(custom_parameters={"tools": [SEARCH]}))


# -- forms of the answer ---------------------------------------------------------------------------


def test_forms_of_the_answer() -> None:
    """JSON, and JSON held to a schema, in the form that the model takes."""
    assert body_of("q", asked(response_format=ResponseFormat.JSON))["generationConfig"] == {
        "responseMimeType": "application/json"
    }
    wanted = asked(response_format=ResponseFormat.json_schema(SCHEMA))
    assert body_of("q", wanted)["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": CLOSED,
    }
    assert body_of("q", wanted, model=OLD)["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseSchema": SCHEMA,
    }
    assert "generationConfig" not in body_of("q", asked(response_format=ResponseFormat.TEXT))


def test_a_schema_of_the_answer_that_has_no_strict_form() -> None:
    """Goes out as it is where any may and nobody asked for strict, else it is refused."""
    anything = {"type": "object", "properties": {"a": {}}}
    loose = asked(response_format=ResponseFormat.json_schema(anything, strict=None))
    assert body_of("q", loose)["generationConfig"]["responseJsonSchema"] == anything
    assert notice_codes("q", loose) == ["schema_as_it_is"]
    for parameters, model in ((loose, OLD), (asked(response_format=ResponseFormat.json_schema(anything)), NEW)):
        with pytest.raises(UnsupportedFeatureError, match="response_format"):
            body_of("q", parameters, model=model)


# -- thinking --------------------------------------------------------------------------------------

EFFORTS: dict[tuple[str, str], dict[str, Any] | None] = {
    ("gemini-3-pro-preview", "low"): {"thinkingLevel": "low"},
    ("gemini-3-pro-preview", "medium"): {"thinkingLevel": "low"},
    ("gemini-3.1-pro-preview", "medium"): {"thinkingLevel": "medium"},
    ("gemini-3.1-pro-preview", "minimal"): {"thinkingLevel": "low"},
    ("gemini-3-flash-preview", "minimal"): {"thinkingLevel": "minimal"},
    ("gemini-3.5-flash-lite", "minimal"): {"thinkingLevel": "minimal"},
    ("gemini-3.8-flash", "minimal"): {"thinkingLevel": "low"},
    ("gemini-4-argon", "max"): {"thinkingLevel": "high"},
    ("gemini-flash-latest", "high"): {"thinkingLevel": "high"},
    ("gemma-4-31b-it", "medium"): {"thinkingLevel": "minimal"},
    ("gemini-2.5-pro", "low"): {"thinkingBudget": 1024},
    ("gemini-2.5-pro", "xhigh"): {"thinkingBudget": 32_768},
    ("gemini-2.5-flash", "xhigh"): {"thinkingBudget": 24_576},
    ("gemini-2.5-flash", "none"): {"thinkingBudget": 0},
    ("gemini-2.5-flash-lite", "medium"): {"thinkingBudget": 8192},
    ("gemini-2.0-flash", "none"): None,
}


@pytest.mark.parametrize(("model", "effort"), EFFORTS)
def test_efforts(model: str, effort: Any) -> None:
    """A level from Gemini 3 on, a number of tokens before; one that the model does not know is the nearest below."""
    config = body_of("q", asked(reasoning_effort=effort), model=model).get("generationConfig", {})
    assert config.get("thinkingConfig") == EFFORTS[model, effort]


@pytest.mark.parametrize(
    ("model", "sent"), [("gemini-3.5-flash", {"thinkingLevel": "minimal"}), ("gemini-2.5-pro", {"thinkingBudget": 512})]
)
def test_no_thinking_may_be_mapped_to_the_least(model: str, sent: dict[str, Any]) -> None:
    overrides = {"unsupported": {"reasoning_effort.none": "map"}}
    parameters = asked(reasoning_effort="none")
    config = body_of("q", parameters, model=model, profile_overrides=overrides)["generationConfig"]
    assert config["thinkingConfig"] == sent
    assert notice_codes("q", parameters, model=model, profile_overrides=overrides) == ["reasoning_effort_mapped"]


def test_thoughts_come_back_when_asked_for() -> None:
    """A model that has none says so in a notice, and thinking that is off has none to show."""
    thinking = asked(reasoning_effort="low")
    config = body_of("q", thinking, include_thoughts=True)["generationConfig"]
    assert config["thinkingConfig"] == {"thinkingLevel": "low", "includeThoughts": True}
    assert body_of("q", include_thoughts=False)["generationConfig"] == {"thinkingConfig": {"includeThoughts": False}}
    assert notice_codes("q", model=OLD, include_thoughts=True) == ["feature_dropped"]
    off = body_of("q", asked(reasoning_effort="none"), model=BEFORE_3, include_thoughts=True)
    assert off["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}


# -- fields of the vendor's own --------------------------------------------------------------------


def test_custom_parameters_are_fields_of_the_body() -> None:
    """What stands in our objects too is put into them, the user's on top."""
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    sent = body_of(
        "q",
        asked(
            temperature=0.5,
            reasoning_effort="low",
            tools=[WEATHER],
            tool_choice="required",
            custom_parameters={
                "safety_settings": safety,
                "cachedContent": "cachedContents/1",
                "labels": {"team": "a"},
                "generationConfig": {"topK": 3, "thinkingConfig": {"includeThoughts": True}, "temperature": 0.1},
                "tool_config": {"retrievalConfig": {"languageCode": "nb"}},
            },
        ),
    )
    assert (sent["safetySettings"], sent["cachedContent"]) == (safety, "cachedContents/1")
    assert sent["labels"] == {"team": "a"}
    assert sent["generationConfig"] == {
        "temperature": 0.1,
        "topK": 3,
        "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
    }
    assert sent["toolConfig"] == {
        "functionCallingConfig": {"mode": "ANY"},
        "retrievalConfig": {"languageCode": "nb"},
    }


MERGED: dict[str, tuple[ChatRequestParameters, dict[str, Any]]] = {
    "the other spelling is the same member": (
        asked(max_output_tokens=5, custom_parameters={"generation_config": {"max_output_tokens": 7, "top_k": 3}}),
        {"generationConfig": {"maxOutputTokens": 7, "topK": 3}},
    ),
    "thinking by tokens ends the level": (
        asked(
            reasoning_effort="low", custom_parameters={"generationConfig": {"thinking_config": {"thinkingBudget": 9}}}
        ),
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 9}}},
    ),
    "more of thinking stands beside the level": (
        asked(
            reasoning_effort="low",
            custom_parameters={"generationConfig": {"thinkingConfig": {"include_thoughts": True}}},
        ),
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}}},
    ),
    "a mode ends the names of another": (
        asked(
            tools=[WEATHER],
            tool_choice="get_weather",
            custom_parameters={"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
        ),
        {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    ),
    "schemas are not mixed": (
        asked(
            response_format=ResponseFormat.json_schema(SCHEMA),
            custom_parameters={"generationConfig": {"responseJsonSchema": {"properties": {"my_name": {}}}}},
        ),
        {
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"properties": {"my_name": {}}},
            }
        },
    ),
    "nothing is nothing": (
        asked(seed=1, custom_parameters={"generationConfig": None, "toolConfig": None}),
        {"generationConfig": {"seed": 1}},
    ),
}


@pytest.mark.parametrize(("parameters", "sent"), MERGED.values(), ids=MERGED)
def test_what_a_user_says_in_the_vendors_words_stands_in_the_place_of_ours(
    parameters: ChatRequestParameters, sent: dict[str, Any]
) -> None:
    """No member goes out twice, and none beside one that excludes it."""
    made = body_of("q", parameters)
    assert {name: made[name] for name in ("generationConfig", "toolConfig") if name in made} == sent


@pytest.mark.parametrize("name", ["generationConfig", "toolConfig"])
def test_what_is_put_into_ours_is_a_mapping(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"custom_parameters.{name} must be a mapping") as caught:
        body_of("q", asked(custom_parameters={name: "x"}))
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["contents", "systemInstruction", "system_instruction"])
def test_what_the_wire_sets_no_custom_parameter_may(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="as a custom parameter"):
        body_of("q", asked(custom_parameters={name: {}}))


def test_overrides_add_nothing_that_the_form_has_no_place_for() -> None:
    """There is no switch for parallel calls; that a model makes none can be said."""
    with pytest.raises(ConfigurationError, match=r"profile_overrides.parallel_tool_calls has 'settable'"):
        model_on(profile_overrides={"parallel_tool_calls": "settable"})
    model = model_on(profile_overrides={"parallel_tool_calls": "never"})
    assert model.profile.parallel_tool_calls == "never"
    with pytest.raises(ConfigurationError, match="strict_subset"):
        model_on(profile_overrides={"strict_subset": "house"})
