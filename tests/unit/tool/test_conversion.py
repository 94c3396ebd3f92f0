"""What a tool returned, as what the model reads: text, parts or JSON, and never the repr of an object."""

from __future__ import annotations

import enum
import json
import math
from collections import OrderedDict, UserDict, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agentforge.errors import ToolExecutionError
from agentforge.model.content import ImageContent, TextContent
from agentforge.tool.execution.conversion import MAX_ITEMS, to_json_value, to_result
from agentforge.tool.execution.result import ToolExecutionResult

# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


@dataclass
class Forecast:
    city: str
    days: list[date] = field(default_factory=list)


class Order(BaseModel):
    number: str
    total: Decimal
    at: datetime | None = None


class Sized:
    """Like an array: it can list itself."""

    def tolist(self) -> list[int]:
        return [1, 2]


IMAGE = ImageContent(data="AAAA")
TEXTS: dict[str, tuple[Any, str]] = {
    "text as it is": ("22 degrees", "22 degrees"),
    "empty text": ("", ""),
    "text that looks like JSON": ('{"a": 1}', '{"a": 1}'),
    "nothing": (None, "Success"),
    "a number": (5, "5"),
    "true": (True, "true"),
    "a float": (1.0, "1.0"),
    "an object": ({"city": "杭州", "n": [1, None]}, '{"city":"杭州","n":[1,null]}'),
    "an empty list": ([], "[]"),
    "a tuple": ((1, "a"), '[1,"a"]'),
    "a named tuple": (Point(1, 2), "[1,2]"),
    "an enum by value": (Color.RED, '"red"'),
    "an enum of integers": (Level.LOW, "1"),
    "an enum of texts": ([Word.YES], '["yes"]'),
    "a date": (date(2026, 10, 2), '"2026-10-02"'),
    "a time": ([time(8, 30)], '["08:30:00"]'),
    "a moment": (datetime(2026, 10, 2, tzinfo=UTC), '"2026-10-02T00:00:00+00:00"'),
    "a duration": ([timedelta(hours=1), timedelta(seconds=-1.5)], '["PT3600S","-PT1.5S"]'),
    "a UUID": (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    "a decimal": ({"total": Decimal("0.10")}, '{"total":"0.10"}'),
    "a path": (PurePosixPath("a/b"), '"a/b"'),
    "bytes": (b"\x00\xff", '"AP8="'),
    "a set, sorted": ({"b", "c", "a"}, '["a","b","c"]'),
    "a deque": (deque([1]), "[1]"),
    "a mapping": (UserDict({"a": 1}), '{"a":1}'),
    "an ordered mapping": (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
    "keys that are no texts": ({1: "a", Color.RED: 2, (1, 2): 3, None: 4}, '{"1":"a","red":2,"[1,2]":3,"null":4}'),
    "a dataclass": (Forecast("Oslo", [date(2026, 1, 2)]), '{"city":"Oslo","days":["2026-01-02"]}'),
    "a model": (Order(number="7", total=Decimal("1.5")), '{"number":"7","total":"1.5","at":null}'),
    "models in a list": ([Order(number="7", total=Decimal(1))], '[{"number":"7","total":"1","at":null}]'),
    "an array": ({"values": Sized()}, '{"values":[1,2]}'),
    "not a number": ([math.nan, math.inf, -math.inf], '["NaN","Infinity","-Infinity"]'),
    "a generator": ((n for n in range(3)), "[0,1,2]"),
    "a map object": ({"a": map(str, [1])}, '{"a":["1"]}'),
    "half a surrogate": ("a\ud800b", "a\ufffdb"),
    "half a surrogate inside": ({"a\ud800": "\udc00"}, '{"a\ufffd":"\ufffd"}'),
    "an integer of many digits": (10**30, "1" + "0" * 30),
}


@pytest.mark.parametrize(("value", "text"), TEXTS.values(), ids=TEXTS)
def test_what_the_model_reads(value: Any, text: str) -> None:
    made = to_result(value)
    assert made.text == text
    assert not made.is_error
    made.text.encode("utf-8")


def test_the_object_itself_is_kept_for_the_application() -> None:
    value = Forecast("Oslo")
    assert to_result(value).result is value
    assert to_result("x").result == "x"


def test_a_result_is_passed_on_as_it_is() -> None:
    result = ToolExecutionResult.failure("no")
    assert to_result(result) is result


PARTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "one part": (IMAGE, (IMAGE,)),
    "a list of parts": ([TextContent("see"), IMAGE], (TextContent("see"), IMAGE)),
    "texts and parts": (("see", IMAGE), (TextContent("see"), IMAGE)),
}


@pytest.mark.parametrize(("value", "parts"), PARTS.values(), ids=PARTS)
def test_content_parts_stay_parts(value: Any, parts: tuple[Any, ...]) -> None:
    assert to_result(value).contents == parts


def test_a_list_of_texts_is_json_not_parts() -> None:
    assert to_result(["a", "b"]).text == '["a","b"]'


def _cycle() -> list[Any]:
    made: list[Any] = []
    made.append({"again": made})
    return made


def _deep(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = (made,)
    return made


class Opaque:
    def __repr__(self) -> str:
        return "SECRET-REPR"


class Lazy:
    def model_dump(self, mode: str) -> Any:
        raise RuntimeError("not loaded")


REFUSED: dict[str, tuple[Any, str]] = {
    "a class": (dict, "the class dict"),
    "an object without a JSON form": (Opaque(), "an object of type Opaque"),
    "one inside": ({"a": [Opaque()]}, "an object of type Opaque"),
    "a function": ([len], "builtin_function_or_method"),
    "a cycle": (_cycle(), "holds itself"),
    "a cycle that JSON alone has": ({"a": {1}, "b": _cycle()}, "holds itself"),
    "a deep value": (_deep(102), "nested deeper than 100"),
    "a very deep value": (_deep(50_000), "nested deeper than 100"),
}


@pytest.mark.parametrize(("value", "fault"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_json_form_is_an_error_that_names_tool_and_type(value: Any, fault: str) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        to_result(value, tool="look_up")
    assert fault in caught.value.message
    assert "'look_up'" in caught.value.message
    assert "SECRET" not in str(caught.value)


def test_a_hundred_levels_are_fine() -> None:
    assert to_result(_deep(100)).text == "[" * 100 + "1" + "]" * 100
    assert len(to_result([[n] for n in range(200)]).text) > 200


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = {1}
    assert to_result([shared, shared]).text == "[[1],[1]]"


def test_an_endless_generator_is_cut_off() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 1

    with pytest.raises(ToolExecutionError, match=f"more than {MAX_ITEMS:,} items"):
        to_result(endless(), tool="tail")


def test_what_a_lazy_result_raises_comes_out() -> None:
    with pytest.raises(RuntimeError, match="not loaded"):
        to_result(Lazy())


_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.uuids()
    | st.sampled_from([Color.RED, Level.LOW]),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.one_of(st.text(), st.integers(), st.floats(), st.none()), inner)
    ),
    max_leaves=10,
)


@CALM
@given(_ANY)
def test_every_value_becomes_text_that_can_be_sent(value: Any) -> None:
    text = to_result(value).text
    text.encode("utf-8")
    if value is not None and not isinstance(value, str):
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@CALM
@given(_ANY)
def test_the_json_value_writes_as_it_is(value: Any) -> None:
    json.dumps(to_json_value(value), allow_nan=False)
