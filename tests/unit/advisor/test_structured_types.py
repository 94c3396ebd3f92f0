"""A value of any type comes back, whichever way the model is asked for it."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from typing import Any, Literal, cast

import pydantic
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.advisor import (
    OutputType,
    StructuredMode,
    StructuredOutputAdvisor,
)
from agentforge.model import (
    Event,
)
from tests.unit.advisor.guarding import hold, text_of
from tests.unit.advisor.structuring import (
    QUESTION,
    said,
)

Typed = tuple[Any, st.SearchStrategy[Any]]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS: list[Typed] = [
    (str, TEXTS),
    (int, st.integers(-(2**70), 2**70)),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (Literal["a", "b", 3], st.sampled_from(["a", "b", 3])),
    (enum.Enum("Size", {"SMALL": "s", "LARGE": "l"}), st.none()),
]
SCALARS[-1] = (SCALARS[-1][0], st.sampled_from(list(SCALARS[-1][0])))


def _more(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    lists, mappings = cast("Any", list), cast("Any", dict)
    return st.one_of(
        inner.map(lambda each: (lists[each[0]], st.lists(each[1], max_size=3))),
        inner.map(lambda each: (mappings[str, each[0]], st.dictionaries(TEXTS, each[1], max_size=3))),
        inner.map(lambda each: (each[0] | None, st.none() | each[1])),
        st.lists(inner, min_size=1, max_size=3).map(_dataclass),
        st.lists(inner, min_size=1, max_size=3).map(_model),
        st.tuples(inner, inner).map(_either),
    )


def _dataclass(fields: list[Typed]) -> Typed:
    made = dataclasses.make_dataclass("Made", [(f"field_{at}", each[0]) for at, each in enumerate(fields)])
    return made, st.builds(made, *(each[1] for each in fields))


def _model(fields: list[Typed]) -> Typed:
    named = {f"field_{at}": each for at, each in enumerate(fields)}
    fields_of: dict[str, Any] = {name: (each[0], ...) for name, each in named.items()}
    made: Any = pydantic.create_model("Model", **fields_of)
    return made, st.builds(made, **{name: each[1] for name, each in named.items()})


def _either(arms: tuple[Typed, Typed]) -> Typed:
    """A union of two objects that are told apart by their fields."""
    first, second = (
        dataclasses.make_dataclass(name, [(name.lower(), each[0])])
        for name, each in zip(("Left", "Right"), arms, strict=True)
    )
    return first | second, st.builds(first, arms[0][1]) | st.builds(second, arms[1][1])


TYPES: st.SearchStrategy[Typed] = st.recursive(st.sampled_from(SCALARS), _more, max_leaves=5)


@settings(deadline=None)
@given(st.data())
def test_a_value_of_any_type_comes_back_in_every_mode(data: st.DataObject) -> None:
    """As the model's own JSON, as the arguments of a call, and among words: the same value of the same type."""
    kind, values = data.draw(TYPES)
    value = data.draw(values)
    output: OutputType[Any] = OutputType(kind)
    text = pydantic.TypeAdapter(kind).dump_json(value).decode()
    text = f'{{"value":{text}}}' if output.wrapped else text

    modes: tuple[StructuredMode, ...] = ("native", "tool", "prompt")
    for mode in modes:
        advisor: StructuredOutputAdvisor[Any] = StructuredOutputAdvisor(output, mode, max_reprompts=0)
        for streamed in (False, True):
            events: list[Event] | None = [] if streamed else None
            advised = asyncio.run(hold([advisor], [said(mode, text)], request=QUESTION, events=events))
            made = output.parse(text_of(advised))
            assert made == value
            assert type(made) is type(value)
