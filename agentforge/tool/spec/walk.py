"""Walking JSON Schemas by position: a property may be called ``title``, ``properties`` or ``$ref``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

__all__ = ("escaped_step", "rebuild", "resolve_reference", "steps_of", "subschemas")

_ONE = frozenset(
    (
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "additionalItems",
        "contentSchema",
    )
)
_LIST = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The schemas directly inside ``schema`` with the steps to them; boolean schemas are left out."""
    for key, value in schema.items():
        if key in _ONE and _is_mapping(value):
            yield (key,), value
        elif key in _LIST and isinstance(value, (list, tuple)):
            for index, inner in enumerate(value):
                if _is_mapping(inner):
                    yield (key, str(index)), inner
        elif key in _NAMED and _is_mapping(value):
            for name, inner in value.items():
                if _is_mapping(inner):
                    yield (key, str(name)), inner


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    # The plain check first: the other one is a call of many steps, and schemas have many parts.
    return type(value) is dict or isinstance(value, Mapping)


def rebuild(schema: Mapping[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """A deep copy in which every schema, innermost first, was passed through ``change``."""
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, Mapping):
            made[key] = {n: rebuild(v, change) if isinstance(v, Mapping) else v for n, v in value.items()}
        elif key in _LIST and isinstance(value, (list, tuple)):
            made[key] = [rebuild(v, change) if isinstance(v, Mapping) else v for v in value]
        elif key in _ONE and isinstance(value, Mapping):
            made[key] = rebuild(value, change)
        else:
            made[key] = _copied(value)
    return change(made)


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def resolve_reference(root: Mapping[str, Any], reference: str) -> Any:
    """What a local JSON pointer (``#/$defs/Order``) points at; ``None`` when there is nothing, it is not local, or it
    is no pointer but an anchor (``#order``)."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    node: Any = root
    for name in steps_of(reference):
        if isinstance(node, Mapping) and name in node:
            node = node[name]
        elif isinstance(node, (list, tuple)) and name.isascii() and name.isdigit() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node


def steps_of(reference: str) -> tuple[str, ...]:
    """The keys on the way of a local JSON pointer.

    >>> steps_of("#/$defs/a~1b"), steps_of("#")
    (('$defs', 'a/b'), ())
    """
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in reference.split("/")[1:])


def escaped_step(name: str) -> str:
    """A key as a JSON pointer has it.

    >>> escaped_step("a/b~")
    'a~1b~0'
    """
    return name.replace("~", "~0").replace("/", "~1")
