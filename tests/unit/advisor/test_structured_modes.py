"""How a model is asked for an answer in a form: by its own structured output, by a tool, or in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge import ChatClient, ScriptedChatModel
from agentforge.advisor import (
    OutputType,
    StructuredMode,
    StructuredOutputAdvisor,
)
from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    ChatRequest,
    ChatRequestParameters,
    Event,
    ModelProfile,
    ResponseFormat,
    SystemMessage,
    ToolChoice,
    ToolSpecification,
)
from agentforge.model.schema_calling import SchemaToolModel
from agentforge.model.scripted import call
from agentforge.tool.spec import tool_specification_from
from tests.unit.advisor.guarding import hold, shown, text_of
from tests.unit.advisor.structuring import (
    FINAL,
    GOOD,
    QUESTION,
    Weather,
    get_degrees,
    profile,
    said,
)

# -- how the model is asked ------------------------------------------------------------------------

ALL = frozenset({"text", "json", "json_schema"})
CHOSEN = [
    (profile(), "native"),
    (profile(response_formats=frozenset({"text", "json"})), "tool"),
    (profile(response_formats=frozenset({"text"}), tool_mode="none"), "prompt"),
    (profile(response_formats=ALL, tool_mode="none"), "native"),
]


@pytest.mark.parametrize(("able", "mode"), CHOSEN)
async def test_auto_takes_the_first_that_the_model_has(able: ModelProfile, mode: str) -> None:
    model = ScriptedChatModel([said(mode, GOOD)], profile=able)
    advised = await hold([StructuredOutputAdvisor(Weather)], model, request=QUESTION)

    parameters = model.requests[0].parameters
    has_form = parameters.response_format is not None and parameters.response_format.type == "json_schema"
    found = "native" if has_form else "tool" if parameters.tools else "prompt"
    assert (found, text_of(advised)) == (mode, GOOD)


@pytest.mark.parametrize(
    ("mode", "tools", "choice", "found"),
    [
        ("auto", (), None, "native"),
        ("auto", ("get_degrees",), ToolChoice.NONE, "native"),
        ("auto", ("get_degrees",), None, "tool"),
        ("auto", ("get_degrees",), ToolChoice.AUTO, "tool"),
        ("native", ("get_degrees",), None, "native"),
    ],
)
async def test_auto_keeps_to_a_tool_where_the_form_would_keep_the_model_from_calling_others(
    mode: StructuredMode, tools: tuple[str, ...], choice: ToolChoice | None, found: str
) -> None:
    """A user's own choice of the mode stands, and the model may refuse it."""
    able = profile(response_format_with_tools=False, tool_choice=frozenset({"auto", "none"}))
    model = ScriptedChatModel([said(found, GOOD)], profile=able)
    parameters = ChatRequestParameters(tools=[ToolSpecification(name) for name in tools], tool_choice=choice)
    request = ChatRequest(QUESTION.messages, parameters)
    advised = await hold([StructuredOutputAdvisor(Weather, mode)], model, request=request)

    sent = model.requests[0].parameters
    assert (sent.response_format is not None) is (found == "native")
    assert [tool.name for tool in sent.tools] == [*tools, *([FINAL] if found == "tool" else [])]
    assert text_of(advised) == GOOD


async def test_native_sends_the_schema_under_the_name_of_the_type() -> None:
    model = ScriptedChatModel([GOOD])
    await hold([StructuredOutputAdvisor(Weather)], model, request=QUESTION)

    schema = OutputType(Weather).schema
    assert model.requests[0].parameters.response_format == ResponseFormat.json_schema(schema, name="Weather")
    assert model.requests[0].messages == QUESTION.messages


async def test_a_schema_that_no_strict_mode_takes_is_sent_without_strict() -> None:
    model = ScriptedChatModel(['{"Oslo": 4}'])
    await hold([StructuredOutputAdvisor(dict[str, int])], model, request=QUESTION)

    form = model.requests[0].parameters.response_format
    assert form is not None
    assert form.strict is None


async def test_prompt_puts_the_schema_behind_the_system_message() -> None:
    request = ChatRequest((SystemMessage("Be short."), *QUESTION.messages))
    model = ScriptedChatModel([GOOD])
    await hold([StructuredOutputAdvisor(Weather, "prompt")], model, request=request)

    first, second = model.requests[0].messages
    assert isinstance(first, SystemMessage)
    assert first.text.startswith("Be short.\n\n")
    assert json.loads(first.text.rpartition("\n")[2]) == OutputType(Weather).schema
    assert second == QUESTION.messages[0]
    assert model.requests[0].parameters.response_format == ResponseFormat.JSON


# tools of the request, its choice, what the profile knows; the tools that are sent, and the choice
REQUIRED, NONE, AUTO = ToolChoice.REQUIRED, ToolChoice.NONE, ToolChoice.AUTO
EVERY = frozenset({"auto", "none", "required", "tool", "allowed"})
CHOICES: list[tuple[bool, ToolChoice | None, frozenset[str], list[str], ToolChoice | None]] = [
    (False, None, EVERY, [FINAL], ToolChoice.tool(FINAL)),
    (False, None, frozenset({"auto", "required"}), [FINAL], REQUIRED),
    (False, None, frozenset({"auto"}), [FINAL], None),
    (True, None, EVERY, ["get_degrees", FINAL], REQUIRED),
    (True, AUTO, EVERY, ["get_degrees", FINAL], REQUIRED),
    (True, None, frozenset({"auto"}), ["get_degrees", FINAL], None),
    (True, NONE, EVERY, ["get_degrees", FINAL], ToolChoice.tool(FINAL)),
    (True, NONE, frozenset({"auto", "required"}), [FINAL], REQUIRED),
    (True, ToolChoice.allowed([]), EVERY, ["get_degrees", FINAL], ToolChoice.allowed([FINAL], required=True)),
]


@pytest.mark.parametrize(("with_tools", "choice", "known", "sent", "made"), CHOICES)
async def test_the_tool_that_answers_must_be_called_where_the_model_can_be_made_to(
    with_tools: bool, choice: ToolChoice | None, known: frozenset[str], sent: list[str], made: ToolChoice | None
) -> None:
    """Where it cannot, the system message says so; a text is then taken too."""
    model = ScriptedChatModel([call(FINAL, GOOD)], profile=profile(tool_choice=known))
    tools = [tool_specification_from(get_degrees)] if with_tools else []
    request = ChatRequest(QUESTION.messages, ChatRequestParameters(tools=tools, tool_choice=choice))
    advised = await hold([StructuredOutputAdvisor(Weather, "tool")], model, request=request)

    parameters = model.requests[0].parameters
    assert [each.name for each in parameters.tools] == sent
    assert parameters.tool_choice == made
    assert isinstance(model.requests[0].messages[0], SystemMessage) is (made is None)
    assert text_of(advised) == GOOD


async def test_a_round_that_must_call_a_tool_of_the_callers_is_left_alone() -> None:
    """`tool_choice` holds for the first round; the answer is asked for in the second."""
    model = ScriptedChatModel([call("get_degrees", city="Oslo"), call(FINAL, GOOD)])
    client = ChatClient(
        model, tools=[get_degrees], tool_choice="get_degrees", advisors=[StructuredOutputAdvisor(Weather, "tool")]
    )
    reply = await client.prompt("How warm?").call()

    assert reply.content == GOOD
    assert [[each.name for each in request.parameters.tools] for request in model.requests] == [
        ["get_degrees"],
        ["get_degrees", FINAL],
    ]


async def test_the_tool_that_answers_has_a_name_of_its_own() -> None:
    def final_answer(city: str) -> str:
        "Not the one."
        return city

    model = ScriptedChatModel([call(FINAL, city="Oslo"), call("final_answer_2", GOOD)])
    client = ChatClient(model, tools=[final_answer], advisors=[StructuredOutputAdvisor(Weather, "tool")])

    assert (await client.prompt("How warm?").call()).content == GOOD


async def test_a_text_is_an_answer_for_a_model_that_does_not_call() -> None:
    events: list[Event] = []
    advised = await hold([StructuredOutputAdvisor(Weather, "tool")], [GOOD], request=QUESTION, events=events)

    assert text_of(advised) == shown(events) == GOOD


async def test_a_tool_over_a_schema_answers_too() -> None:
    """A model without tool calling of its own."""
    model = SchemaToolModel(ScriptedChatModel([f'{{"tool": "{FINAL}", "arguments": {GOOD}}}']))
    advised = await hold([StructuredOutputAdvisor(Weather, "tool")], model, request=QUESTION)

    assert text_of(advised) == GOOD


@pytest.mark.parametrize(
    ("mode", "able", "words"),
    [
        ("native", profile(response_formats=frozenset({"text"})), "model 'small' has no structured output"),
        ("tool", profile(tool_mode="none"), "model 'small' has no tool calling"),
    ],
)
async def test_a_mode_that_the_model_has_not_is_refused_before_it_is_asked(
    mode: Any, able: ModelProfile, words: str
) -> None:
    model = ScriptedChatModel([GOOD], profile=able)
    with pytest.raises(UnsupportedFeatureError, match=words):
        await hold([StructuredOutputAdvisor(Weather, mode)], model, request=QUESTION)
    assert model.requests == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": "often"}, "mode is one of 'auto', 'native', 'tool', 'prompt', not 'often'"),
        ({"max_reprompts": -1}, "max_reprompts must be at least 0, not -1"),
        ({"max_reprompts": True}, "max_reprompts must be at least 0, not True"),
    ],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        StructuredOutputAdvisor(Weather, **given)
    assert raised.value.message == words
