"""What a component's constructor takes: beans by the types of its parameters, plain values as the file gives them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from agentforge.model import ChatModel
from agentforge.plugin import ComponentError, Components, Need
from agentforge.tool import ToolSource


class Everything:
    """One parameter of each kind."""

    def __init__(
        self,
        model: ChatModel,
        sources: list[ToolSource],
        more: Sequence[ToolSource],
        spare: ChatModel | None,
        other: Annotated[ChatModel, "a note"],
        city: str,
        folder: Path,
        names: list[str],
        anything: Any,
        unnoted,  # type: ignore[no-untyped-def]
        *rest: object,
        timeout: float = 10.0,
        later: ToolSource | None = None,
        **further: object,
    ) -> None:
        self.given = (model, city, timeout, later)


@dataclass
class Plain:
    """Values alone."""

    city: str
    days: int = 3
    tags: tuple[str, ...] = ()


class Nothing:
    """No constructor of its own."""


class Unreadable:
    """A hint that nobody can read."""

    def __init__(self, model: NoSuchName) -> None:  # type: ignore[name-defined]  # noqa: F821
        self.model = model


class ByPosition:
    """A parameter that has no name for a caller."""

    def __init__(self, model: ChatModel, /) -> None:
        self.model = model


class Odd:
    """A value of a type that only its maker can check."""

    def __init__(self, model: ChatModel, shape: Any = None) -> None:
        self.given = (model, shape)


def a_function(city: str) -> str:
    """A tool by itself."""
    return city


NEEDS = {
    "model": (ChatModel, False, True),
    "sources": (ToolSource, True, True),
    "more": (ToolSource, True, True),
    "spare": (ChatModel, False, False),
    "other": (ChatModel, False, True),
    "city": (None, False, True),
    "folder": (None, False, True),
    "names": (None, False, True),
    "anything": (None, False, True),
    "unnoted": (None, False, True),
    "timeout": (None, False, False),
    "later": (ToolSource, False, False),
}


@pytest.fixture
def components() -> Iterator[Components]:
    """This module's own classes, under a name that `scan` could have."""
    module = sys.modules[__name__]
    made = Components(["fake_constructors"], Path("nowhere"))
    kinds = (Everything, Plain, Nothing, Unreadable, ByPosition, Odd, a_function)
    homes = [kind.__module__ for kind in kinds]
    for kind in kinds:
        kind.__module__ = "fake_constructors"
    sys.modules["fake_constructors"] = module
    yield made
    del sys.modules["fake_constructors"]
    for kind, home in zip(kinds, homes, strict=True):
        kind.__module__ = home


def test_needs_are_read_from_the_type_hints(components: Components) -> None:
    """A class of somebody's is a bean, what the language has is a value; `*args` and `**kwargs` are nothing."""
    found = components.needs("Everything")

    assert found == {name: Need(name, *values) for name, values in NEEDS.items()}
    assert components.needs("Nothing") == {} and components.needs("a_function") == {}


@pytest.mark.parametrize("name", ["Unreadable", "ByPosition"])
def test_a_constructor_that_cannot_be_filled_is_an_error(components: Components, name: str) -> None:
    """Found before anything is built."""
    with pytest.raises(ComponentError, match=name):
        components.needs(name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"city": "Hangzhou"}, Plain("Hangzhou")),
        ({"city": "Hangzhou", "days": 5}, Plain("Hangzhou", 5)),
        ({"city": "Hangzhou", "days": "5"}, Plain("Hangzhou", 5)),
        ({"city": "Hangzhou", "tags": ["a", "b"]}, Plain("Hangzhou", 3, ("a", "b"))),
    ],
)
def test_plain_values_are_read_as_their_types(
    components: Components, values: dict[str, object], expected: Plain
) -> None:
    """Text of a placeholder becomes the number that the parameter wants."""
    assert components.make("Plain", {}, values) == expected


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("Plain", {}, "the constructor of 'Plain' needs 'city'"),
        ("Plain", {"city": 3}, "the argument 'city' of 'Plain' does not fit"),
        ("Plain", {"city": "x", "days": "many"}, "the argument 'days' of 'Plain' does not fit"),
        ("Plain", {"town": "x"}, "has no parameter 'town'"),
        ("Nothing", {"town": "x"}, "has no parameter 'town'"),
        ("a_function", {"city": "x"}, "takes no constructor arguments"),
    ],
)
def test_values_that_do_not_fit_are_refused(
    components: Components, name: str, values: dict[str, object], message: str
) -> None:
    """With the class, the parameter and what to do; the value itself is not repeated."""
    with pytest.raises(ComponentError) as caught:
        components.make(name, {}, values)

    assert message in caught.value.message and caught.value.next_step


def test_a_value_for_a_parameter_of_any_type_is_taken_as_it_is(components: Components) -> None:
    """There is nothing to check it against."""
    assert components.make("Odd", {"model": 1}, {"shape": {"a": [1]}}).given == (1, {"a": [1]})


def test_beans_are_handed_over_as_they_are(components: Components) -> None:
    """An object of the class, made of beans and values; a function is the component itself."""
    model = object()
    made = components.make(
        "Everything",
        {"model": model, "sources": [], "more": [], "spare": None, "other": model, "anything": 1, "unnoted": 2},
        {"city": "Hangzhou", "folder": "data", "names": ["a"], "timeout": "2.5"},
    )

    assert made.given == (model, "Hangzhou", 2.5, None)
    assert components.make("a_function", {}) is a_function
