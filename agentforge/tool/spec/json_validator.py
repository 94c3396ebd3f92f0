"""The JSON Schema validator behind foreign schemas: how it is compiled, and its problems in our words.

Nothing is ever fetched, and patterns run on an engine whose time is linear; where one needs look-around or
back-references, on one that gives up after a bounded number of steps (threat S16).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from agentforge.errors import ArgumentProblem, ToolDeclarationError
from agentforge.model.exact_number import RoundedFloat
from agentforge.tool.spec.coercion import came
from agentforge.tool.spec.walk import rebuild

__all__ = ("compile_validator", "has_many_parts", "problems_in")

_BACKTRACKS = 10_000  # where a pattern needs look-around or back-references; about a millisecond
_TEXT = 300
_MANY = 200
_JSON_TYPES = {"integer": "an integer", "number": "a number", "string": "a text", "boolean": "true or false"}
_JSON_TYPES |= {"array": "a list", "object": "an object", "null": "null"}


def compile_validator(schema: Mapping[str, Any], *, tool: str) -> Any:
    """A compiled validator; raises `ToolDeclarationError` when the schema is none."""
    import jsonschema_rs

    schema = rebuild(schema, _naming_surplus)
    dialect = jsonschema_rs.validator_cls_for(schema)
    engines = (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS))
    reason = ""
    for engine in engines:
        try:
            return dialect(schema, pattern_options=engine, offline=True, mask="the value")
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            reason = str(getattr(error, "message", error)).splitlines()[0][:_TEXT]
    raise ToolDeclarationError(
        f"the schema of tool {tool!r} is not a JSON Schema that can be checked: {reason}",
        tool=tool,
        next_step="Correct the schema, or leave this tool out.",
    )


def _naming_surplus(node: dict[str, Any]) -> dict[str, Any]:
    """A closed object without properties, with none: only then does the validator name the keys that it refuses."""
    return {"properties": {}, **node} if node.get("additionalProperties") is False else node


def problems_in(value: Any, compiled: Any) -> list[ArgumentProblem]:
    """What is wrong with ``value``; of one with very many parts only the first fault, as to list them all would hold
    up everything else."""
    with contextlib.suppress(ValueError):
        if compiled.is_valid(value):
            return []
    # The validator knows decimals, but not our floats that keep their text.
    value = _with_decimals(value)
    if compiled.is_valid(value):
        return []
    if not has_many_parts(value):
        return [problem for error in compiled.iter_errors(value) for problem in _problems_of(error)]
    import jsonschema_rs

    try:
        compiled.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [*_problems_of(error)[:1], ArgumentProblem("", "there may be more problems, which are not listed")]
    return []


def has_many_parts(value: Any) -> bool:
    """Whether so much is in ``value`` that not all that is wrong with it can be listed."""
    parts = 0
    stack = [value]
    while stack and parts <= _MANY:
        item = stack.pop()
        if isinstance(item, (dict, list)):
            parts += len(item)
            stack.extend(item.values() if isinstance(item, dict) else item)
    return parts > _MANY


def _with_decimals(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_decimals(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_decimals(inner) for inner in value]
    return Decimal(value.text) if isinstance(value, RoundedFloat) else value


def _problems_of(error: Any) -> list[ArgumentProblem]:
    """One problem of the validator in our words; several where it names several keys."""
    path = ".".join(str(step) for step in error.instance_path)
    kind = error.kind
    name = kind.name
    if name == "required":
        return [ArgumentProblem(_below(path, kind.property), "is required and was not given")]
    if name in ("additionalProperties", "unevaluatedProperties"):
        where = "is not a known field" if path else "is not a parameter of this tool"
        return [ArgumentProblem(_below(path, str(key)[:80]), where) for key in kind.unexpected]
    if name == "type":
        wanted = " or ".join(_JSON_TYPES.get(each, each) for each in kind.types)
        return [ArgumentProblem(path, f"{wanted} was expected, {came(error.instance)} came")]
    if name == "enum":
        shown = ", ".join(repr(option) for option in kind.options[:20])
        return [ArgumentProblem(path, f"one of {shown[:_TEXT]} was expected, {came(error.instance)} came")]
    if name == "pattern" and not hasattr(kind, "pattern"):  # its engine gave up
        text = (
            f"{came(error.instance)} came, which takes too long to be checked against the pattern; give a shorter one"
        )
        return [ArgumentProblem(path, text)]
    if name == "pattern":
        text = f"a text of the form {kind.pattern[:_TEXT]!r} was expected, {came(error.instance)} came"
        return [ArgumentProblem(path, text)]
    return [ArgumentProblem(path, f"{str(error.message)[:_TEXT]}; {came(error.instance)} came")]


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
