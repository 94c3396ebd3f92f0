"""JSON's numbers as Python's without losing digits unseen.

A float holds about sixteen digits. What is written with more is read as an integer where it is whole, and otherwise as
a float that keeps its text, so that whoever needs all digits (an integer, a decimal) takes them or refuses.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

__all__ = ("RoundedFloat", "read_number", "whole_number")

_DIGITS = 1000
# Up to fifteen digits always survive: one of the characters is a point or an exponent's letter.
_SURELY_EXACT = 16
_SOME_DIGIT = re.compile(r"[1-9]")
_LARGEST_STEPLESS = 2**53


class RoundedFloat(float):
    """A float that is not quite the number that was written; ``text`` is. It is never whole.

    >>> RoundedFloat("1.00000000000000000001"), RoundedFloat("1.00000000000000000001").is_integer()
    (1.0, False)
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> RoundedFloat:
        """The nearest float to ``text``."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return RoundedFloat, (self.text,)

    def is_integer(self) -> bool:
        """False: whole numbers are read as integers."""
        return False


def read_number(text: str) -> float | int:
    """A number with a fraction or an exponent, as JSON writes it: a float that denotes the same digits, else an
    integer where the number is whole, else a `RoundedFloat`.

    Raises `ValueError` for what is too large or too small for a float, or has more than 1,000 characters.

    >>> read_number("0.1"), read_number("9007199254740993.0"), read_number("1.00000000000000000001").is_integer()
    (0.1, 9007199254740993, False)
    """
    value = float(text)
    if len(text) <= _SURELY_EXACT and (1e-300 < value < 1e300 or -1e300 < value < -1e-300):
        return value
    shown = repr(value)
    return value if shown == text else _read_carefully(text, value, shown)


def _read_carefully(text: str, value: float, shown: str) -> float | int:
    if value == 0:
        if _SOME_DIGIT.search(text.lower().partition("e")[0]):
            raise ValueError("a number is too small to be read exactly")
        return value
    if len(text) > _DIGITS or abs(value) == float("inf"):
        raise ValueError("a number is too large to be read exactly")
    written = Decimal(text)
    if written == Decimal(shown):
        return value
    return int(written) if written == written.to_integral_value() else RoundedFloat(text)


def whole_number(value: float) -> int:
    """The integer that a whole float was written as: ``1e23`` is 10**23, although the float is a little less."""
    return int(value) if -_LARGEST_STEPLESS < value < _LARGEST_STEPLESS else int(Decimal(repr(value)))
