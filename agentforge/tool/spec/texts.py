"""Values that JSON carries as text: decimals, dates, times, UUIDs. Read exactly or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from agentforge.model.exact_number import RoundedFloat
from agentforge.tool.spec.coercion import expected

__all__ = ("to_date", "to_datetime", "to_decimal", "to_decimal_strictly", "to_time", "to_uuid")

_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_EXPONENT = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATETIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}.*", re.ASCII)
_TIME = re.compile(r"\d{2}:\d{2}.*", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGITS = 1000
_T = TypeVar("_T")


def to_decimal_strictly(value: Any) -> Decimal:
    """A decimal from a number, digit for digit as it was written (0.1 is ``Decimal("0.1")``), or from its text."""
    return _decimal(value, _DECIMAL)


def to_decimal(value: Any) -> Decimal:
    """As `to_decimal_strictly`, and from text with a plus sign or an exponent."""
    return _decimal(value, _EXPONENT)


def _decimal(value: Any, form: re.Pattern[str]) -> Decimal:
    if type(value) is int:
        return Decimal(value)
    if type(value) is float:
        return Decimal(repr(value))
    if type(value) is RoundedFloat:
        return Decimal(value.text)
    if isinstance(value, str) and len(value) <= _DIGITS and form.fullmatch(value):
        return Decimal(value)
    raise expected("a decimal number", value)


def to_date(value: Any) -> date:
    """A date from ``2026-10-02``."""
    return _read(value, _DATE, date.fromisoformat, "a date such as 2026-10-02")


def to_datetime(value: Any) -> datetime:
    """A date with time from ISO 8601 text, with or without an offset."""
    return _read(value, _DATETIME, datetime.fromisoformat, "a date and time such as 2026-10-02T08:30:00Z")


def to_time(value: Any) -> time:
    """A time of day from ISO 8601 text."""
    return _read(value, _TIME, time.fromisoformat, "a time such as 08:30:00")


def to_uuid(value: Any) -> UUID:
    """A UUID from its hyphenated text."""
    return _read(value, _UUID, UUID, "a UUID")


def _read(value: Any, form: re.Pattern[str], read: Callable[[str], _T], what: str) -> _T:
    if isinstance(value, str) and form.fullmatch(value):
        try:
            return read(value)
        except ValueError:
            pass
    raise expected(what, value)
