"""A type with named fields as the whole argument object of a tool: its schema, and the object made of the arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.errors import ArgumentProblem, ToolDeclarationError
from agentforge.tool.declare import ToolDeclaration
from agentforge.tool.spec.binding import arguments_error
from agentforge.tool.spec.coercion import Mismatch
from agentforge.tool.spec.docstring import read_docstring
from agentforge.tool.spec.models import json_form_of
from agentforge.tool.spec.schema import compile_parameters
from agentforge.tool.spec.signature import ToolParameter, ToolSignature
from agentforge.tool.spec.types import plain_type

__all__ = ("ObjectType",)


class ObjectType:
    """A dataclass, pydantic model or typed dict; ``schema`` is a closed object schema.

    Raises `ToolDeclarationError` for any other type: arguments are an object with named values, so that a bare
    primitive, list or mapping has no place to stand in.
    """

    __slots__ = ("_adapter", "_convert", "_tool", "_type", "schema")

    def __init__(self, hint: Any, *, tool: str, strict: bool = False) -> None:
        if plain_type(hint) is not None:
            raise _refused(hint, tool, "is a bare value")
        _check_fields(hint, tool)
        signature = ToolSignature(
            tool,
            _nothing,
            ToolDeclaration(strict=strict),
            (ToolParameter("input", "input", hint),),
            {},
            (),
            read_docstring(None),
        )
        compiled = compile_parameters(signature)
        self.schema: Mapping[str, Any] = _root_of(compiled.schema.schema, hint, tool)
        self._tool = tool
        self._type = hint
        self._adapter: Any = None
        self._convert = compiled.rows[0].convert

    def bind(self, arguments: dict[str, object], /) -> Any:
        """The object made of the arguments; raises `ToolArgumentsError` with every problem."""
        try:
            return self._convert(arguments)
        except Mismatch as error:
            problems = [ArgumentProblem(".".join(map(str, path)), message) for path, message in error.problems]
            raise arguments_error(self._tool, problems) from None

    def values_of(self, value: Any) -> dict[str, Any]:
        """The fields of such an object by the names that the schema has, as JSON values."""
        if self._adapter is None:
            self._adapter = json_form_of(self._type)
        found: dict[str, Any] = self._adapter.dump_python(value, mode="json", by_alias=True)
        return found


def _check_fields(hint: Any, tool: str) -> None:
    """The fields are the tool's parameters: what is refused of those is refused here."""
    from agentforge.tool.spec.field_notes import fields_of
    from agentforge.tool.spec.unions import refuse_ambiguous
    from agentforge.tool.spec.unsupported import refuse_parameter

    for name, field, _ in fields_of(hint):
        refuse_parameter(field, name, tool=tool)
        refuse_ambiguous(field, name, tool=tool)


def _nothing() -> None:
    """Stands for the function, which is not looked at."""


def _root_of(schema: Mapping[str, Any], hint: Any, tool: str) -> dict[str, Any]:
    definitions = dict(schema.get("$defs") or {})
    root: dict[str, Any] = dict(schema["properties"]["input"])
    name = None
    while isinstance(root.get("$ref"), str):
        name = root.pop("$ref").removeprefix("#/$defs/")
        root = {**definitions[name], **root}
    if root.get("type") != "object" or "properties" not in root:
        raise _refused(hint, tool, "is no object with named fields")
    if name is not None and f'"#/$defs/{name}"' not in json.dumps([root, definitions]):
        del definitions[name]
    root.setdefault("required", [])
    return {**root, "$defs": definitions} if definitions else root


def _refused(hint: Any, tool: str, fault: str) -> ToolDeclarationError:
    name = hint.__name__ if isinstance(hint, type) else str(hint)
    return ToolDeclarationError(
        f"the input type {name} of tool {tool!r} {fault}; the arguments of a call are an object with named fields",
        tool=tool,
        next_step="Give a dataclass, a pydantic model or a typed dict with a field for it.",
    )
