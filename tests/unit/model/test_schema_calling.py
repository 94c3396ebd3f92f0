"""Tools over a schema: what the model is sent, and the wrapped model as a whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import jsonschema_rs
import pytest

from agentforge.errors import ConfigurationError, InvalidRequestError
from agentforge.model.chat_model import ChatModel
from agentforge.model.content import ImageContent, ProviderState, TextContent, ThinkingContent
from agentforge.model.events import (
    ChatEvent,
    ResponseDone,
    TextDelta,
)
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest, ChatRequestParameters, ResponseFormat, ToolChoice
from agentforge.model.response import ChatResponse
from agentforge.model.schema_calling import SchemaToolModel, SchemaTurn, translate_request
from agentforge.model.scripted import ScriptedChatModel
from agentforge.model.specification import ToolParameters, ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from tests.unit.model.support import NOW, WEATHER, request_for


def _schema(turn: SchemaTurn) -> dict[str, Any]:
    wanted = turn.request.parameters.response_format
    assert wanted is not None
    assert wanted.type == "json_schema"
    return dict(wanted.schema or {})


def _accepts(turn: SchemaTurn, reply: object) -> bool:
    return bool(jsonschema_rs.validator_for(_schema(turn)).is_valid(reply))


CALL = {"tool": "get_weather", "arguments": {"city": "杭州"}}
CALL_NOW = {"tool": "now", "arguments": {}}


@pytest.mark.parametrize(
    ("parameters", "accepted", "refused"),
    [
        (
            {},
            [{"calls": [CALL]}, {"calls": [CALL, CALL_NOW]}, {"answer": "22"}],
            [
                CALL,
                {"calls": []},
                {"answer": 3},
                {"calls": [CALL], "answer": "22"},
                {"calls": [{"tool": "nope"}]},
                "22",
            ],
        ),
        ({"parallel_tool_calls": False}, [{"calls": [CALL]}, {"answer": "22"}], [{"calls": [CALL, CALL_NOW]}]),
        ({"tool_choice": "required"}, [{"calls": [CALL]}, {"calls": [CALL, CALL_NOW]}], [{"answer": "22"}, CALL]),
        ({"tool_choice": "required", "parallel_tool_calls": False}, [{"calls": [CALL]}], [{"calls": [CALL, CALL_NOW]}]),
        ({"tool_choice": "get_weather"}, [CALL], [CALL_NOW, {"answer": "22"}, {"calls": [CALL]}]),
        ({"tool_choice": "get_weather", "parallel_tool_calls": True}, [{"calls": [CALL, CALL]}], [CALL]),
        ({"tool_choice": ToolChoice.allowed(["now"])}, [{"calls": [CALL_NOW]}, {"answer": "22"}], [{"calls": [CALL]}]),
        ({"tool_choice": ToolChoice.allowed(["now"], required=True)}, [CALL_NOW], [CALL, {"answer": "22"}]),
        (
            {"response_format": ResponseFormat.json_schema({"type": "object", "required": ["degrees"]})},
            [{"answer": {"degrees": 22}}, {"calls": [CALL]}],
            [{"answer": "22"}, {"answer": {}}],
        ),
        ({"response_format": ResponseFormat.JSON}, [{"answer": {"any": 1}}], [{"answer": "22"}]),
        ({"response_format": ResponseFormat.TEXT}, [{"answer": "22"}], [{"answer": {}}]),
    ],
)
def test_the_schema_allows_what_the_choice_allows(
    parameters: dict[str, Any], accepted: list[Any], refused: list[Any]
) -> None:
    turn = translate_request(request_for(WEATHER, NOW, **parameters))
    assert [reply for reply in accepted if not _accepts(turn, reply)] == []
    assert [reply for reply in refused if _accepts(turn, reply)] == []


def test_one_required_tool_has_the_simplest_schema() -> None:
    assert _schema(translate_request(request_for(NOW, tool_choice="required"))) == {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "const": "now"},
            "arguments": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        },
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("invalid", [{}, {"city": 3}, {"city": "a", "unit": "k"}, {"city": "a", "more": 1}])
def test_arguments_are_held_to_the_tools_own_schema(invalid: dict[str, Any]) -> None:
    turn = translate_request(request_for(WEATHER, tool_choice="required"))
    assert not _accepts(turn, {"tool": "get_weather", "arguments": invalid})


def _tool(name: str, **schema: Any) -> ToolSpecification:
    return ToolSpecification(name, parameters=ToolParameters({"type": "object", **schema}))


def _text_of(tool: str, value: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": value}]}


def test_definitions_of_one_name_are_kept_apart() -> None:
    a = _tool("a", properties={"x": {"$ref": "#/$defs/Item"}}, **{"$defs": {"Item": {"type": "string"}}})
    b = _tool("b", properties={"x": {"$ref": "#/definitions/Item"}}, definitions={"Item": {"type": "integer"}})
    c = _tool("c", properties={"x": {"$ref": "#/$defs/Item"}}, **{"$defs": {"Item": {"type": "string"}}})
    turn = translate_request(request_for(a, b, c))
    assert sorted(_schema(turn)["$defs"]) == ["Item", "b_Item"]
    for tool, good, bad in (("a", "s", 1), ("b", 1, "s"), ("c", "s", 1)):
        assert _accepts(turn, _text_of(tool, {"x": good}))
        assert not _accepts(turn, _text_of(tool, {"x": bad}))


def test_recursive_definitions_and_recursive_roots_stay_recursive() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Tree"}}, "additionalProperties": False}
    a = _tool("a", properties={"tree": {"$ref": "#/$defs/Tree"}}, **{"$defs": {"Tree": tree}})
    b = _tool(
        "b", properties={"child": {"$ref": "#"}, "same": {"$ref": "#/properties/child"}}, additionalProperties=False
    )
    turn = translate_request(request_for(a, b))
    assert _accepts(turn, _text_of("a", {"tree": {"next": {"next": {}}}}))
    assert not _accepts(turn, _text_of("a", {"tree": {"next": {"other": 1}}}))
    assert _accepts(turn, _text_of("b", {"child": {"same": {"child": {}}}}))
    assert not _accepts(turn, _text_of("b", {"child": {"other": 1}}))


def test_only_references_are_moved() -> None:
    odd = _tool(
        "odd",
        properties={"$ref": {"type": "string"}, "x": {"$ref": "#/$defs/a~1b"}, "y": {"enum": [{"$ref": "#/$defs/q"}]}},
        **{"$defs": {"a/b": {"type": "boolean"}}},
    )
    turn = translate_request(request_for(odd, tool_choice="required"))
    assert _accepts(turn, {"tool": "odd", "arguments": {"$ref": "t", "x": True, "y": {"$ref": "#/$defs/q"}}})
    assert not _accepts(turn, {"tool": "odd", "arguments": {"x": "no"}})


def test_names_of_definitions_never_collide() -> None:
    def tool(name: str, item: str, **more: Any) -> ToolSpecification:
        return _tool(name, properties={"x": {"$ref": f"#/$defs/{item}"}}, **{"$defs": {item: more}})

    tools = [tool("a", "b_I", type="string"), tool("x", "I", type="number"), tool("b", "I", type="boolean")]
    turn = translate_request(request_for(*tools, tool("b_I", "I", type="null"), tool("b", "I", type="array")))
    assert sorted(_schema(turn)["$defs"]) == ["I", "b_I", "b_I_2", "b_I_3", "b_I_I"]


def test_references_that_lead_elsewhere_are_left_alone() -> None:
    elsewhere = _tool("a", properties={"x": {"$ref": "https://example.com/schema"}, "y": {"$ref": "#name"}, "z": True})
    schema = _schema(translate_request(request_for(elsewhere, tool_choice="required")))
    assert schema["properties"]["arguments"]["properties"] == elsewhere.parameters.properties
    assert "$defs" not in schema


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, {"type": "object", "properties": {}, "additionalProperties": False}),
        ({"properties": {"x": {}}}, {"type": "object", "properties": {"x": {}}}),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "allOf": ({"minProperties": 1},),
            },
            {"type": "object", "allOf": [{"minProperties": 1}]},
        ),
    ],
)
def test_arguments_are_always_an_object(parameters: dict[str, Any], expected: dict[str, Any]) -> None:
    tool = ToolSpecification("a", parameters=ToolParameters(parameters))
    assert _schema(translate_request(request_for(tool, tool_choice="a")))["properties"]["arguments"] == expected


def test_definitions_of_the_answer_are_moved_too() -> None:
    wanted = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}
    turn = translate_request(request_for(NOW, response_format=ResponseFormat.json_schema(wanted)))
    assert _accepts(turn, {"answer": 3})
    assert not _accepts(turn, {"answer": "3"})


def test_the_system_prompt_describes_the_tools_and_the_form() -> None:
    turn = translate_request(request_for(WEATHER, NOW, messages=[SystemMessage("Be brief."), UserMessage("Hi")]))
    system = turn.request.messages[0]
    assert isinstance(system, SystemMessage)
    assert system.text.startswith("Be brief.\n\n")
    for part in (
        '{"calls":[{"tool":"NAME","arguments":{...}}]}',
        '{"answer":"..."}',
        "- get_weather: Current weather of a city.",
        "  city (string, required): name of the city",
        '  unit (string, optional, one of ["c","f"], default "c")',
        "- now",
    ):
        assert part in system.text
    assert turn.request.messages[1:] == (UserMessage("Hi"),)
    assert turn.request.parameters.tools == ()
    assert turn.request.parameters.tool_choice is None
    assert turn.request.parameters.parallel_tool_calls is None


def test_instructions_follow_the_choice() -> None:
    required = translate_request(request_for(WEATHER, NOW, tool_choice="required", parallel_tool_calls=False))
    single = translate_request(request_for(WEATHER, NOW, tool_choice="now"))
    structured = translate_request(request_for(WEATHER, response_format=ResponseFormat.JSON))
    texts = [str(turn.request.messages[0].text) for turn in (required, single, structured)]
    assert "answer" not in texts[0]
    assert "one call at a time" in texts[0]
    assert 'Call the tool: {"tool":"now","arguments":{...}}' in texts[1]
    assert "get_weather" not in texts[1]
    assert '{"answer":...}' in texts[2]


def test_parameters_that_are_not_simple_are_shown_as_their_schema() -> None:
    nested = _tool("nested", properties={"rows": {"type": "array", "items": {"type": "integer"}}})
    text = str(translate_request(request_for(nested)).request.messages[0].text)
    assert '"rows":{"type":"array","items":{"type":"integer"}}' in text


def test_a_system_message_without_text_gets_a_part_of_its_own() -> None:
    system = SystemMessage([ImageContent(url="http://127.0.0.1/logo.png")])
    turn = translate_request(request_for(NOW, messages=[system]))
    assert turn.request.messages[0].contents[0] == system.contents[0]
    assert "- now" in str(turn.request.messages[0].text)


HISTORY: list[ChatMessage] = [
    UserMessage("Weather and time?"),
    AiMessage(
        [
            ThinkingContent("Two calls."),
            TextContent("A moment."),
            ToolExecutionRequest("call_1", "get_weather", '{ "city" : "杭州" }'),
            ToolExecutionRequest("call_2", "now", "{broken"),
        ],
        provider_state=ProviderState("acme", {"id": 1}),
    ),
    ToolExecutionResultMessage("call_1", "get_weather", '22 degrees\n{"tool":"now"}'),
    ToolExecutionResultMessage("call_2", "now", [TextContent("not JSON"), ImageContent(data="AA==")], is_error=True),
    UserMessage("Well?"),
    AiMessage("It is warm."),
]


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_earlier_calls_and_results_become_words(choice: str) -> None:
    turn = translate_request(request_for(WEATHER, NOW, messages=HISTORY, tool_choice=choice))
    messages = [message for message in turn.request.messages if not isinstance(message, SystemMessage)]
    assert messages == [
        UserMessage("Weather and time?"),
        AiMessage(
            [
                ThinkingContent("Two calls."),
                TextContent(
                    '{"answer":"A moment.","calls":[{"tool":"get_weather","arguments":{"city":"杭州"}},'
                    '{"tool":"now","arguments":"{broken"}]}'
                ),
            ],
            provider_state=ProviderState("acme", {"id": 1}),
        ),
        UserMessage(
            [
                TextContent(
                    "Results of the tool calls:\n"
                    '{"tool":"get_weather","call":"call_1","result":"22 degrees\\n{\\"tool\\":\\"now\\"}"}\n'
                    '{"tool":"now","call":"call_2","is_error":true,"result":"not JSON"}\n'
                ),
                ImageContent(data="AA=="),
                TextContent("Well?"),
            ]
        ),
        AiMessage("It is warm."),
    ]


def test_results_before_other_messages_and_at_the_end_stand_alone() -> None:
    calls = AiMessage([ToolExecutionRequest("call_1", "now", "{}")])
    result = ToolExecutionResultMessage("call_1", "now", "noon")
    for after in (UserMessage("Well?", name="ann"), AiMessage("Noon."), None):
        messages: list[ChatMessage] = [UserMessage("Time?"), calls, result, *([after] if after else [])]
        rewritten = translate_request(request_for(messages=messages)).request.messages
        assert rewritten[2].text == 'Results of the tool calls:\n{"tool":"now","call":"call_1","result":"noon"}\n'
        assert rewritten[3:] == ((after,) if after else ())


def test_a_history_without_calls_is_sent_as_it_is() -> None:
    request = request_for(messages=[UserMessage("Hi"), AiMessage("Hello"), UserMessage("Bye")])
    assert translate_request(request).request == request


def test_choice_none_takes_the_tools_away_and_the_reply_as_it_comes() -> None:
    turn = translate_request(request_for(WEATHER, tool_choice="none", response_format=ResponseFormat.JSON))
    assert not turn.is_translated
    assert turn.request.parameters == ChatRequestParameters(response_format=ResponseFormat.JSON)
    reply = ChatResponse(AiMessage('{"calls":[{"tool":"now","arguments":{}}]}'))
    assert turn.decode(reply) is reply


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (request_for(NOW, tool_choice="nope"), "'nope'"),
        (request_for(NOW, tool_choice=ToolChoice.allowed(["now", "nope"])), "'nope'"),
        (request_for(tool_choice="required"), "offers no tools"),
    ],
)
def test_a_choice_that_cannot_be_kept_is_refused_before_the_request(request_: ChatRequest, says: str) -> None:
    with pytest.raises(InvalidRequestError, match=says):
        translate_request(request_)


# -- the model ---------------------------------------------------------------------------------------------------


async def test_any_model_with_structured_output_calls_tools() -> None:
    inner = ScriptedChatModel(['{"calls":[{"tool":"get_weather","arguments":{"city":"杭州"}}]}', '{"answer":"22."}'])
    model = SchemaToolModel(inner)
    assert isinstance(model, ChatModel)
    assert model.profile.tool_mode == "json_schema"
    first = await model.chat(request_for(WEATHER))
    assert first.ai_message.tool_execution_requests[0].arguments_as_map() == {"city": "杭州"}
    messages: list[ChatMessage] = [
        UserMessage("?"),
        first.ai_message,
        ToolExecutionResultMessage("call_1", "get_weather", "22"),
    ]
    events = [event async for event in model.stream(request_for(WEATHER, messages=messages))]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "22."
    assert isinstance(events[-1], ResponseDone)
    assert events[-1].response.ai_message.text == "22."
    assert all(not request.parameters.tools for request in inner.requests)
    assert json.loads(str(inner.requests[1].messages[2].text)) == {
        "calls": [{"tool": "get_weather", "arguments": {"city": "杭州"}}]
    }
    await model.aclose()
    assert inner.closed
    assert repr(model) == "SchemaToolModel(ScriptedChatModel(2 turns, 2 requests))"


async def test_leaving_a_stream_closes_the_inner_one() -> None:
    closed: list[bool] = []

    class Inner(ScriptedChatModel):
        async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
            try:
                yield TextDelta('{"answer":"a')
                yield TextDelta("b")
            finally:
                closed.append(True)

    stream = SchemaToolModel(Inner([])).stream(request_for(NOW))
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()  # type: ignore[attr-defined]
    assert closed == [True]


def test_a_model_without_structured_output_is_refused() -> None:
    inner = ScriptedChatModel([], profile=ModelProfile(name="old", response_formats=frozenset({"text"})))
    with pytest.raises(ConfigurationError, match="'old' cannot be held to a JSON Schema"):
        SchemaToolModel(inner)
