"""What of a specification is searched: its name, its description, its parameters' names and descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentforge.model.specification import ToolSpecification

__all__ = ("ToolTexts", "texts_of")

_DEPTH = 8
_INNER = ("items", "additionalProperties")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf", "prefixItems")


@dataclass(frozen=True, slots=True)
class ToolTexts:
    """The texts of one tool."""

    name: str
    description: str
    parameters: str


def texts_of(specification: ToolSpecification) -> ToolTexts:
    """The texts of one tool; those of its parameters at any reasonable depth."""
    parameters = " ".join(_texts_in(specification.parameters.schema, _DEPTH))
    return ToolTexts(specification.name, specification.description or "", parameters)


def _texts_in(schema: Mapping[str, object], depth: int) -> Iterator[str]:
    if not schema or depth == 0:
        return
    for group in ("properties", "$defs"):
        for name, inner in _mapping(schema.get(group)).items():
            if group == "properties":
                yield str(name)
            yield from _of(inner, depth)
    for key in _INNER:
        yield from _of(schema.get(key), depth)
    for key in _ALTERNATIVES:
        several = schema.get(key)
        for inner in several if isinstance(several, Sequence) and not isinstance(several, str) else ():
            yield from _of(inner, depth)


def _of(inner: object, depth: int) -> Iterator[str]:
    schema = _mapping(inner)
    description = schema.get("description")
    if isinstance(description, str):
        yield description
    yield from _texts_in(schema, depth - 1)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
