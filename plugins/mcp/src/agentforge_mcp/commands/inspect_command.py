"""``agentforge mcp inspect NAME``: all that an MCP server offers, what is made of it, and how it was pinned."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli import Console, Parser, count, run_in_order
from agentforge.tool import BoundTool
from agentforge_mcp.commands.servers import servers

if TYPE_CHECKING:
    from agentforge_mcp.definition import ToolDefinition
    from agentforge_mcp.source import McpTools

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """The server, and where to write its pins."""
    parser.add_argument("name", metavar="NAME", help="the mcp.stdio or mcp.http bean")
    parser.add_argument(
        "--pin", metavar="FILE", help="write the digests of its tools as they are now, for the bean's setting pins"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Print it; with ``--pin`` the tools are accepted as they are."""
    from agentforge_mcp.errors import TRY_ALONE, McpConnectionError
    from agentforge_mcp.pins import looking

    try:
        with looking():
            found = run_in_order(_found(options, console))
    except McpConnectionError as error:
        if error.next_step is not None:  # this is what it says to do
            error.next_step = error.next_step.replace(TRY_ALONE, "").strip()
        raise
    if console.json:
        console.data(found)
    else:
        _print(found, console)
    if options.pin is not None:
        console.say(f"pinned {count(len(found['tools']), 'tool')} in {options.pin}")
    return 0


async def _found(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    from agentforge_mcp.pins import pins_of, write_pins

    async with servers(options, console) as known:
        id_ = known.id_of(options.name)
        source = await known.source(id_)
        await source.refresh()
        info = source.connection.server_info
        made: dict[str, Any] = {
            "bean": id_,
            "transport": known.transport(id_),
            "server": info and info.name,
            "version": info and info.version,
            "protocol": info and info.protocol,
            "instructions": info and info.instructions,
            "tools": [_tool(each, source) for each in source.definitions],
            "dropped": [{"name": each.name, "reason": each.reason} for each in source.dropped],
            "resources": [
                {"uri": each.uri, "name": each.name, "description": each.description, "template": each.template}
                for each in await source.connection.list_resources()
            ],
            "prompts": [
                {"name": each.name, "description": each.description, "arguments": [name for name, *_ in each.arguments]}
                for each in await source.connection.list_prompts()
            ],
        }
        if options.pin is not None:
            write_pins(Path(options.pin), id_, pins_of(source.definitions))
        return made


def _tool(definition: ToolDefinition, source: McpTools) -> dict[str, Any]:
    offered = _offered(definition, source)
    return {
        "name": definition.name,
        "offered_as": None if offered is None else offered.name,
        "effect": None if offered is None else offered.effect,
        "title": definition.title,
        "description": definition.description,
        "input_schema": dict(definition.input_schema),
        "output_schema": None if definition.output_schema is None else dict(definition.output_schema),
        "annotations": dict(definition.annotations),
        "digest": definition.digest,
        "pin": _pin(definition, source),
        "flags": list(definition.flags),
    }


def _offered(definition: ToolDefinition, source: McpTools) -> BoundTool | None:
    for tool in source.known_tools() or ():
        if tool.origin is not None and tool.origin.name == definition.name:
            return tool
    return None


def _pin(definition: ToolDefinition, source: McpTools) -> str:
    """What its pin says: none, as pinned, changed or new; held back where it is not offered for that."""
    pins = source.options.pins
    if pins is None:
        return "none"
    was = pins.get(definition.name)
    state = "new" if was is None else "pinned" if was == definition.digest else "changed"
    return f"{state}, held back" if definition.name in source.held_back else state


def _print(found: dict[str, Any], console: Console) -> None:
    version = f" {found['version']}" if found["version"] else ""
    console.out(f"{found['server']}{version} (bean {found['bean']}, {found['transport']}, {found['protocol']})")
    if found["instructions"]:
        console.out(f"\n{found['instructions']}")
    for tool in found["tools"]:
        renamed = "" if tool["offered_as"] in (None, tool["name"]) else f" (offered as {tool['offered_as']})"
        left_out = " (not offered)" if tool["offered_as"] is None else ""
        console.out(f"\n{tool['name']}{renamed}{left_out}")
        for line in (tool["description"] or "").splitlines():
            console.out(f"  {line}")
        console.out(f"  input: {_json(tool['input_schema'])}")
        if tool["output_schema"] is not None:
            console.out(f"  output: {_json(tool['output_schema'])}")
        if tool["annotations"]:
            console.out(f"  hints, as the server gives them: {_json(tool['annotations'])}")
        console.out(f"  effect: {tool['effect'] or 'undeclared'}")
        console.out(f"  digest: {tool['digest']}, pin: {tool['pin']}")
        for flag in tool["flags"]:
            console.out(f"  odd: {flag}")
    for each in found["dropped"]:
        console.out(f"\n{each['name']}: left out, {each['reason']}")
    for title, key, name in (("resources", "resources", "uri"), ("prompts", "prompts", "name")):
        if found[key]:
            console.out(f"\n{title}:")
            for each in found[key]:
                first = (each["description"] or "").partition("\n")[0]
                console.out(f"  {each[name]}{f'  {first}' if first else ''}")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
