"""The one place where a call's argument text becomes an object.

The text is a model's: it may be empty, fenced, cut off, doubly encoded, huge, or not JSON at all. The rule: what has
one plain meaning is read (a fence around it, a trailing comma, one layer of quotes, raw line breaks inside texts); what
has not (repeated keys, ``NaN``, a list, a fragment) is refused with the reason, so that the model can correct itself.
Nothing is ever guessed, and text that fails never turns into an empty object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from agentforge.errors import ToolArgumentsError
from agentforge.model.exact_number import read_number

__all__ = ("DEFAULT_ARGUMENT_LIMITS", "ArgumentLimits", "parse_arguments")

_FENCE = re.compile(r"\A```[a-zA-Z0-9_-]*[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# A text, or a comma directly before a closing bracket.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
_NUMBER_DIGITS = 1000


@dataclass(frozen=True, slots=True)
class ArgumentLimits:
    """Bounds of one argument text: UTF-8 bytes, nesting depth, and members of all objects and arrays together."""

    max_bytes: int = 256 * 1024
    max_depth: int = 64
    max_members: int = 10_000


DEFAULT_ARGUMENT_LIMITS = ArgumentLimits()


class _RefusedError(ValueError):
    """Well-formed JSON that our policy refuses; unlike a syntax error no repair is tried."""


def parse_arguments(
    text: str | None, *, tool: str | None = None, limits: ArgumentLimits = DEFAULT_ARGUMENT_LIMITS
) -> dict[str, object]:
    """The arguments as an object; blank text means an empty one.

    A number with more digits than a float holds is an integer where it is whole, else a float that keeps its text.
    Raises `ToolArgumentsError` that says what was expected, what came, and where in the text.

    >>> parse_arguments('{"city": "Paris",}')
    {'city': 'Paris'}
    """
    if not text or text.isspace():
        return {}
    try:
        _check_size(text, limits)
        value = _load(text)
        if isinstance(value, str) and value.lstrip()[:1] == "{":  # an object that was encoded twice
            text = value  # the bounds hold for what is inside
            value = _load(text)
        if not isinstance(value, dict):
            raise _RefusedError(f"a JSON object was expected, {_kind(value)} came")
        _check_shape(text, value, limits)
    except RecursionError:
        _refuse(tool, f"they are nested deeper than {limits.max_depth} levels")
    except ValueError as error:
        _refuse(tool, str(error))
    return value


def _refuse(tool: str | None, reason: str) -> NoReturn:
    of_tool = f" of tool {tool!r}" if tool else ""
    raise ToolArgumentsError(
        f"the arguments{of_tool} cannot be used: {reason}",
        tool=tool,
        next_step="Call the tool again with one JSON object that fits its parameters.",
    ) from None


def _load(text: str) -> Any:
    try:
        return _strictly(text)
    except json.JSONDecodeError as error:
        for candidate in _repairs(text):
            try:
                return _strictly(candidate)
            except json.JSONDecodeError:
                continue
        raise ValueError(f"not valid JSON ({error.msg} at line {error.lineno} column {error.colno})") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(f"the key {key!r} is given more than once")
            seen.add(key)
    return made


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is not a JSON number")


def _int(text: str) -> int:
    if len(text) > _NUMBER_DIGITS:
        raise _RefusedError(f"a number has more than {_NUMBER_DIGITS} digits")
    return int(text)


# strict=False: raw control characters inside texts are kept, as models write line breaks so.
_strictly = json.JSONDecoder(
    strict=False,
    object_pairs_hook=_object,
    parse_constant=_constant,
    parse_float=read_number,
    parse_int=_int,
).decode


def _repairs(text: str) -> Iterator[str]:
    """Readings of a text that is not JSON as it stands; each keeps every value."""
    stripped = text.strip().lstrip("\ufeff")
    fenced = _FENCE.match(stripped)
    if fenced:
        stripped = fenced[1].strip()
    yield stripped
    without_commas = _without_trailing_commas(stripped)
    yield without_commas
    if len(stripped) > 2 and stripped[0] == stripped[-1] == '"' and stripped[1:-1].lstrip()[:1] == "{":
        yield stripped[1:-1]
        yield _without_trailing_commas(stripped[1:-1])


def _without_trailing_commas(text: str) -> str:
    """The text without commas that stand directly before a closing bracket, outside of texts."""
    return _TOKEN.sub(lambda found: "" if found[0] == "," else found[0], text)


def _check_size(text: str, limits: ArgumentLimits) -> None:
    if len(text) * 4 > limits.max_bytes and len(text.encode("utf-8", "replace")) > limits.max_bytes:
        raise _RefusedError(f"they are longer than {limits.max_bytes:,} bytes")


def _check_shape(text: str, value: dict[str, Any], limits: ArgumentLimits) -> None:
    # Counting characters bounds depth and members from above, so the walk is for suspects only.
    if len(text) > limits.max_depth or len(text) > limits.max_members:
        _check_nesting(text, value, limits)
    if "\\u" in text or not text.isascii():
        _check_surrogates(value)


def _check_nesting(text: str, value: dict[str, Any], limits: ArgumentLimits) -> None:
    brackets = text.count("{") + text.count("[")
    commas = text.count(",")
    if brackets > limits.max_depth or commas + brackets > limits.max_members:
        members = 0
        level: list[Any] = [value]
        depth = 0
        while level:
            depth += 1
            if depth > limits.max_depth:
                raise _RefusedError(f"they are nested deeper than {limits.max_depth} levels")
            members += sum(len(item) for item in level)
            if members > limits.max_members:
                raise _RefusedError(f"they have more than {limits.max_members:,} members")
            level = [
                inner
                for item in level
                for inner in (item.values() if isinstance(item, dict) else item)
                if isinstance(inner, (dict, list))
            ]


def _check_surrogates(value: dict[str, Any]) -> None:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                raise _RefusedError("a text holds half of a surrogate pair")
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return {str: "a text", int: "a number", float: "a number", list: "a list"}.get(type(value), "something else")
