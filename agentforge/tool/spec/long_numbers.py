"""Numbers with more digits than a float holds, on their way into types that pydantic reads.

Pydantic reads every fraction as a float before it looks at the type, and takes any integer for a float. So decimals are
handed to it as texts, and what would lose digits is refused beforehand. Only values that hold such a number are walked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.model.exact_number import RoundedFloat
from agentforge.tool.spec.coercion import expected, to_float_strictly
from agentforge.tool.spec.reshaping import Reshaper
from agentforge.tool.spec.walk import subschemas

__all__ = ("LongNumbers", "has_long_number", "json_text", "may_round")

_LARGEST_STEPLESS = 2**53


def may_round(schema: Mapping[str, Any]) -> bool:
    """Whether a value of ``schema`` may hold a number that pydantic would round."""
    kind = schema.get("type")
    if (
        "enum" in schema
        or "const" in schema
        or kind == "number"
        or (isinstance(kind, (list, tuple)) and "number" in kind)
    ):
        return True
    return any(may_round(inner) for _, inner in subschemas(schema))


def json_text(value: Any) -> str:
    """JSON text in which every number has all its digits."""
    return _written(value) if has_long_number(value) else json.dumps(value, ensure_ascii=False)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        inner = (f"{json.dumps(key, ensure_ascii=False)}: {_written(each)}" for key, each in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return value.text if isinstance(value, RoundedFloat) else json.dumps(value, ensure_ascii=False)


def has_long_number(value: Any) -> bool:
    """Whether a number in ``value`` has more digits than a float holds."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is dict:
            stack.extend(item.values())
        elif kind is list:
            stack.extend(item)
        elif kind is RoundedFloat or (kind is int and not -_LARGEST_STEPLESS <= item <= _LARGEST_STEPLESS):
            return True
    return False


class LongNumbers(Reshaper):
    """Writes the long fractions of decimals as texts; ``reshape`` raises `Mismatch` for a number that would be rounded
    to an integer, and for an integer that no float holds."""

    __slots__ = ()
    scalars = (RoundedFloat, int)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        super().__init__(schema, text_to_number=False, drop_nulls=True)

    def number(self, value: Any, types: frozenset[str]) -> Any:
        """The number, or its text for a decimal."""
        if type(value) is RoundedFloat:
            if "decimal" in types:
                return value.text
            if types and "number" not in types:
                raise expected("an integer" if "integer" in types else " or ".join(sorted(types)), value)
        elif type(value) is int and "number" in types and not types & {"integer", "decimal"}:
            to_float_strictly(value)
        return value
