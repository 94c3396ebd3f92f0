"""A call's argument text: what has one plain meaning is read, everything else is refused with the reason."""

from __future__ import annotations

import copy
import json
import pickle
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.errors import ToolArgumentsError
from agentforge.model.arguments import ArgumentLimits, parse_arguments
from agentforge.model.exact_number import RoundedFloat
from agentforge.model.tool_call import ToolExecutionRequest


def twice(text: str) -> str:
    """The object as the text of a text, in which no bracket and no comma is to be seen."""
    outer = json.dumps(text)
    for sign in "[],":
        outer = outer.replace(sign, f"\\u{ord(sign):04x}")
    return outer


# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

READ: dict[str, tuple[str | None, dict[str, Any]]] = {
    "no text": (None, {}),
    "empty text": ("", {}),
    "white space": (" \n\t", {}),
    "an empty object": ("{}", {}),
    "text, integer and decimal": ('{"a": "x", "b": 1, "c": 1.5}', {"a": "x", "b": 1, "c": 1.5}),
    "a trailing comma in an object": ('{"a": 1,}', {"a": 1}),
    "a trailing comma in a list": ('{"a": [1, 2,]}', {"a": [1, 2]}),
    "a lone comma in an object": ("{,}", {}),
    "a lone comma in a list": ('{"a": [,]}', {"a": []}),
    "a trailing comma before a line break": ('{"a": 1,\n}', {"a": 1}),
    "a comma before a bracket inside a text": ('{"a": "x,}",}', {"a": "x,}"}),
    "one extra pair of quotes": ('"{"a": 1}"', {"a": 1}),
    "an object that was encoded twice": (json.dumps('{"a": 1}'), {"a": 1}),
    "a fence": ('```json\n{"city": "Lima"}\n```', {"city": "Lima"}),
    "a fence around a text with fences": (
        '```json\n{"text": "open with ```py and close with ```"}\n```',
        {"text": "open with ```py and close with ```"},
    ),
    "raw line breaks and tabs in a text": ('{"text": "line one\nline\ttwo"}', {"text": "line one\nline\ttwo"}),
    "escaped quotes": (r'{"sql": "select \"a\" from t"}', {"sql": 'select "a" from t'}),
    "a large integer": ('{"n": 12345678901234567890123}', {"n": 12345678901234567890123}),
    "a whole number beyond floats with a point": ('{"n": 9007199254740993.0}', {"n": 9007199254740993}),
    "zeros": ('{"a": 0.0, "b": -0.0, "c": 0e9, "d": 0.00000000000000000000}', {"a": 0, "b": 0, "c": 0, "d": 0}),
    "as many digits as a float has": ('{"a": 0.30000000000000004}', {"a": 0.1 + 0.2}),
    "a whole pair of surrogates": (r'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}),
    "a byte order mark": ('\ufeff{"a": 1}', {"a": 1}),
}

REFUSED: dict[str, tuple[str, str]] = {
    "a list": ('["Oslo"]', "a list came"),
    "a text": ('"Oslo"', "a text came"),
    "a number": ("7", "a number came"),
    "true": ("true", "true came"),
    "null": ("null", "null came"),
    "a fragment": ('{"city": ', "not valid JSON"),
    "a broken literal": ("nill", "not valid JSON"),
    "NaN": ('{"a": NaN}', "NaN"),
    "Infinity": ('{"a": -Infinity}', "-Infinity"),
    "a number beyond floats": ('{"a": 1e400}', "too large"),
    "a number below floats": ('{"a": -1.5e-400}', "too small"),
    "a fraction of very many digits": ('{"a": 0.' + "3" * 1000 + "}", "too large to be read exactly"),
    "a repeated key": ('{"amount": 10, "amount": 9000}', "'amount' is given more than once"),
    "a repeated key after repair": ('{"amount": 10, "amount": 9000,}', "more than once"),
    "half a pair of surrogates": (r'{"a": "\ud83d"}', "surrogate"),
    "half a pair in a key": (r'{"\ud83d": 1}', "surrogate"),
    "a number of very many digits": ('{"a": ' + "9" * 1001 + "}", "more than 1000 digits"),
    "too much text": ('{"a": "' + "x" * 300_000 + '"}', "longer than 262,144 bytes"),
    "deep nesting": ('{"a":' * 65 + "1" + "}" * 65, "deeper than 64"),
    "very deep nesting": ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "deeper than 64"),
    "too many members": ('{"a": [' + ",".join("1" * 10_001) + "]}", "more than 10,000 members"),
    "deep nesting inside a text": (twice('{"a":' + "[" * 64 + "]" * 64 + "}"), "deeper than 64"),
    "too many members inside a text": (twice('{"a": [' + ",".join("1" * 10_001) + "]}"), "more than 10,000 members"),
    "half a pair of surrogates inside a text": (json.dumps(r'{"a": "\ud83d"}'), "surrogate"),
    "two objects": ('{"a": 1}{"a": 2}', "not valid JSON"),
}


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_text_with_one_plain_meaning_is_read(text: str | None, expected: dict[str, Any]) -> None:
    assert parse_arguments(text) == expected


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_with_tool_and_reason(text: str, reason: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        ToolExecutionRequest("c1", "pay", text).arguments_as_map()
    assert reason in caught.value.message
    assert "'pay'" in caught.value.message
    assert caught.value.tool == "pay"
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("digits", ["1.00000000000000000001", "12345678901234567.89", "-3.14159265358979323846"])
def test_a_fraction_that_a_float_rounds_keeps_its_text_and_is_never_whole(digits: str) -> None:
    made = parse_arguments(f'{{"n": {digits}}}')["n"]
    assert isinstance(made, RoundedFloat)
    assert made == float(digits)
    for same in (made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (same.text, same.is_integer()) == (digits, False)


@CALM
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25))
def test_no_digit_of_a_number_is_lost_unseen(number: Decimal) -> None:
    """Also written with an exponent, and with zeros at the end."""
    for text in (f"{number:f}", f"{number:e}", f"{number:f}{'' if '.' in f'{number:f}' else '.'}000"):
        made = parse_arguments(f'{{"n": {text}}}')["n"]
        written = made.text if isinstance(made, RoundedFloat) else repr(made)
        assert Decimal(written) == Decimal(text)


def test_limits_can_be_set() -> None:
    limits = ArgumentLimits(max_bytes=10, max_depth=1, max_members=1)
    assert parse_arguments('{"a": 1}', limits=limits) == {"a": 1}
    for text in ('{"abc": 12345}', '{"a":{}}', '{"a":1,"b":2}'[:10] + "}"):
        with pytest.raises(ToolArgumentsError):
            parse_arguments(text, limits=limits)


def test_a_bomb_is_refused_quickly() -> None:
    """Bounds are checked by counting, so that the cost stays linear; processor time, not the clock on the wall."""
    begun = time.process_time()
    for name in ("very deep nesting", "too many members", "a number of very many digits"):
        with pytest.raises(ToolArgumentsError):
            parse_arguments(REFUSED[name][0])
    assert time.process_time() - begun < 5


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@CALM
@given(st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), _VALUES, max_size=4))
def test_every_object_that_json_can_write_is_read_back_equal(value: dict[str, Any]) -> None:
    assert parse_arguments(json.dumps(value)) == json.loads(json.dumps(value))


@CALM
@given(st.text(max_size=60))
def test_no_text_raises_anything_but_an_argument_error(text: str) -> None:
    try:
        made = parse_arguments(text)
    except ToolArgumentsError:
        return
    assert isinstance(made, dict)
