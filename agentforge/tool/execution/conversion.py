"""From what a function returned to what the model reads (seed A 3.2.3).

Text stays as it is, ``None`` is ``Success``, content parts stay parts, everything else becomes JSON. An object without
a JSON form is an error that names its type: a ``repr`` never reaches the model.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import PurePath
from typing import Any
from uuid import UUID

from agentforge.errors import ToolExecutionError
from agentforge.model.content import AudioContent, FileContent, ImageContent, TextContent
from agentforge.tool.execution.result import ToolExecutionResult

__all__ = ("MAX_ITEMS", "MAX_RESULT_DEPTH", "SUCCESS", "to_json_value", "to_result")

SUCCESS = "Success"
"""What the model reads when a tool returned nothing."""
MAX_RESULT_DEPTH = 100
MAX_ITEMS = 100_000
"""How many items are taken from a generator."""

_PARTS = (TextContent, ImageContent, AudioContent, FileContent)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN = (str, int, bool, type(None))


def to_result(value: Any, *, tool: str | None = None) -> ToolExecutionResult:
    """The result of a tool that returned ``value``; ``result`` keeps the object itself.

    NaN and infinities, which JSON has no words for, become texts; decimals, dates and UUIDs too; bytes become base64;
    lone surrogates, which no request can carry, a replacement character. Raises `ToolExecutionError` for cycles, for
    values nested deeper than 100 levels and for objects without a JSON form, naming their type.

    >>> to_result({"city": "Paris", "degrees": 22.5}).text
    '{"city":"Paris","degrees":22.5}'
    >>> to_result(None).text
    'Success'
    """
    if type(value) is str:
        return ToolExecutionResult(value if value.isascii() else _sendable(value), result=value)
    if value is None:
        return ToolExecutionResult.success(SUCCESS)
    if isinstance(value, ToolExecutionResult):
        return value
    if isinstance(value, _PARTS):
        return ToolExecutionResult(parts=(value,), result=value)
    if isinstance(value, (list, tuple)) and _are_parts(value):
        parts = [TextContent(_sendable(part)) if isinstance(part, str) else part for part in value]
        return ToolExecutionResult(parts=parts, result=value)
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return ToolExecutionResult.success(_sendable(str(value)), result=value)
    if isinstance(value, Iterator):
        value = _collected(value, tool)
        return to_result(value, tool=tool)
    return ToolExecutionResult.success(_sendable(_json_text(value, tool)), result=value)


def to_json_value(value: Any) -> Any:
    """The value in JSON's own types; raises `ToolExecutionError` as `to_result` does."""
    return _Flattener(None).flatten(value, 0)


def _are_parts(values: Sequence[Any]) -> bool:
    return any(isinstance(part, _PARTS) for part in values) and all(isinstance(part, (str, *_PARTS)) for part in values)


def _sendable(text: str) -> str:
    return text if text.isascii() or not _SURROGATE.search(text) else _SURROGATE.sub("\ufffd", text)


def _json_text(value: Any, tool: str | None) -> str:
    try:
        # The C encoder does it in one go for what is JSON already; all else takes the careful way.
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse)
    except (TypeError, ValueError, RecursionError):
        flat = _Flattener(tool).flatten(value, 0)
        return json.dumps(flat, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Counting brackets bounds the depth from above, so that the walk is for suspects only.
    if text.count("[") + text.count("{") > MAX_RESULT_DEPTH and _is_too_deep(value):
        raise _failure(tool, f"is nested deeper than {MAX_RESULT_DEPTH} levels")
    return text


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_RESULT_DEPTH + 1):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, (dict, list, tuple))
        ]
        if not level:
            return False
    return True


def _refuse(value: object) -> Any:
    raise TypeError


def _collected(values: Iterator[Any], tool: str | None) -> list[Any]:
    items = list(islice(values, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise _failure(tool, f"gave more than {MAX_ITEMS:,} items")
    return items


def _failure(tool: str | None, fault: str) -> ToolExecutionError:
    return ToolExecutionError(
        f"the result of tool {tool!r} {fault}" if tool else f"the result {fault}",
        tool=tool,
        next_step="Return text, JSON values, dataclasses, models or content parts.",
    )


class _Flattener:
    """Turns objects into JSON's types, keeping the objects it is inside of, so that a cycle is seen."""

    def __init__(self, tool: str | None) -> None:
        self._tool = tool
        self._inside: set[int] = set()

    def flatten(self, value: Any, depth: int) -> Any:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else _not_finite(value)
        if depth > MAX_RESULT_DEPTH:
            raise _failure(self._tool, f"is nested deeper than {MAX_RESULT_DEPTH} levels")
        if id(value) in self._inside:
            raise _failure(self._tool, f"holds itself (a {type(value).__name__} inside itself)")
        self._inside.add(id(value))
        try:
            return self._object(value, depth + 1)
        finally:
            self._inside.discard(id(value))

    def _object(self, value: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.flatten(value.value, depth)
        for kind, simple in _SIMPLE:
            if isinstance(value, kind):
                return simple(value)
        if isinstance(value, Mapping):
            return {self._key(key): self.flatten(inner, depth) for key, inner in value.items()}
        if isinstance(value, Set):  # in an order that is the same in every process
            return sorted((self.flatten(inner, depth) for inner in value), key=lambda flat: json.dumps(flat))
        if isinstance(value, (Sequence, Iterator)):
            items = _collected(value, self._tool) if isinstance(value, Iterator) else value
            return [self.flatten(inner, depth) for inner in items]
        fields = _fields(value)
        if fields is None:
            raise _failure(self._tool, f"holds {_kind(value)}, which has no JSON form")
        return self.flatten(fields, depth)

    def _key(self, key: Any) -> str:
        flat = self.flatten(key, 0)
        if isinstance(flat, str):
            return flat
        return json.dumps(flat, ensure_ascii=False, separators=(",", ":"))


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _duration(value: timedelta) -> str:
    seconds = value.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}PT{int(seconds) if seconds.is_integer() else seconds}S"


_SIMPLE: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str),
    (bool, bool),
    (int, int),
    ((datetime, date, time), lambda value: value.isoformat()),
    ((UUID, Decimal, PurePath), str),
    (timedelta, _duration),
    ((bytes, bytearray, memoryview), lambda value: base64.b64encode(bytes(value)).decode("ascii")),
)


def _fields(value: Any) -> Any:
    """The fields of a dataclass, a model or an array, known by what it can do so that nothing is imported."""
    kind = type(value)
    if isinstance(value, type):
        return None
    if callable(getattr(kind, "model_dump", None)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if callable(getattr(kind, "tolist", None)):
        return value.tolist()
    return None


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"
