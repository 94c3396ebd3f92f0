"""What an answer may be, the schema a model is given for it, and what is read from a model's text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pydantic
import pytest

from agentforge.advisor import OutputType, OutputTypeError
from agentforge.errors import ConfigurationError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 1.0
    tags: list[str] = field(default_factory=list)


class Place(TypedDict):
    city: str
    country: NotRequired[str]


class Node(pydantic.BaseModel):
    name: str
    children: list[Node] = []


class Bounded(pydantic.BaseModel):
    count: Annotated[int, pydantic.Field(ge=1, le=5)]


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
LIST_SCHEMA = {"type": "array", "items": {"$ref": "#/$defs/day"}, "$defs": {"day": {"type": "integer"}}}

# type, text, value
READ: list[tuple[Any, str, object]] = [
    (str, '{"value": "a"}', "a"),
    (str, '"a"', "a"),
    (int, '{"value": 3}', 3),
    (int, "3", 3),
    (int, " 3.0\n", 3),
    (float, '{"value": 3}', 3.0),
    (bool, "true", True),
    (Decimal, '{"value": "0.10"}', Decimal("0.10")),
    (Colour, '{"value": "red"}', Colour.RED),
    (Literal["a", 2], '{"value": 2}', 2),
    (int | None, '{"value": null}', None),
    (Any, "[1]", [1]),
    (list[int], '{"value": [1, 2]}', [1, 2]),
    (list[int], "[1, 2]", [1, 2]),
    (list[int], "```json\n[1, 2]\n```", [1, 2]),
    (list[Point], '[{"x": 1}]', [Point(1)]),
    (dict[str, int], '{"value": 1, "more": 2}', {"value": 1, "more": 2}),
    (Point, '{"x": 1, "y": 2, "tags": ["a"]}', Point(1, 2.0, ["a"])),
    (Point, '{"x": 1, "y": null, "tags": null}', Point(1)),
    (Place, '{"city": "Oslo"}', {"city": "Oslo"}),
    (Node, '{"name": "a", "children": [{"name": "b"}]}', Node(name="a", children=[Node(name="b")])),
    (Point | Node, '{"value": {"name": "a"}}', Node(name="a")),
    (Point | Node, '{"name": "a"}', Node(name="a")),
    (SCHEMA, '{"city": "Oslo", "days": 2.0}', {"city": "Oslo", "days": 2}),
    (SCHEMA, '{"city": "Oslo", "days": null}', {"city": "Oslo"}),
    (LIST_SCHEMA, '{"value": [1]}', [1]),
    (LIST_SCHEMA, "[1]", [1]),
    ({"enum": ["a", "b"]}, '"a"', "a"),
    ({"type": "object", "required": ["a"], "additionalProperties": True}, '{"a": 1, "b": 2}', {"a": 1, "b": 2}),
    # found among words and fences
    (Point, 'Here it is: {"x": 1}. Anything else?', Point(1)),
    (Point, 'Say {x}: {"x": 1}', Point(1)),
    (Point, 'First\n```json\n{"x": 1}\n```\nand that is all.', Point(1)),
    (Point, '{"x": 1}\n\nThat is {"x": 1}.', Point(1)),
    (Point, 'So: {"x": 1, "tags": ["}", "\\"{"]}', Point(1, tags=["}", '"{'])),
    (Point, '{"x": 1,}', Point(1)),
    (Point, '\ufeff{"x": 1}', Point(1)),
]

# type, text, what is said of it
REFUSED: list[tuple[Any, str | None, str]] = [
    (Point, None, "it has no text"),
    (Point, " \n", "it has no text"),
    (Point, "```json\n```", "not valid JSON"),
    (Point, "It is sunny.", "it is not JSON"),
    (Point, '{"x": 1', "not valid JSON"),
    (Point, "[1]", "a JSON object was expected, a list of 1 came"),
    (Point, '{"x": "1"}', "x: input should be a valid integer; the text '1' came"),
    (Point, '{"x": true}', "x: input should be a valid integer; true came"),
    (Point, "{}", "x: is required and was not given"),
    (Point, '{"x": 1, "z": 2}', "z: is not a known field"),
    (Point, '{"x": 1, "x": 2}', "the key 'x' is given more than once"),
    (Point, '{"x": 1, "y": NaN}', "NaN is not a JSON number"),
    (Point, '{"x": 1} or {"x": 2}', "it holds 2 different JSON values"),
    (Point, '{"x": 1} or {"x": true}', "it holds 2 different JSON values"),
    (Point, '{"x": ' + "[" * 100 + "]" * 100 + "}", "it is nested deeper than 64 levels"),
    (int, '"3"', "value: an integer was expected, the text '3' came"),
    (int, "3, 4", "it is not JSON"),
    (int, '3, "more": 4', "it is not JSON"),
    (int, '{"value": 1, "more": 2}', "value: an integer was expected, an object came"),
    (bool, "1", "value: true or false was expected, the number 1 came"),
    (float, str(2**53 + 1), "a number that a float can hold exactly was expected"),
    (Colour, '"green"', "value: one of 'red', 'blue' was expected, the text 'green' came"),
    (list[int], '[1, "a"]', "value.1: an integer was expected, the text 'a' came"),
    (Bounded, '{"count": 6}', "count: input should be less than or equal to 5; the number 6 came"),
    (Node, '{"name": "a", "children": [{}]}', "children.0.name: is required and was not given"),
    (SCHEMA, '{"city": 1}', "city: a text was expected, the number 1 came"),
    (SCHEMA, '{"town": "Oslo"}', "town: is not a known field"),
    (LIST_SCHEMA, '["a"]', "value.0: an integer was expected, the text 'a' came"),
]

UNUSABLE: list[tuple[Any, str]] = [
    (threading.Thread, "has type Thread, which has no JSON form"),
    (Callable[[], int], "which has no JSON form"),
    ("Point", "the text 'Point' is no type"),
    ({"type": "nonsense"}, "the schema is not a JSON Schema that can be checked"),
    ({"type": "object", "properties": {"a": {"$ref": "http://localhost/a"}}}, "not inside the schema"),
    ({"$ref": "#"}, "it refers to itself"),
    ({"type": "object", "required": ["a"]}, "it requires 'a', which is not among its properties"),
]


@pytest.mark.parametrize(("of", "text", "value"), READ)
def test_a_text_that_stands_for_one_value_is_read(of: Any, text: str, value: object) -> None:
    made = OutputType(of).parse(text)

    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(("of", "text", "words"), REFUSED)
def test_anything_else_is_refused_with_words_for_a_model(of: Any, text: str | None, words: str) -> None:
    with pytest.raises(OutputTypeError) as raised:
        OutputType(of).parse(text)

    assert words in str(raised.value)
    assert "tool" not in str(raised.value)


@pytest.mark.parametrize(("of", "words"), UNUSABLE)
def test_what_cannot_be_an_answer_is_refused_when_it_is_declared(of: Any, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        OutputType(of)

    assert words in raised.value.message


@pytest.mark.parametrize(
    ("of", "wrapped", "strict", "name"),
    [
        (int, True, True, "answer"),
        (list[Point], True, True, "answer"),
        (Point | Node, True, True, "answer"),
        (Any, True, False, "Any"),
        (Colour, True, True, "Colour"),
        (Point, False, True, "Point"),
        (Place, False, True, "Place"),
        (Node, False, True, "Node"),
        (dict[str, int], False, False, "answer"),
        (SCHEMA, False, True, "answer"),
        ({"title": "Trip plan", **SCHEMA}, False, True, "Trip_plan"),
        (LIST_SCHEMA, True, True, "answer"),
    ],
)
def test_the_root_of_a_schema_is_an_object(of: Any, wrapped: bool, strict: bool, name: str) -> None:
    """What is none stands under one key; whether strict modes take it is known."""
    output: OutputType[Any] = OutputType(of)

    assert (output.wrapped, output.is_strict, output.name) == (wrapped, strict, name)
    assert output.schema["type"] == "object"
    if wrapped:
        assert list(output.schema["properties"]) == ["value"]


def test_a_schema_holds_the_definitions_that_it_uses() -> None:
    @dataclass
    class Pair:
        first: Point
        second: Point

    assert OutputType(Pair).schema == {
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/Point"}, "second": {"$ref": "#/$defs/Point"}},
        "required": ["first", "second"],
        "additionalProperties": False,
        "$defs": {"Point": OutputType(Point).schema},
    }
    assert "$defs" in OutputType(Node).schema
    assert "$defs" not in OutputType(Point).schema


def test_the_mapping_of_a_schema_is_not_changed() -> None:
    given = {"type": "array", "items": {"type": "integer"}, "$defs": {}}
    OutputType(given)

    assert given == {"type": "array", "items": {"type": "integer"}, "$defs": {}}


@pytest.mark.parametrize("name", ["", "two words", "x" * 65])
def test_a_name_is_one_that_a_wire_takes(name: str) -> None:
    with pytest.raises(ConfigurationError, match="letters, digits"):
        OutputType(int, name=name)


def test_values_are_shown_in_short_and_many_problems_are_counted() -> None:
    """A model's text may be long, and what it repeats may be anything."""
    with pytest.raises(OutputTypeError) as raised:
        OutputType(list[int]).parse("[" + ", ".join(['"' + "s" * 500 + '"'] * 50) + "]")

    assert len(raised.value.problems) == 50
    assert "s" * 50 not in str(raised.value)
    assert str(raised.value).endswith("; and 30 more")


def test_reading_a_hostile_text_takes_no_more_than_its_length() -> None:
    """Open braces, quotes and fences without an end, of the most that is read and more."""
    for piece in ("{", '{"', '"\\"', "```\n", "```a\n{", "[", "}{"):
        with pytest.raises(OutputTypeError):
            OutputType(Point).parse(piece * 60_000)
