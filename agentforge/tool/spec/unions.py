"""Unions whose members would take one same JSON value for different things: which is meant, nobody could say.

Found by trying: for each member values are made from its schema, and one that another member takes too, and makes
something else of, is the proof. So nothing is refused that is not ambiguous; a value that only a pattern or a bound
shows is not thought of. Numbers of the same size are one thing, whatever their type; ``{}`` and ``[]`` prove nothing.
Members that a discriminator tells apart are never ambiguous.
"""

from __future__ import annotations

import itertools
import json
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.spec.models import json_form_of
from agentforge.tool.spec.walk import resolve_reference

__all__ = ("refuse_ambiguous",)

_DEPTH = 4
_SAMPLES = 12
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "date": ("2026-01-31",),
    "date-time": ("2026-01-31T10:30:00Z",),
    "time": ("10:30:00",),
    "duration": ("PT1H",),
    "uuid": ("5f0c6f0e-8a3b-4f0e-9d53-3f2f3a1f6a10",),
    "uri": ("https://example.org/",),
    "email": ("somebody@example.org",),
    "ipv4": ("192.0.2.1",),
    "ipv6": ("2001:db8::1",),
    "binary": ("text",),
    "path": ("text",),
}


def refuse_ambiguous(hint: Any, parameter: str, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a union in ``hint``, at any depth of its arguments, that is ambiguous."""
    for arms in _unions(hint, set()):
        forms = [(arm, _form(arm)) for arm in arms]
        known = [(arm, form) for arm, form in forms if form is not None]
        for (first, a), (second, b) in itertools.combinations(known, 2):
            witness = _witness(a, b)
            if witness is not None:
                raise ToolDeclarationError(
                    f"parameter {parameter!r} of tool {tool!r} may be {_name(first)} or {_name(second)}, and the JSON "
                    f"value {json.dumps(witness[0])} is both",
                    tool=tool,
                    next_step="Keep one of the two, or tell them apart: by a required field with another Literal in "
                    "each, or by a discriminator.",
                )


def _unions(hint: Any, seen: set[int]) -> Iterator[list[Any]]:
    for _ in range(20):
        if type(hint).__name__ == "TypeAliasType" and not typing.get_args(hint):
            if id(hint) in seen:  # an alias that names itself
                return
            seen.add(id(hint))
            hint = hint.__value__
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        else:
            break
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return
    if origin is typing.Annotated:
        inner, *notes = arguments
        if any(getattr(note, "discriminator", None) is not None for note in notes):
            arguments = typing.get_args(inner)  # told apart by it
        else:
            yield from _unions(inner, seen)
            return
    elif origin in (typing.Union, types.UnionType):
        arms = [arm for arm in arguments if arm is not type(None)]
        if len(arms) > 1:
            yield arms
    for each in arguments:
        if each is not Ellipsis and not isinstance(each, (list, tuple)):
            yield from _unions(each, seen)


def _form(arm: Any) -> tuple[Any, list[Any]] | None:
    """The adapter of a member and values that it takes; ``None`` where it has no JSON form, which is told elsewhere."""
    try:
        adapter = json_form_of(arm)
        schema = adapter.json_schema()
    except Exception:
        return None
    return adapter, list(itertools.islice(_samples(schema, schema, _DEPTH), _SAMPLES))


def _witness(first: tuple[Any, list[Any]], second: tuple[Any, list[Any]]) -> tuple[Any] | None:
    for sample in (*first[1], *second[1]):
        if sample in ({}, []):
            continue
        text = json.dumps(sample)
        try:
            one = first[0].validate_json(text, strict=True, extra="forbid")
            other = second[0].validate_json(text, strict=True, extra="forbid")
        except Exception:  # one of them does not take it
            continue
        if not _same(one, other):
            return (sample,)
    return None


def _name(arm: Any) -> str:
    return arm.__name__ if isinstance(arm, type) and not typing.get_args(arm) else str(arm).replace("typing.", "")


def _same(one: Any, other: Any) -> bool:
    numbers = (int, float)
    alike = type(one) is type(other) or (isinstance(one, numbers) and isinstance(other, numbers))
    return alike and bool(one == other)


def _samples(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    """Values that fit a schema, the plain ones first; of an object one with all its fields, one with the required."""
    if not isinstance(schema, Mapping) or depth < 0:
        return
    if isinstance(schema.get("$ref"), str):
        yield from _samples(resolve_reference(root, schema["$ref"]), root, depth - 1)
    elif "const" in schema:
        yield schema["const"]
    elif "enum" in schema:
        yield from schema["enum"][:4]
    elif "anyOf" in schema or "oneOf" in schema:
        for each in schema.get("anyOf") or schema["oneOf"]:
            yield from itertools.islice(_samples(each, root, depth), 4)
    elif "allOf" in schema:
        for each in schema["allOf"]:
            yield from _samples(each, root, depth)
    else:
        yield from _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    kind = schema.get("type")
    if kind == "string":
        yield from _TEXTS.get(str(schema.get("format")), ("text" + "x" * (int(schema.get("minLength", 0)) - 4),))
    elif kind in ("integer", "number"):
        start = schema.get("minimum", schema.get("maximum", 1))
        yield from (start, start + 1, start - 1) if kind == "integer" else (start, 0.1)
    elif kind == "boolean":
        yield from (True, False)
    elif kind == "null":
        yield None
    elif kind == "array":
        yield from _of_array(schema, root, depth)
    elif kind == "object":
        yield from _of_object(schema, root, depth)


def _of_array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[list[Any]]:
    if isinstance(schema.get("prefixItems"), list):
        items = [next(_samples(each, root, depth - 1), "text") for each in schema["prefixItems"]]
        yield items
        return
    for item in itertools.islice(_samples(schema.get("items") or {"type": "string"}, root, depth - 1), 4):
        yield [item] * max(1, int(schema.get("minItems", 1)))


def _of_object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        open_ = schema.get("additionalProperties")
        values = _samples(open_ if isinstance(open_, Mapping) else {"type": "string"}, root, depth - 1)
        for value in itertools.islice(values, 4):
            yield {"name": value}
        return
    whole: dict[str, Any] = {}
    for name, each in properties.items():
        for value in _samples(each, root, depth - 1):
            whole[name] = value
            break
    required = schema.get("required") or ()
    yield {name: value for name, value in whole.items() if name in required}
    yield whole
