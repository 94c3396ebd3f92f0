"""Plain Python types straight to JSON Schema and conversion, without pydantic.

Most tools take texts, numbers, lists and enums; for them neither a schema library nor its import time is needed.
Whatever is not in the tables here gives ``None`` and goes to `agentforge.tool.spec.models`.
"""

from __future__ import annotations

import collections.abc
import enum
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from agentforge.tool.spec import coercion
from agentforge.tool.spec.choices import Choices
from agentforge.tool.spec.coercion import Mismatch, came, convert_each, expected
from agentforge.tool.spec.reshaping import DECIMAL_PATTERN
from agentforge.tool.spec.texts import to_date, to_datetime, to_decimal, to_decimal_strictly, to_time, to_uuid

__all__ = ("Convert", "PlainType", "fixed_array", "plain_type")

Convert: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class PlainType:
    """A type's JSON Schema and its conversion from a parsed JSON value; ``convert`` raises `Mismatch`."""

    schema: Mapping[str, Any]
    convert: Convert
    accepts_null: bool = False


def _same(value: Any) -> Any:
    return value


def _none(value: Any) -> None:
    if value is not None:
        raise expected("null", value)


_ANYTHING = PlainType({}, _same, accepts_null=True)
_DECIMAL = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": DECIMAL_PATTERN}]}
# type: (schema, conversion, conversion where strict)
_SCALARS: dict[Any, tuple[dict[str, Any], Convert, Convert]] = {
    str: ({"type": "string"}, coercion.to_str, coercion.to_str),
    bool: ({"type": "boolean"}, coercion.to_bool, coercion.to_bool),
    int: ({"type": "integer"}, coercion.to_int, coercion.to_int_strictly),
    float: ({"type": "number"}, coercion.to_float, coercion.to_float_strictly),
    Decimal: (_DECIMAL, to_decimal, to_decimal_strictly),
    date: ({"type": "string", "format": "date"}, to_date, to_date),
    datetime: ({"type": "string", "format": "date-time"}, to_datetime, to_datetime),
    time: ({"type": "string", "format": "time"}, to_time, to_time),
    UUID: ({"type": "string", "format": "uuid"}, to_uuid, to_uuid),
}
_LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)
_SETS = (set, collections.abc.Set, collections.abc.MutableSet)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def plain_type(hint: Any, *, strict: bool = False) -> PlainType | None:
    """The plain form of ``hint``; ``None`` when it takes more than this module knows.

    >>> plain_type(list[int]).schema
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    hint = _unnamed(hint)
    if hint is Any or hint is object:
        return _ANYTHING
    if hint is None or hint is type(None):
        return PlainType({"type": "null"}, _none, accepts_null=True)
    found = _SCALARS.get(hint) if isinstance(hint, type) else None
    if found is not None:
        schema, lax, exact = found
        return PlainType(schema, exact if strict else lax)
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(arguments, strict=strict)
    if origin is typing.Literal:
        choices = Choices.of_literal(arguments, strict=strict)
        return PlainType(choices.schema, choices.convert, accepts_null=None in arguments)
    if isinstance(hint, type) and issubclass(hint, enum.Enum) and len(hint):
        choices = Choices.of_enum(hint, strict=strict)
        return PlainType(choices.schema, choices.convert)
    if origin is tuple:
        return _tuple(arguments, strict=strict)
    if origin in _LISTS or origin in _SETS or origin is frozenset:
        return _collection(origin, arguments, strict=strict)
    if origin in _MAPPINGS:
        return _mapping(arguments, strict=strict)
    return None


def _unnamed(hint: Any) -> Any:
    """The type behind ``NewType``, ``type X = ...`` and a type variable's bound."""
    for _ in range(20):
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif isinstance(hint, typing.TypeVar):
            hint = hint.__bound__ or (Any if not hint.__constraints__ else typing.Union[hint.__constraints__])  # noqa: UP007
        elif type(hint).__name__ == "TypeAliasType" and not typing.get_args(hint):
            hint = hint.__value__
        else:
            break
    return hint


def _optional(arms: tuple[Any, ...], *, strict: bool) -> PlainType | None:
    others = [arm for arm in arms if arm is not type(None)]
    if len(others) != 1 or len(others) == len(arms):
        return None
    inner = plain_type(others[0], strict=strict)
    if inner is None or inner.accepts_null:
        return inner
    convert_inner = inner.convert

    def convert(value: Any) -> Any:
        return None if value is None else convert_inner(value)

    return PlainType(_nullable(inner.schema), convert, accepts_null=True)


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("type"), str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [dict(schema), {"type": "null"}]}


def _items_of(value: Any, convert: Convert) -> list[Any]:
    if type(value) is not list:
        if not isinstance(value, (list, tuple)):
            raise expected("a list", value)
        value = list(value)
    try:
        return [convert(item) for item in value]
    except Mismatch:
        convert_each(enumerate(value), convert)


def _collection(origin: Any, arguments: tuple[Any, ...], *, strict: bool) -> PlainType | None:
    item = plain_type(arguments[0], strict=strict) if arguments else _ANYTHING
    if item is None:
        return None
    convert_item = item.convert
    schema: dict[str, Any] = {"type": "array", "items": item.schema}
    if origin in _LISTS:
        return PlainType(schema, lambda value: _items_of(value, convert_item))
    make = frozenset if origin is frozenset else set

    def convert(value: Any) -> Any:
        items = _items_of(value, convert_item)
        try:
            made = make(items)
        except TypeError:
            raise expected("a list of single values", value) from None
        if strict and len(made) != len(items):
            raise Mismatch([((), "a list of different values was expected, some came twice")])
        return made

    return PlainType({**schema, "uniqueItems": True}, convert)


def _tuple(arguments: tuple[Any, ...], *, strict: bool) -> PlainType | None:
    if not arguments or (len(arguments) == 2 and arguments[1] is Ellipsis):
        item = plain_type(arguments[0], strict=strict) if arguments else _ANYTHING
        if item is None:
            return None
        convert_item = item.convert
        return PlainType({"type": "array", "items": item.schema}, lambda value: tuple(_items_of(value, convert_item)))
    if arguments == ((),):  # how Python 3.10 wrote tuple[()]
        arguments = ()
    items = [plain_type(argument, strict=strict) for argument in arguments]
    known = [item for item in items if item is not None]
    if len(known) != len(items):
        return None

    def convert(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or len(value) != len(known):
            raise expected(f"a list of exactly {len(known)}", value)
        try:
            return tuple([item.convert(part) for item, part in zip(known, value, strict=True)])
        except Mismatch:
            pairs = enumerate(zip(known, value, strict=True))
            convert_each(pairs, lambda pair: pair[0].convert(pair[1]))

    return PlainType(fixed_array([item.schema for item in known]), convert)


def fixed_array(items: list[Mapping[str, Any]], minimum: int | None = None) -> dict[str, Any]:
    """A tuple in the form that every provider reads: one item schema, the length, the order in words.

    ``prefixItems`` would be exact, but strict modes and some providers refuse it.
    """
    distinct: list[Mapping[str, Any]] = []
    for item in items:
        if item not in distinct:
            distinct.append(item)
    schema: dict[str, Any] = {"type": "array"}
    if distinct:
        schema["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    if len(distinct) > 1:
        schema["description"] = "In this order: " + ", ".join(_in_words(item) for item in items)
    schema["minItems"] = len(items) if minimum is None else minimum
    schema["maxItems"] = len(items)
    return schema


def _in_words(schema: Any) -> str:
    if not isinstance(schema, Mapping):  # a foreign schema may say true of a place
        return "any value"
    kind = schema.get("type") or str(schema.get("$ref", "any value")).rpartition("/")[2]
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _mapping(arguments: tuple[Any, ...], *, strict: bool) -> PlainType | None:
    if arguments and _unnamed(arguments[0]) not in (str, Any):
        return None
    item = plain_type(arguments[1], strict=strict) if arguments else _ANYTHING
    if item is None:
        return None
    convert_item = item.convert

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Mismatch([((), f"an object was expected, {came(value)} came")])
        try:
            return {key: convert_item(part) for key, part in value.items()}
        except Mismatch:
            convert_each(value.items(), convert_item)

    return PlainType({"type": "object", "additionalProperties": item.schema or True}, convert)
