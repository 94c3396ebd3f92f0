"""From what a server lists to definitions: all pages, each tool judged by itself, one bad tool costs no other.

A listing is a stranger's data: names may be absurd, schemas bombs, cursors may go round in a circle.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.model import ToolParameters, ToolSpecification
from agentforge.tool.execution import bound_tool_from
from agentforge_mcp.definition import DroppedTool, ToolDefinition
from agentforge_mcp.pins import digest_of
from agentforge_mcp.server_log import shown

__all__ = ("Listing", "all_pages", "definition_of", "hidden_characters", "listing_of", "specification_of")

_MAX_NAME = 256
_MAX_DESCRIPTION = 32_768
_MAX_SCHEMA = 256 * 1024  # characters of a schema, as JSON
_HIDDEN = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


@dataclass(frozen=True, slots=True)
class Listing:
    """The definitions of a server, those that cannot be offered, and what was odd about the listing itself."""

    tools: tuple[ToolDefinition, ...] = ()
    dropped: tuple[DroppedTool, ...] = ()
    warnings: tuple[str, ...] = ()


async def all_pages(
    ask: Callable[[str | None], Awaitable[tuple[Sequence[Any], str | None]]], *, max_pages: int, max_items: int
) -> tuple[list[Any], tuple[str, ...]]:
    """The items of all pages, and warnings. ``ask`` gives a page and the cursor of the next one. Empty pages are pages;
    a cursor that comes again ends the listing, as do the bounds."""
    items: list[Any] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(max_pages):
        page, cursor = await ask(cursor)
        items.extend(page)
        if len(items) > max_items:
            return items[:max_items], (f"it lists more than {max_items:,}; the rest was not taken",)
        if cursor is None:
            return items, ()
        if cursor in seen:
            return items, ("it gave the same cursor again; the listing ends there",)
        seen.add(cursor)
    return items, (f"it has more than {max_pages} pages; the rest was not asked for",)


def listing_of(
    found: Iterable[ToolDefinition | DroppedTool],
    warnings: Sequence[str] = (),
    refused: Mapping[str, str] | None = None,
) -> Listing:
    """The tools and the others; ``refused`` are names that the protocol forbids, each with the reason. A name that
    comes again is the first one's."""
    tools: dict[str, ToolDefinition] = {}
    dropped: list[DroppedTool] = []
    for each in found:
        made = each
        if isinstance(made, ToolDefinition) and refused and made.name in refused:
            made = DroppedTool(made.name, refused[made.name])
        if isinstance(made, DroppedTool):
            dropped.append(made)
        elif made.name not in tools:
            tools[made.name] = made
        elif tools[made.name] != made:
            dropped.append(DroppedTool(made.name, "another tool of this name was listed before"))
    return Listing(tuple(tools.values()), tuple(dropped), tuple(warnings))


def definition_of(raw: object) -> ToolDefinition | DroppedTool:
    """A tool as it came on the wire, as a definition; or why it cannot be offered."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str) or not raw["name"]:
        return DroppedTool("?", "it has no name")
    name: str = raw["name"]
    label = shown(name, 80)
    if len(name) > _MAX_NAME:
        return DroppedTool(label, f"its name has more than {_MAX_NAME} characters")
    if any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in name):
        return DroppedTool(label, "its name has control characters")
    description = raw.get("description") or ""
    if not isinstance(description, str):
        return DroppedTool(label, "its description is no text")
    if len(description) > _MAX_DESCRIPTION:
        return DroppedTool(label, f"its description has more than {_MAX_DESCRIPTION:,} characters")
    schema = raw.get("inputSchema")
    if not isinstance(schema, Mapping):
        return DroppedTool(label, "it has no input schema")
    execution = raw.get("execution")
    if isinstance(execution, Mapping) and execution.get("taskSupport") == "required":
        return DroppedTool(label, "it runs only as a task, which the newest version of the protocol does not have")
    annotations, output, title = raw.get("annotations"), raw.get("outputSchema"), raw.get("title")
    made = ToolDefinition(
        name,
        description,
        schema,
        output if isinstance(output, Mapping) else None,
        title if isinstance(title, str) else None,
        annotations if isinstance(annotations, Mapping) else {},
    )
    reason = _fault(made)
    if reason is not None:
        return DroppedTool(label, reason)
    hidden = hidden_characters(name + description)
    flags = (f"its name or description has hidden characters: {', '.join(hidden)}",) if hidden else ()
    return replace(made, digest=digest_of(made), flags=flags)


def _fault(definition: ToolDefinition) -> str | None:
    """What is wrong with the schema: too large, too deep, none at all, or one that refers to what is not in it."""
    parts = (("schema", definition.input_schema), ("output schema", definition.output_schema))
    for name, part in (*parts, ("list of annotations", definition.annotations)):
        try:
            size = len(json.dumps(part))
        except (ValueError, RecursionError):
            return f"its {name} is nested too deep"
        if size > _MAX_SCHEMA:
            return f"its {name} has more than {_MAX_SCHEMA:,} characters"
    try:
        tool = bound_tool_from(specification_of(definition, "tool"), lambda request: "")
        prepare = getattr(tool.bind, "prepare", None)
        if prepare is not None:
            prepare()  # compiles it: patterns and keywords are looked at before anybody is offered the tool
    except ToolDeclarationError as error:
        return shown(error.message.removeprefix("the schema of tool 'tool' "), 300)
    except RecursionError:
        return "its schema is nested too deep"
    return None


def specification_of(definition: ToolDefinition, name: str) -> ToolSpecification:
    """The definition as a specification of that name; its schema is as it came, of type object where it names none."""
    schema = dict(definition.input_schema)
    schema.setdefault("type", "object")
    description = definition.description or definition.title or str(definition.annotations.get("title") or "")
    return ToolSpecification(name, description, ToolParameters(schema))


def hidden_characters(text: str) -> tuple[str, ...]:
    """The characters that a person does not see and a model reads, each once, by number.

    >>> hidden_characters("ad" + chr(0x200b) + "d" + chr(0xE0041))
    ('U+200B', 'U+E0041')
    """
    found = set(_HIDDEN.findall(text))
    found |= {each for each in text if 0xE0000 <= ord(each) <= 0xE0FFF}
    return tuple(f"U+{ord(each):04X}" for each in sorted(found))
