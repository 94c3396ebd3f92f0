"""`PromptTemplate`: names in braces and nothing else, each value put in as it is and never read again."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agentforge.client import PromptTemplate, ServiceDeclarationError
from agentforge.errors import RunArgumentError
from agentforge.model import ImageContent, UserMessage

# what is written, the names in it, what becomes of it where each value is its name in brackets
MAY: list[tuple[str, tuple[str, ...], str]] = [
    ("", (), ""),
    ("No names.", (), "No names."),
    ("{shop}", ("shop",), "[shop]"),
    ("{a}{b}{a}", ("a", "b"), "[a][b][a]"),
    ("At {shop},\nsays {user_2}.", ("shop", "user_2"), "At [shop],\nsays [user_2]."),
    ("{店名}的{клерк}{_}", ("店名", "клерк", "_"), "[店名]的[клерк][_]"),
    ("{{shop}}", (), "{shop}"),
    ("{{ shop }}", (), "{ shop }"),
    ("{{}}", (), "{}"),
    ("{{{shop}}}", ("shop",), "{[shop]}"),
    ("{{{{shop}}}}", (), "{{shop}}"),
    ('Answer as {{"text": "…", "of": "{shop}"}}.', ("shop",), 'Answer as {"text": "…", "of": "[shop]"}.'),
    ("$shop %(shop)s <shop> [shop] \\n", (), "$shop %(shop)s <shop> [shop] \\n"),
]


@pytest.mark.parametrize(("text", "names", "rendered"), MAY)
def test_what_a_template_may_hold(text: str, names: tuple[str, ...], rendered: str) -> None:
    """Names of any script, in braces; braces doubled; all else as it stands."""
    template = PromptTemplate(text)

    assert (template.names, template.text) == (names, text)
    assert template.render({name: f"[{name}]" for name in names}) == rendered


# what is written, where the fault is, what is said of it
MAY_NOT: list[tuple[str, str, str]] = [
    ("{}", "1:1", "braces without a name"),
    ("{ }", "1:1", "braces without a name"),
    ("{shop.owner}", "1:1", "'{shop.owner}', which is no name"),
    ("{shop[0]}", "1:1", "'{shop[0]}', which is no name"),
    ("{shop!r}", "1:1", "'{shop!r}', which is no name"),
    ("{shop:>10}", "1:1", "'{shop:>10}', which is no name"),
    ("{shop=}", "1:1", "'{shop=}', which is no name"),
    ("{shop()}", "1:1", "'{shop()}', which is no name"),
    ("{1 + 1}", "1:1", "'{1 + 1}', which is no name"),
    ("{0}", "1:1", "'{0}', which is no name"),
    ("{shop-2}", "1:1", "'{shop-2}', which is no name"),
    ("{ shop }", "1:1", "'{ shop }', which is no name"),
    ("{shop\n}", "1:1", "'{shop\\n}', which is no name"),
    ('{"text": "…"}', "1:1", '\'{"text": "…"}\', which is no name'),
    ("a {", "1:3", "a single '{'"),
    ("a } b", "1:3", "a single '}'"),
    ("{shop", "1:1", "a single '{'"),
    ("{{shop}", "1:7", "a single '}'"),
    ("{shop}}", "1:7", "a single '}'"),
    ("{a{shop}}", "1:1", "a single '{'"),
    ("{shop}\n\nand {0}", "3:5", "'{0}', which is no name"),
    ("店\r\n{{x}} {x y}", "2:7", "'{x y}', which is no name"),
    ("{" + "x y" * 100 + "}", "1:1", "'{" + ("x y" * 100)[:59] + "…', which is no name"),
]


@pytest.mark.parametrize(("text", "place", "message"), MAY_NOT)
def test_what_it_may_not_hold(text: str, place: str, message: str) -> None:
    """No attribute, item, format, conversion or code; said with line and column, and what to write instead."""
    with pytest.raises(ServiceDeclarationError) as raised:
        PromptTemplate(text)

    assert (raised.value.message, raised.value.location) == (f"the prompt has {message}", place)
    assert raised.value.next_step == (
        "Write a parameter's name in braces, as in {name}, and {{ or }} for a brace itself."
    )
    assert isinstance(raised.value, TypeError) and raised.value.code == "AF125"


class Size(enum.Enum):
    """An enum whose values are numbers."""

    SMALL = 1


class Colour(enum.StrEnum):
    """An enum whose members are texts."""

    RED = "red"


@dataclass
class Order:
    """A dataclass."""

    item: str
    due: date


class Customer(BaseModel):
    """A model."""

    name: str


VALUES: list[tuple[object, str]] = [
    ("as {it} is\n", "as {it} is\n"),
    ("", ""),
    (None, ""),
    (3, "3"),
    (3.5, "3.5"),
    (float("nan"), "NaN"),
    (True, "true"),
    (Decimal("1.20"), "1.20"),
    (date(2026, 1, 31), "2026-01-31"),
    (Size.SMALL, "1"),
    (Colour.RED, "red"),
    (["a", 1, None], '["a", 1, null]'),
    (("a",), '["a"]'),
    ({"店": {"a": 1}}, '{"店": {"a": 1}}'),
    (Order("pen", date(2026, 1, 31)), '{"item": "pen", "due": "2026-01-31"}'),
    ([Customer(name="Ada")], '[{"name": "Ada"}]'),
]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_what_a_value_becomes(value: object, text: str) -> None:
    """A text stays as it is, nothing is nothing, all else is its JSON."""
    made = PromptTemplate("<{it}>").render({"it": value})

    assert made == f"<{text}>" and type(made) is str


CANNOT: list[tuple[Any, str]] = [
    (object(), "it holds an object of type object, which has no JSON form"),
    ([lambda: 0], "it holds an object of type function, which has no JSON form"),
    (UserMessage("Hello"), "it is of type UserMessage"),
    (ImageContent(url="https://pictures.example/1.png"), "it is of type ImageContent"),
    ([10**5000], "it holds a number with too many digits"),
]


@pytest.mark.parametrize(("value", "reason"), CANNOT)
def test_what_cannot_be_put_into_a_text(value: object, reason: str) -> None:
    """The name of the value is said, and never what it holds."""
    with pytest.raises(RunArgumentError) as raised:
        PromptTemplate("{it}").render({"it": value})

    assert raised.value.message == f"the value of 'it' cannot be put into a text: {reason}"
    assert raised.value.next_step == "Give a text, JSON values, a dataclass or a model."


def test_a_value_that_is_not_given_is_no_empty_text() -> None:
    """And values that no name stands for do no harm."""
    with pytest.raises(KeyError):
        PromptTemplate("{shop}").render({"user": "Ada"})
    assert PromptTemplate("Hi").render({"user": "Ada"}) == "Hi"


def test_it_shows_its_text() -> None:
    """As it was written."""
    assert repr(PromptTemplate("At {shop}.")) == "PromptTemplate('At {shop}.')"


# Names, and texts in which braces are frequent.
names = st.text("abcxyzäöü_店é", min_size=1, max_size=5).filter(str.isidentifier)
texts = st.text(st.one_of(st.sampled_from("{}"), st.characters(codec="utf-8")), max_size=12)


def doubled(text: str) -> str:
    """A text as it is written in a template."""
    return text.replace("{", "{{").replace("}", "}}")


@given(texts)
def test_doubled_braces_are_the_text_itself(text: str) -> None:
    """Whatever it holds, it has no name then."""
    template = PromptTemplate(doubled(text))

    assert template.names == ()
    assert template.render({}) == text


@given(st.lists(st.tuples(texts, names)), texts, st.dictionaries(names, texts))
def test_literal_parts_stay_and_values_stand_between_them(
    parts: list[tuple[str, str]], end: str, values: dict[str, str]
) -> None:
    """Any names, any texts with any braces: a value is quoted, and never read as a template."""
    values = {name: values.get(name, "{" + name + "}") for _, name in parts}
    template = PromptTemplate("".join(f"{doubled(text)}{{{name}}}" for text, name in parts) + doubled(end))

    assert template.names == tuple(dict.fromkeys(name for _, name in parts))
    assert template.render(values) == "".join(text + values[name] for text, name in parts) + end


@given(texts)
def test_a_text_is_a_template_or_refused_with_a_place_in_it(text: str) -> None:
    """No text raises anything else, and the place is where a brace is."""
    try:
        template = PromptTemplate(text)
    except ServiceDeclarationError as error:
        line, column = map(int, str(error.location).split(":"))
        assert text.split("\n")[line - 1][column - 1] in "{}"
    else:
        marks = {name: f"<{at}>" for at, name in enumerate(template.names)}
        made = template.render(marks)
        assert all(mark in made for mark in marks.values())
