"""The JSON Schema of the possible replies, built from the schemas of the tools.

A tool's schema refers to its own root. Inside the schema of the reply it no longer is the root, so its definitions
move to the reply's ``$defs`` under names that collide with no other tool's, and the references move with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from agentforge.model.specification import ToolSpecification

__all__ = ("reply_schema", "single_call_schema")

# Keywords whose members are named by the schema's author, and keywords that hold data rather than schemas.
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_DATA = frozenset({"const", "enum", "default", "examples", "required", "dependentRequired"})
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


def single_call_schema(tool: ToolSpecification) -> dict[str, Any]:
    """The simplest form: ``{"tool": NAME, "arguments": {...}}`` at the root."""
    definitions = _Definitions()
    return _with_definitions(_call(tool, definitions), definitions)


def reply_schema(
    tools: Sequence[ToolSpecification],
    *,
    answer: Mapping[str, Any] | None,
    one_call: bool,
) -> dict[str, Any]:
    """The schema of ``{"calls": [...]}``, or of that and ``{"answer": ...}`` where an ``answer`` schema is given.

    With ``one_call`` the list holds exactly one call.
    """
    definitions = _Definitions()
    branches = [_call(tool, definitions) for tool in tools]
    listed: dict[str, Any] = {
        "type": "array",
        "items": branches[0] if len(branches) == 1 else {"anyOf": branches},
        "minItems": 1,
    }
    if one_call:
        listed["maxItems"] = 1
    root = _object({"calls": listed})
    if answer is not None:
        root = {"anyOf": [root, _object({"answer": definitions.hoist(answer, "answer")})]}
    return _with_definitions(root, definitions)


def _call(tool: ToolSpecification, definitions: _Definitions) -> dict[str, Any]:
    arguments = tool.parameters.schema or {"type": "object", "properties": {}, "additionalProperties": False}
    if "type" not in arguments and "properties" in arguments:
        arguments = {"type": "object", **arguments}
    return _object(
        {"tool": {"type": "string", "const": tool.name}, "arguments": definitions.hoist(arguments, tool.name)}
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _with_definitions(schema: dict[str, Any], definitions: _Definitions) -> dict[str, Any]:
    return {**schema, "$defs": definitions.schemas} if definitions.schemas else schema


class _Definitions:
    """The ``$defs`` of the reply; equal definitions of several tools are shared."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        self._known: dict[tuple[str, str], str] = {}

    def hoist(self, schema: Mapping[str, Any], owner: str) -> dict[str, Any]:
        """``schema`` with its definitions moved out, for use anywhere in the reply's schema."""
        local: dict[str, Any] = {}
        for keyword in ("definitions", "$defs"):
            found = schema.get(keyword)
            if isinstance(found, Mapping):
                local.update(found)
        body = {key: value for key, value in schema.items() if key not in ("$defs", "definitions", "$schema", "$id")}
        names: dict[str, str] = {}
        pending: list[tuple[str, Any]] = []
        root_name: str | None = None

        def move(reference: str) -> str:
            nonlocal root_name
            if reference != "#" and not reference.startswith("#/"):
                return reference
            steps = reference[2:].split("/") if len(reference) > 1 else []
            if len(steps) >= 2 and steps[0] in ("$defs", "definitions"):
                name = _plain(steps[1])
                if name in local:
                    if name not in names:
                        names[name] = self._name(name, owner, _closure(name, local))
                        pending.append((names[name], local[name]))
                    return "/".join(("#/$defs", names[name], *steps[2:]))
            if root_name is None:
                # The schema refers to itself as a whole (a recursive root), so the whole becomes a definition.
                root_name = self._name(f"{owner}_root", owner, json.dumps(schema, sort_keys=True, default=str))
                pending.append((root_name, body))
            return "/".join(("#/$defs", root_name, *steps))

        moved: dict[str, Any] = _moved(body, move)
        while pending:
            name, definition = pending.pop()
            if name not in self.schemas:
                self.schemas[name] = {}
                self.schemas[name] = _moved(definition, move)
        return moved

    def _name(self, wanted: str, owner: str, content: str) -> str:
        known = self._known.get((wanted, content))
        if known is not None:
            return known
        taken = set(self._known.values())
        name = _UNSAFE.sub("_", wanted)
        if name in taken:
            name = base = _UNSAFE.sub("_", f"{owner}_{wanted}")
            number = 2
            while name in taken:
                name = f"{base}_{number}"
                number += 1
        self._known[wanted, content] = name
        return name


def _plain(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")


def _closure(name: str, local: Mapping[str, Any]) -> str:
    """A definition with all that it refers to, as text: equal texts mean the same definition."""
    reached: dict[str, Any] = {}

    def visit(reference: str) -> str:
        steps = reference.split("/")
        if len(steps) >= 3 and steps[0] == "#" and steps[1] in ("$defs", "definitions"):
            found = _plain(steps[2])
            if found in local and found not in reached:
                reached[found] = local[found]
                todo.append(local[found])
        return reference

    todo: list[Any] = []
    visit(f"#/$defs/{name.replace('~', '~0').replace('/', '~1').replace('%', '%25')}")
    while todo:
        _moved(todo.pop(), visit)
    return json.dumps(reached, sort_keys=True, default=str)


def _moved(schema: Any, move: Callable[[str], str]) -> Any:
    """A copy of ``schema`` in which ``move`` has replaced every reference."""
    if isinstance(schema, (list, tuple)):
        return [_moved(item, move) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    copy: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            copy[key] = move(value)
        elif key in _DATA:
            copy[key] = value
        elif key in _NAMED and isinstance(value, Mapping):
            copy[key] = {name: _moved(item, move) for name, item in value.items()}
        else:
            copy[key] = _moved(value, move)
    return copy
