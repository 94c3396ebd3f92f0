"""What the model reads and may write for each kind of request, without an engine."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import ContextLengthError, InvalidRequestError, ModelError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ImageContent,
    SystemMessage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge_local.generation import Generation, error_of
from agentforge_local.grammar import answer_grammar, arguments_grammar
from agentforge_local.prompts import facts_of
from agentforge_local.turn import LocalTurn, Prompts, prepare_turn

WEATHER = ToolSpecification(
    "get_weather",
    "current weather of a city",
    ToolParameters.builder().add_property("city", "string", "name of the city", required=True).build(),
)
ORDER = ToolSpecification("order_status", "status of an order", ToolParameters.empty())
CALLED: tuple[ChatMessage, ...] = (
    UserMessage("Weather in Oslo?"),
    AiMessage([ToolExecutionRequest("c1", "get_weather", '{"city": "Oslo"}')]),
    ToolExecutionResultMessage("c1", "get_weather", '{"temperature": 3, "sky": "snow"}'),
)


def prepared(
    messages: str | list[ChatMessage], *, prompts: Prompts = "short", limit: int = 256, **parameters: object
) -> LocalTurn:
    request = ChatRequest(messages, ChatRequestParameters(**parameters))  # type: ignore[arg-type]
    return prepare_turn(request, prompts=prompts, max_output_tokens=limit)


def codes(turn: LocalTurn) -> list[str]:
    return [notice.code for notice in turn.notices]


def test_a_forced_single_tool_is_asked_for_its_arguments_only() -> None:
    turn = prepared("Weather in Oslo?", tools=(WEATHER,), tool_choice="required")
    assert turn.prefix == '{"tool": "get_weather", "arguments": ' == turn.messages[-1]["content"]
    assert turn.grammar is not None and '"\\"city\\": "' in turn.grammar
    assert turn.messages[-2]["content"].endswith("Weather in Oslo?")
    assert turn.reading.forces_a_call and codes(turn) == []


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_among_several_tools_the_words_of_the_question_choose_and_a_notice_says_so(choice: str) -> None:
    turn = prepared("What is the weather like?", tools=(ORDER, WEATHER), tool_choice=choice)
    assert "get_weather" in turn.prefix and codes(turn) == ["tool_selected"]


def test_a_named_tool_is_called_whatever_the_words() -> None:
    turn = prepared("What is the weather like?", tools=(ORDER, WEATHER), tool_choice="order_status")
    assert "order_status" in turn.prefix and turn.grammar is not None and '"{" "}}"' in turn.grammar


def test_two_tools_that_fit_equally_well_are_no_choice() -> None:
    turn = prepared("Order some weather!", tools=(ORDER, WEATHER))
    assert turn.grammar is None and codes(turn) == ["tools_withheld"]


def test_where_no_tool_fits_the_model_answers_in_words_and_a_notice_says_so() -> None:
    turn = prepared("Hello!", tools=(ORDER, WEATHER))
    assert turn.grammar is None and codes(turn) == ["tools_withheld"]
    assert turn.messages == ({"role": "user", "content": "Hello!"},)


def test_a_forced_call_that_fits_no_tool_leaves_the_choice_to_the_model() -> None:
    turn = prepared("Hello!", tools=(ORDER, WEATHER), tool_choice="required")
    assert turn.grammar is not None and "anyOf" in turn.grammar and turn.reading.forces_a_call


def test_after_a_result_the_answer_quotes_it() -> None:
    turn = prepared([*CALLED], tools=(WEATHER,))
    assert turn.grammar is not None and '": temperature 3, sky snow."' in turn.grammar
    assert codes(turn) == ["tools_withheld"] and not turn.reading.is_translated


def test_a_call_that_is_forbidden_is_not_made() -> None:
    turn = prepared("Weather in Oslo?", tools=(WEATHER,), tool_choice="none")
    assert turn.grammar is None and turn.prefix == "" and codes(turn) == []


def test_after_a_result_a_further_call_is_made_only_where_it_is_forced() -> None:
    turn = prepared([*CALLED], tools=(WEATHER,), tool_choice="required")
    assert "get_weather" in turn.prefix and turn.reading.forces_a_call


@pytest.mark.parametrize("result", ["22 degrees,\n  clear.", "22 degrees, clear。", '["22 degrees", "clear"]'])
def test_a_result_is_quoted_as_one_line_without_a_full_stop_of_its_own(result: str) -> None:
    turn = prepared([*CALLED[:2], ToolExecutionResultMessage("c1", "get_weather", result)])
    assert turn.grammar is not None and '": 22 degrees, clear."' in turn.grammar


def test_a_result_too_long_to_quote_is_answered_freely() -> None:
    turn = prepared([*CALLED], limit=100)
    assert turn.grammar is None and "temperature 3, sky snow" in turn.messages[-1]["content"]


def test_a_structured_answer_is_held_to_its_schema_even_after_a_result() -> None:
    from agentforge.model import ResponseFormat

    wanted = ResponseFormat.json_schema({"type": "object", "required": ["sky"]})
    turn = prepared([*CALLED], tools=(WEATHER,), response_format=wanted)
    assert turn.schema == wanted.schema and turn.grammar is not None and '"required": ["sky"]' in turn.grammar


def test_full_prompts_are_the_tools_over_a_schema_of_the_core() -> None:
    turn = prepared([SystemMessage("Be brief."), UserMessage("Hi")], prompts="full", tools=(WEATHER, ORDER))
    assert turn.messages[0]["content"].startswith("Be brief.") and "- order_status" in turn.messages[0]["content"]
    assert turn.grammar is not None and turn.prefix == "" and turn.notices == ()
    assert turn.schema is None, "a mistake in a call is the model's to mend, not an error of the request"


def test_a_tool_that_is_not_offered_cannot_be_chosen() -> None:
    with pytest.raises(InvalidRequestError, match="'nothing'"):
        prepared("Hi", tools=(WEATHER,), tool_choice="nothing")


@pytest.mark.parametrize("prompts", ["short", "full"])
def test_contents_that_are_no_text_are_refused(prompts: Prompts) -> None:
    with pytest.raises(UnsupportedFeatureError, match="ImageContent"):
        prepared([UserMessage([ImageContent(url="http://127.0.0.1/a.png")])], prompts=prompts)


# -- arguments -----------------------------------------------------------------------------------


def arguments(question: str, **properties: object) -> str:
    return arguments_grammar({"properties": properties, "required": list(properties)}, question)


@pytest.mark.parametrize(
    ("schema", "question", "held"),
    [
        ({"type": "string", "enum": ["USD", "EUR"]}, "100 USD please", '("\\"USD\\"")'),
        ({"type": "string", "enum": ["USD", "EUR"]}, "dollars", '("\\"USD\\"" | "\\"EUR\\"")'),
        ({"type": "string", "enum": ["US", "EU"]}, "USD to EU", '("\\"EU\\"")'),
        ({"type": "number"}, "from 1,250.5 to A-1077", '("1250.5")'),
        ({"type": "integer"}, "2.5 or 7", '("7")'),
        ({"type": "integer"}, "agent 007 or 12", '("12")'),
        ({"type": "integer"}, "none at all", "value_2"),
        ({"type": "integer", "minimum": 3}, "7", "value_2"),
        ({"type": "string"}, "Paris?", '"\\"" TEXT "\\""'),
        ({"type": "string", "pattern": "^A"}, "Paris?", "value_2"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
def test_values_come_from_the_question_where_the_schema_leaves_them_open(
    schema: dict[str, object], question: str, held: str
) -> None:
    start = arguments(question, x=schema).splitlines()[1]
    assert start == f'start: "{{" "\\"x\\": " {held} "}}}}"'


def test_an_optional_argument_is_given_only_when_the_question_names_one_of_its_choices() -> None:
    schema = {"properties": {"unit": {"enum": ["celsius", "kelvin"]}, "days": {"type": "integer"}}}
    assert "unit" not in arguments_grammar(schema, "for 3 days")
    assert "kelvin" in arguments_grammar(schema, "in kelvin, for 3 days") and "days" not in arguments_grammar(
        schema, "3"
    )


@given(st.text(max_size=60))
def test_whatever_the_question_the_grammar_has_one_rule_a_line_and_quotes_nothing_unescaped(question: str) -> None:
    """A line break or quote of the question must never end a rule and begin another."""
    for grammar in (arguments(question, x={"type": "string"}), answer_grammar(question, facts_of(question) or "x")):
        for line in grammar.split("\n")[1:]:
            assert re.match(r"[A-Za-z_0-9]+: \S", line)
            if "%regex" in line:
                json.loads(line.split("%regex ", 1)[1])


# -- what the engine says ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}, ContextLengthError),
        ({"code": 400, "type": "invalid_request_error", "message": "bad"}, InvalidRequestError),
        ({"code": 500, "message": "broken"}, ModelError),
        ({}, ModelError),
    ],
)
def test_errors_of_the_engine_become_ours(error: dict[str, object], kind: type[ModelError]) -> None:
    assert type(error_of(error)) is kind
    with pytest.raises(kind):
        Generation().feed({"error": error} if error else {})
