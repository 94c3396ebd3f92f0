"""Values of the run in place of a model's: taken out of the schema, so that no model sees or sets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentforge_http.encoding import RUN_ARGUMENT
from agentforge_http.operation import HttpOperation, HttpParameter
from agentforge_http.run_values import RunValue

__all__ = ("with_run_values",)


def with_run_values(
    operation: HttpOperation, from_context: Iterable[RunValue]
) -> tuple[HttpOperation, dict[str, RunValue]]:
    """The operation with what comes from the run taken out of its schema, and these values by argument.

    A value for an argument, or for a parameter's place and wire name, takes its place; it has to be there where it had
    to be, or where the entry says so. One for a header, query member or cookie that is no parameter adds one.
    """
    values: dict[str, RunValue] = {}
    added: list[HttpParameter] = []
    for value in from_context:
        if value.place is None:
            names = [value.name] if value.name in _arguments_of(operation) else []
        else:
            names = [
                each.argument
                for each in operation.parameters
                if each.place == value.place and _same_name(each.name, value.name, value.place)
            ]
        for name in names:
            needed = name in _required(operation.schema)
            values[name] = value if needed else replace(value, required=value.required and value.place is not None)
        if not names and value.place in ("header", "query", "cookie"):
            argument = f"{RUN_ARGUMENT}{value.place}.{value.name}"
            style: Literal["simple", "form"] = "simple" if value.place == "header" else "form"
            added.append(HttpParameter(argument, value.name, value.place, style, style == "form"))
            values[argument] = value
    schema = _without(operation.schema, values)
    parameters = tuple(
        each if each.argument not in values else replace(each, argument=f"{RUN_ARGUMENT}{each.argument}")
        for each in operation.parameters
    )
    body = operation.body
    if body is not None:
        members = {_hidden(name, values): wire for name, wire in body.members.items()}
        whole = _hidden(body.argument, values) if body.argument is not None else None
        body = replace(body, members=members, argument=whole)
    hidden = {_hidden(name, values): value for name, value in values.items()}
    return replace(operation, schema=schema, parameters=(*parameters, *added), body=body), hidden


def _hidden(name: str, values: Mapping[str, RunValue]) -> str:
    """A name that no argument of a model can have."""
    return f"{RUN_ARGUMENT}{name}" if name in values and not name.startswith(RUN_ARGUMENT) else name


def _same_name(one: str, other: str, place: str) -> bool:
    return one.lower() == other.lower() if place == "header" else one == other


def _arguments_of(operation: HttpOperation) -> set[str]:
    body = operation.body
    of_body = () if body is None else (*body.members, *((body.argument,) if body.argument is not None else ()))
    return {*(each.argument for each in operation.parameters), *of_body}


def _required(schema: Mapping[str, Any]) -> Sequence[str]:
    found = schema.get("required")
    return found if isinstance(found, list | tuple) else ()


def _without(schema: Mapping[str, Any], names: Mapping[str, RunValue]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not any(name in properties for name in names):
        return schema
    made = {**schema, "properties": {name: each for name, each in properties.items() if name not in names}}
    if "required" in schema:
        made["required"] = [name for name in _required(schema) if name not in names]
    return made
