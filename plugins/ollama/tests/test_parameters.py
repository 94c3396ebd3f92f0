"""Parameters of a request: options, thinking, the form of the answer, and whether it streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequest, ChatRequestParameters, ResponseFormat
from plugins.ollama.tests.support import FakeTransport, body_of, exchange, last, model_on, notices_of
from tests.support.wire_exchange import WEATHER

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}


def asked(**parameters: Any) -> dict[str, Any]:
    return body_of("q", ChatRequestParameters(**parameters))


def test_a_bare_request_says_whether_it_streams_and_that_nothing_is_to_be_cut() -> None:
    """A server streams unless it is told not to, and cuts a conversation that is too long."""
    question = {"role": "user", "content": "q"}
    assert body_of("q") == {"model": "qwen3", "messages": [question], "truncate": False, "stream": False}
    sent, _ = model_on().preview(ChatRequest("q"), stream=True)
    assert json.loads(sent) == {"model": "qwen3", "messages": [question], "truncate": False, "stream": True}


def test_sampling_and_limits_are_options() -> None:
    body = asked(temperature=0.0, top_p=0.9, max_output_tokens=100, stop=["END"], seed=7)
    assert body["options"] == {"temperature": 0.0, "top_p": 0.9, "num_predict": 100, "stop": ["END"], "seed": 7}
    assert "options" not in asked(stop=[])


@pytest.mark.parametrize(
    ("settings", "parameters", "options"),
    [
        ({"num_ctx": 8192}, {}, {"num_ctx": 8192}),
        ({"num_ctx": 8192}, {"seed": 7}, {"num_ctx": 8192, "seed": 7}),
        ({"num_ctx": 8192}, {"custom_parameters": {"options": {"num_ctx": 4096}}}, {"num_ctx": 4096}),
        (
            {},
            {"temperature": 0.5, "custom_parameters": {"options": {"top_k": 40, "temperature": 0.1}}},
            {"temperature": 0.1, "top_k": 40},
        ),
        ({}, {"custom_parameters": {"options": {}}}, None),
        ({}, {"custom_parameters": {"options": None}}, None),
    ],
)
def test_options_of_the_model_of_the_request_and_of_its_own_come_together(
    settings: dict[str, Any], parameters: dict[str, Any], options: dict[str, Any] | None
) -> None:
    """What is said in the server's own words goes before all else."""
    assert body_of("q", ChatRequestParameters(**parameters), **settings).get("options") == options


@pytest.mark.parametrize(
    ("settings", "custom", "fields"),
    [
        ({}, {}, {"truncate": False}),
        ({"truncate": True}, {}, {"truncate": True}),
        ({"vendor": "ollama-cloud"}, {}, {}),
        ({"vendor": "ollama-cloud", "truncate": False}, {}, {"truncate": False}),
        ({"vendor": "generic"}, {}, {"truncate": False}),
        ({"keep_alive": "10m"}, {}, {"truncate": False, "keep_alive": "10m"}),
        ({"keep_alive": -1}, {"keep_alive": 0, "shift": False}, {"truncate": False, "keep_alive": 0, "shift": False}),
        ({}, {"logprobs": True, "think": "high"}, {"truncate": False, "logprobs": True, "think": "high"}),
    ],
)
def test_fields_of_the_server_stand_in_every_request(
    settings: dict[str, Any], custom: dict[str, Any], fields: dict[str, Any]
) -> None:
    body = body_of("q", ChatRequestParameters(custom_parameters=custom), **settings)
    assert {name: value for name, value in body.items() if name not in ("model", "messages", "stream")} == fields


@pytest.mark.parametrize(
    ("custom", "what"),
    [
        ({"options": [1]}, "options must be a mapping"),
        ({"stream": True}, "'stream' as a custom parameter"),
        ({"messages": []}, "'messages' as a custom parameter"),
        ({"model": "other"}, "'model' as a custom parameter"),
        ({"tools": {}}, "tools must be a list"),
        ({"top_k": 40}, "top_k has no effect there"),
        ({"keep_alive": 5, "num_ctx": 40}, "num_ctx has no effect there"),
    ],
)
def test_what_the_wire_sets_itself_is_refused(custom: dict[str, Any], what: str) -> None:
    """And so is what the server would pass over where it stands."""
    with pytest.raises((ConfigurationError, UnsupportedFeatureError)) as caught:
        asked(custom_parameters=custom)
    assert what in caught.value.message and caught.value.next_step


def test_tools_of_the_servers_own_stand_beside_ours() -> None:
    own = {"type": "web_search"}
    assert asked(custom_parameters={"tools": [own]})["tools"] == [own]
    both = asked(tools=[WEATHER], custom_parameters={"tools": [own]})["tools"]
    assert [tool["type"] for tool in both] == ["function", "web_search"]


# -- thinking -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "effort", "think", "notices"),
    [
        ("qwen3", None, None, []),
        ("qwen3", "none", False, []),
        ("qwen3", "low", "low", []),
        ("qwen3", "medium", "medium", []),
        ("qwen3", "high", "high", []),
        ("qwen3", "max", "max", []),
        ("qwen3", "minimal", "low", ["reasoning_effort_mapped"]),
        ("qwen3", "xhigh", "high", ["reasoning_effort_mapped"]),
        ("gpt-oss:20b", "high", "high", []),
        ("gpt-oss:20b", "max", "high", ["reasoning_effort_mapped"]),
        ("hf.co/unsloth/gpt-oss-20b-GGUF", "xhigh", "high", ["reasoning_effort_mapped"]),
    ],
)
def test_an_effort_is_a_level_of_thinking(model: str, effort: Any, think: Any, notices: list[str]) -> None:
    """One that the model does not know is the nearest below; without one the model does as it does."""
    body, response = exchange("q", ChatRequestParameters(reasoning_effort=effort), model=model)
    assert body.get("think") == think and ("think" in body) is (think is not None)
    assert [notice.code for notice in response.notices] == notices


def test_a_model_that_always_thinks_is_not_asked_to_stop() -> None:
    """It would pass that over: refused, or the least there is, or left out, as the policy says."""
    parameters = ChatRequestParameters(reasoning_effort="none")
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters, model="gpt-oss:20b")
    assert caught.value.details["feature"] == "reasoning_effort.none"
    for policy, think, code in (("map", "low", "reasoning_effort_mapped"), ("drop", None, "feature_dropped")):
        overrides = {"unsupported": {"reasoning_effort.none": policy}}
        body, response = exchange("q", parameters, model="gpt-oss:20b", profile_overrides=overrides)
        assert body.get("think") == think
        assert [notice.code for notice in response.notices] == [code]


def test_a_model_that_cannot_think_can_be_said_to_be_one() -> None:
    with pytest.raises(UnsupportedFeatureError, match="reasoning effort"):
        body_of("q", ChatRequestParameters(reasoning_effort="low"), profile_overrides={"reasoning_effort": False})


def test_another_model_of_a_request_has_its_own_levels() -> None:
    parameters = ChatRequestParameters(reasoning_effort="max", model_name="gpt-oss:120b")
    assert body_of("q", parameters)["think"] == "high"


# -- the form of the answer -----------------------------------------------------------------------


def test_json_and_a_schema_are_formats() -> None:
    """The two are not the same thing; a schema has no name here, and goes as it is where it need not be strict."""
    assert asked(response_format=ResponseFormat.JSON)["format"] == "json"
    assert asked(response_format=ResponseFormat.json_schema(SCHEMA, strict=False))["format"] == SCHEMA
    assert "format" not in asked(response_format=ResponseFormat.TEXT)


def test_a_strict_schema_is_brought_into_what_the_grammar_holds() -> None:
    """Bounds of numbers are said in words instead, and a notice tells of it."""
    wanted = ResponseFormat.json_schema(SCHEMA, strict=True)
    assert asked(response_format=wanted)["format"] == {
        "type": "object",
        "properties": {"a": {"type": "integer", "description": "minimum: 1"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert notices_of("q", ChatRequestParameters(response_format=wanted)) == ["schema_narrowed"]
    loose = ResponseFormat.json_schema({"type": "object", "patternProperties": {"^a": {}}}, strict=True)
    assert "patternProperties" in asked(response_format=loose)["format"]
    assert notices_of("q", ChatRequestParameters(response_format=loose)) == ["not_strict"]


@pytest.mark.parametrize("form", [ResponseFormat.JSON, ResponseFormat.json_schema(SCHEMA)])
def test_a_format_beside_tools_is_refused(form: ResponseFormat) -> None:
    """A model that is held to it could never call one."""
    parameters = ChatRequestParameters(response_format=form, tools=[WEATHER])
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters)
    assert caught.value.details["feature"] == "response_format_with_tools"
    assert "structured_output" in (caught.value.next_step or "")
    lenient = {"unsupported": {"response_format_with_tools": "drop"}}
    body, response = exchange("q", parameters, profile_overrides=lenient)
    assert "format" not in body and [notice.code for notice in response.notices] == ["feature_dropped"]
    both = body_of("q", parameters, profile_overrides={"response_format_with_tools": True})
    assert both["format"] and both["tools"]


@pytest.mark.parametrize("form", [ResponseFormat.JSON, ResponseFormat.json_schema(SCHEMA)])
def test_the_cloud_has_no_formats(form: ResponseFormat) -> None:
    parameters = ChatRequestParameters(response_format=form)
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters, vendor="ollama-cloud")
    assert "vendor: ollama" in (caught.value.next_step or "")
    allowed = {"response_formats": ["text", "json", "json_schema"]}
    assert body_of("q", parameters, vendor="ollama-cloud", profile_overrides=allowed)["format"]


async def test_a_stream_of_a_model_with_defaults_is_asked_with_them() -> None:
    transport = FakeTransport([last("ok")])
    model = model_on(transport, num_ctx=4096, defaults=ChatRequestParameters(seed=7))
    [event async for event in model.stream(ChatRequest("q"))]
    assert transport.bodies[0]["options"] == {"num_ctx": 4096, "seed": 7} and transport.bodies[0]["stream"] is True
