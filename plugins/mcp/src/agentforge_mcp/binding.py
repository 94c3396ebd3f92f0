"""From definitions to bound tools: safe names, the declared effect, where each comes from, and what runs it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError
from agentforge.tool import BoundTool, Effect, StaticTools, ToolOrigin, known_tools, rename
from agentforge.tool.execution import bound_tool_from
from agentforge.tool.spec import distinct_tool_names
from agentforge_mcp.definition import ServerInfo, ToolDefinition
from agentforge_mcp.executor import McpToolExecutor
from agentforge_mcp.extras import extra_tools
from agentforge_mcp.listing import specification_of
from agentforge_mcp.patterns import fits_any

if TYPE_CHECKING:
    from agentforge_mcp.source import McpTools

__all__ = ("Binding", "bound_tools", "effect_of")


@dataclass(slots=True)
class Binding:
    """Makes the bound tools of one source; one that is as it was stays the same object."""

    source: McpTools
    known: dict[str, tuple[object, BoundTool]] = field(default_factory=dict)

    def bound(self, definition: ToolDefinition, name: str, info: ServerInfo) -> BoundTool:
        """The tool under this name."""
        key = (definition.digest, name, info.name, info.version)
        before = self.known.get(definition.name)
        if before is not None and before[0] == key:
            return before[1]
        options = self.source.options
        names = (definition.name, name)
        effect = effect_of(names, options.effects)
        specification = replace(specification_of(definition, name), metadata={"trust": options.trust})
        server = self.source.connection.name
        serial = f"mcp {server}" if fits_any(names, options.serial) else None
        tool = bound_tool_from(
            specification,
            McpToolExecutor(self.source, definition, effect),
            effect=effect,
            source_name=server,
            timeout=options.timeout,
            serial=serial,
            origin=ToolOrigin(
                "mcp", info.name, info.version, definition.name, dict(definition.annotations), definition.digest
            ),
        )
        self.known[definition.name] = key, tool
        return tool


def bound_tools(binding: Binding, definitions: Sequence[ToolDefinition], info: ServerInfo) -> Sequence[BoundTool]:
    """The tools as they are offered: named safely, then as the view says, and safely again."""
    extras = extra_tools(binding.source, info, taken={each.name for each in definitions})
    own = [each.name for each in definitions]
    names = distinct_tool_names([*own, *(each.name for each in extras)])
    tools = [binding.bound(each, names[each.name], info) for each in definitions]
    binding.known = {name: binding.known[name] for name in own}
    tools += extras
    view = binding.source.options.view
    seen: Sequence[BoundTool] = tuple(view(tools)) if view is not None else tuple(tools)
    return _safe(seen)


def effect_of(names: Collection[str], effects: Mapping[str, Effect]) -> Effect | None:
    """The declared effect of a tool of these names: of the names and patterns that fit the last one decides.

    >>> effect_of(["read_file"], {"*": "write", "read_*": "read"}), effect_of(["a"], {"a": "read", "*": "write"})
    ('read', 'write')
    """
    fitting = [effect for pattern, effect in effects.items() if fits_any(names, [pattern])]
    return fitting[-1] if fitting else None


def _safe(tools: Sequence[BoundTool]) -> Sequence[BoundTool]:
    """A prefix may have made a name too long for a model; two of one name are told to whoever configured them."""
    names = [each.name for each in tools]
    twice = _twice(names)
    if twice is not None:
        raise ConfigurationError(f"two tools get the name {twice!r}", next_step="Give one of them another in rename.")
    safe = distinct_tool_names(names)
    changed = {old: new for old, new in safe.items() if old != new}
    if not changed:
        return tools
    return known_tools(rename(StaticTools(tools), changed)) or ()


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
