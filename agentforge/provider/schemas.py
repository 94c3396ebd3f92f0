"""Schemas as they go into a request: completed, and in a strict form where that was asked for and is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentforge.errors import ConfigurationError
from agentforge.model import Notice, ToolSpecification
from agentforge.provider.endpoint import Endpoint, policy_setting

if TYPE_CHECKING:
    from agentforge.tool.spec import CompiledSchema, SchemaSize, SchemaSubset

__all__ = ("SentSchema", "complete_schema", "held_schema", "sent_schemas", "subset_of")


@dataclass(frozen=True, slots=True)
class SentSchema:
    """A tool's parameters as they are sent. ``strict``: the provider is asked to hold the model to them; ``asked``:
    whoever declared the tool wanted that, so that what strict calls exclude is settled for them."""

    parameters: dict[str, object]
    strict: bool
    asked: bool


def complete_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """A root object with ``properties`` and without ``$schema``; servers refuse anything less.

    >>> complete_schema({"$schema": "http://json-schema.org/draft-07/schema#"})
    {'type': 'object', 'properties': {}}
    """
    rest = {key: value for key, value in schema.items() if key not in ("$schema", "type", "properties")}
    kind, properties = schema.get("type"), schema.get("properties")
    return {
        "type": kind if kind is not None else "object",
        "properties": properties if properties is not None else {},
        **rest,
    }


def subset_of(endpoint: Endpoint[Any]) -> SchemaSubset:
    """The subset that strict schemas must stay in: the row's, or the one that the profile names instead."""
    from agentforge.tool.spec import PORTABLE, STANDARD

    known = {subset.name: subset for subset in (STANDARD, PORTABLE, endpoint.row.subset)}
    name = endpoint.profile.strict_subset
    if name not in known:
        raise ConfigurationError(
            f"strict_subset is {name!r}, and {endpoint.row.name} has no such subset",
            next_step=f"Use one of {', '.join(sorted(known))}.",
        )
    return known[name]


def sent_schemas(
    tools: Sequence[ToolSpecification], endpoint: Endpoint[Any], notices: list[Notice]
) -> tuple[SentSchema, ...]:
    """The parameters of ``tools`` as they are sent, in their order.

    ``strict`` of a tool is true (strict, with a notice where its schema cannot be, or refused where the profile says
    ``strict_schema: error``), ``auto`` (strict where that is possible, else not, without a word), ``portable`` (in the
    subset that all strict modes share whatever the provider, and strict where the endpoint can), or false or ``None``
    (not strict). Where a request may hold so much that is strict and no more, tools that asked for it come first.
    """
    from agentforge.tool.spec import PORTABLE, compile_schema

    subset = subset_of(endpoint)
    can = _can_be_strict(tools, endpoint)
    compiled: dict[int, CompiledSchema] = {}
    for index, tool in enumerate(tools):
        if tool.strict == "portable":
            compiled[index] = compile_schema(tool.parameters.schema, PORTABLE)
        elif tool.strict and can:
            compiled[index] = compile_schema(tool.parameters.schema, subset)
    reasons = {index: "; ".join(map(str, made.problems)) for index, made in compiled.items() if made.problems}
    reasons |= _without_room(tools, {i: made for i, made in compiled.items() if i not in reasons}, subset)
    sent: list[SentSchema] = []
    for index, tool in enumerate(tools):
        made, what = compiled.get(index), f"tool {tool.name!r}"
        asked = tool.strict is True or tool.strict == "portable"
        is_strict = can and made is not None and index not in reasons
        if asked and made is not None and not is_strict:
            _not_strict(what, reasons.get(index) or "this endpoint has no strict tools", endpoint, notices)
        takes_form = made is not None and not made.problems and (is_strict or tool.strict == "portable")
        if takes_form and made is not None and (asked or endpoint.tells_all):
            notices.extend(_narrowed(what, made))
        parameters = made.schema if takes_form and made is not None else complete_schema(tool.parameters.schema)
        sent.append(SentSchema(parameters, is_strict, asked and is_strict))
    return tuple(sent)


def held_schema(
    schema: Mapping[str, object], what: str, endpoint: Endpoint[Any], notices: list[Notice]
) -> dict[str, object] | None:
    """The strict form of a schema that is no tool's, such as a response format's; ``None`` (with a notice) where it has
    none at this endpoint."""
    from agentforge.tool.spec import compile_schema

    made = compile_schema(schema, subset_of(endpoint))
    if made.problems:
        _not_strict(what, "; ".join(map(str, made.problems)), endpoint, notices)
        return None
    notices.extend(_narrowed(what, made))
    return made.schema


def _can_be_strict(tools: Sequence[ToolSpecification], endpoint: Endpoint[Any]) -> bool:
    """Whether the endpoint has strict tools: by itself, or at the base that the request is moved to for one."""
    if endpoint.profile.strict_tools:
        return True
    moves = endpoint.row.strict_base is not None and endpoint.policy("strict_tools") == "map"
    return moves and any(tool.strict is True for tool in tools)


def _without_room(
    tools: Sequence[ToolSpecification], compiled: Mapping[int, CompiledSchema], subset: SchemaSubset
) -> dict[int, str]:
    """The tools for which a request has no room left, with why."""
    from agentforge.tool.spec import beyond_request_limits

    taken: list[SchemaSize] = []
    found: dict[int, str] = {}
    for index in sorted(compiled, key=lambda index: tools[index].strict == "auto"):
        reason = beyond_request_limits([*taken, compiled[index].size], subset.limits)
        if reason is None:
            taken.append(compiled[index].size)
        else:
            found[index] = reason
    return found


def _not_strict(what: str, reason: str, endpoint: Endpoint[Any], notices: list[Notice]) -> None:
    if endpoint.profile.unsupported.get("strict_schema") == "error":
        endpoint.refuse(
            "strict_schema",
            f"{what} as strict: {reason}",
            f"Change its schema, set strict: auto, or set {policy_setting('strict_schema', 'drop')}.",
        )
    details: dict[str, object] = {"what": what, "problems": reason.split("; ")}
    notices.append(Notice("not_strict", f"{what} was sent without strict: {reason}", details))


def _narrowed(what: str, made: CompiledSchema) -> list[Notice]:
    return [
        Notice("schema_narrowed", f"{what}: {note}", {"what": what, "code": note.code, "path": note.path})
        for note in made.notices
    ]
