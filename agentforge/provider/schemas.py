"""Schemas as they go into a request: strict where that was asked for and can be, else in what the endpoint takes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentforge.errors import ConfigurationError
from agentforge.model import Notice, ToolSpecification
from agentforge.provider.endpoint import Endpoint, policy_setting

if TYPE_CHECKING:
    from agentforge.tool.spec import CompiledSchema, SchemaNote, SchemaSize, SchemaSubset

__all__ = ("SentSchema", "complete_schema", "held_schema", "plain_schema", "sent_schemas", "subset_of")

#: What a schema that is not strict has lost for the model, as words of the description do not say it.
_UNSEEN = frozenset({"left_out", "narrowed", "widened"})
_NAMED_PARTS, _LISTED_PARTS = 3, 50
_MOST_COMPILED = 512


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

    What is not strict goes out as it is, or as `plain_schema` gives it.
    """
    from agentforge.tool.spec import PORTABLE

    subset = subset_of(endpoint)
    can = _can_be_strict(tools, endpoint)
    compiled: dict[int, CompiledSchema] = {}
    for index, tool in enumerate(tools):
        if tool.strict == "portable":
            compiled[index] = _compiled(tool.parameters.schema, PORTABLE)
        elif tool.strict and can:
            compiled[index] = _compiled(tool.parameters.schema, subset)
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
        schema = made.schema if takes_form and made is not None else tool.parameters.schema
        parameters = dict(schema) if is_strict else plain_schema(schema, what, endpoint, notices)
        sent.append(SentSchema(parameters, is_strict, asked and is_strict))
    return tuple(sent)


def plain_schema(
    schema: Mapping[str, object],
    what: str,
    endpoint: Endpoint[Any],
    notices: list[Notice],
    *,
    subset: SchemaSubset | None = None,
    feature: str = "tool_schema",
) -> dict[str, object]:
    """A schema that no model is held to: in ``subset`` (unset: the row's ``schemas``), or only completed where the
    endpoint takes any.

    What the model is not shown is said in one notice (``schema_simplified``). A schema that has no form there is
    refused before the request, or sent without the parts that have none where the policy of ``feature`` is another
    than ``error``.
    """
    taken = subset or endpoint.row.schemas
    if taken is None:
        return complete_schema(schema)
    made = _compiled(schema, taken, strict=False)
    if made.problems and endpoint.policy(feature) == "error":
        endpoint.refuse(
            feature,
            f"the schema of {what}: {'; '.join(map(str, made.problems))}",
            f"Change the schema, or set {policy_setting(feature, 'drop')} to send it without these parts.",
        )
    unseen = [note for note in made.notices if note.code in _UNSEEN or endpoint.tells_all]
    if made.problems or unseen:
        notices.append(_simplified(what, [*made.problems, *unseen]))
    return dict(made.schema)


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


#: By the schema's identity, which the entry keeps alive; a schema that was sent is not changed any more. Tools are
#: offered again and again in ever other company, as a search for tools does.
_known: OrderedDict[tuple[int, SchemaSubset, bool], tuple[Mapping[str, object], CompiledSchema]] = OrderedDict()


def _compiled(schema: Mapping[str, object], subset: SchemaSubset, *, strict: bool = True) -> CompiledSchema:
    from agentforge.tool.spec import compile_schema

    key = (id(schema), subset, strict)
    found = _known.get(key)
    if found is not None:
        return found[1]
    made = compile_schema(schema, subset, strict=strict)
    _known[key] = (schema, made)
    if len(_known) > _MOST_COMPILED:
        with suppress(KeyError):  # another thread was as fast
            _known.popitem(last=False)
    return made


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


def _simplified(what: str, notes: Sequence[SchemaNote]) -> Notice:
    """One notice for a whole schema: most tools of an API have the same few parts that an endpoint does not take."""
    words = "; ".join(map(str, notes[:_NAMED_PARTS]))
    more = f"; and {len(notes) - _NAMED_PARTS} more" if len(notes) > _NAMED_PARTS else ""
    parts = [{"code": note.code, "path": note.path, "text": note.text} for note in notes[:_LISTED_PARTS]]
    return Notice(
        "schema_simplified", f"{what} was sent with a simpler schema: {words}{more}", {"what": what, "parts": parts}
    )
