"""Exact conversion of single JSON values, and how a value that does not fit is spoken of.

*Exact* means that nothing is lost or guessed: ``1.0`` is the integer 1 and ``"5"`` the integer 5, but ``True`` is no
number, ``"007"`` no integer, and ``2**53 + 1`` no float. A fraction is the float nearest to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias

from agentforge.model.exact_number import RoundedFloat, read_number, whole_number

__all__ = (
    "Mismatch",
    "Path",
    "came",
    "convert_each",
    "expected",
    "number_from_text",
    "to_bool",
    "to_float",
    "to_float_strictly",
    "to_int",
    "to_int_strictly",
    "to_str",
)

Path: TypeAlias = tuple[str | int, ...]
_SHOWN = 40
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DIGITS = 1000


class Mismatch(Exception):  # noqa: N818  (never seen outside: turned into a ToolArgumentsError)
    """A value that does not fit: every problem below it with its path."""

    def __init__(self, problems: Iterable[tuple[Path, str]]) -> None:
        super().__init__()
        self.problems = tuple(problems)


def expected(what: str, value: object) -> Mismatch:
    """The mismatch that says what was expected and what came."""
    return Mismatch([((), f"{what} was expected, {came(value)} came")])


def came(value: object) -> str:
    """A value in words, shortened.

    >>> came("abc"), came([1]), came(None)
    ("the text 'abc'", 'a list of 1', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {_short(value)!r}" if value else "an empty text"
    if isinstance(value, (int, float, Decimal)):
        return f"the number {_short(_digits(value))}"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"


def _digits(value: float | Decimal) -> str:
    if isinstance(value, RoundedFloat):
        return value.text
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return "of very many digits"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def to_str(value: Any) -> str:
    """A text from a text."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str(value)
    raise expected("a text", value)


def to_bool(value: Any) -> bool:
    """true or false from true or false."""
    if value is True or value is False:
        return bool(value)
    raise expected("true or false", value)


def to_int_strictly(value: Any) -> int:
    """An integer from an integer or from a number without a fraction."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return whole_number(value)
    raise expected("an integer", value)


def to_int(value: Any) -> int:
    """As `to_int_strictly`, and from the text of an integer."""
    if type(value) is int:
        return value
    if type(value) is str:
        found = number_from_text(value, integer=True)
        if found is not None:
            return int(found)
    return to_int_strictly(value)


def to_float_strictly(value: Any) -> float:
    """A float from a fraction, or from a whole number that it can hold exactly."""
    if type(value) is float:
        return value
    if type(value) is RoundedFloat:
        return float(value)
    if type(value) is int:
        try:
            made = float(value)
        except OverflowError:
            made = 0.0
        if made == value:
            return made
        raise expected("a number that a float can hold exactly", value)
    raise expected("a number", value)


def to_float(value: Any) -> float:
    """As `to_float_strictly`, and from the text of a number."""
    if type(value) is str:
        found = number_from_text(value)
        if found is not None:
            return to_float_strictly(found)
    return to_float_strictly(value)


def number_from_text(text: str, *, integer: bool = False) -> int | float | None:
    """The number that a text writes as JSON would; ``None`` if it writes none (``"007"``, ``" 5"``, ``"1e999"``).

    One with more digits than a float holds is an integer where it is whole, else a `RoundedFloat`.

    >>> number_from_text("12"), number_from_text("1.5"), number_from_text("1.5", integer=True)
    (12, 1.5, None)
    """
    if len(text) > _DIGITS:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if integer or not _NUMBER.fullmatch(text):
        return None
    try:
        return read_number(text)
    except ValueError:
        return None


def convert_each(values: Iterable[tuple[str | int, Any]], convert: Callable[[Any], Any]) -> NoReturn:
    """Convert again, one by one, to name every value that does not fit; called after one did not."""
    problems: list[tuple[Path, str]] = []
    for key, value in values:
        try:
            convert(value)
        except Mismatch as error:
            problems.extend(((key, *path), message) for path, message in error.problems)
    raise Mismatch(problems)
