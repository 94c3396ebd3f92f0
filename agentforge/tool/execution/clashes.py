"""Two tools of one name in one request: an error that names both sources, or each gets its source's name in front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from agentforge.errors import DuplicateToolError
from agentforge.tool.source import BoundTool

__all__ = ("OnClash", "apart", "clash_error")

OnClash: TypeAlias = Literal["error", "prefix"]
"""What is done when two sources offer tools of one name."""


def apart(groups: Sequence[Sequence[BoundTool]]) -> list[list[BoundTool]]:
    """The tools with ``SOURCE_`` in front of every name that several sources offer; a function of this program keeps
    its name where it is the only one. Two tools of one name from one source stay as they are, to be found out.

    One rule for functions, HTTP and MCP tools, whatever order their sources stand in.
    """
    offering: dict[str, Counter[str]] = {}
    local: Counter[str] = Counter()
    for group in groups:
        for tool in group:
            offering.setdefault(tool.name, Counter())[tool.source_name] += 1
            local[tool.name] += tool.origin is None

    def own(tool: BoundTool) -> bool:
        return len(offering[tool.name]) < 2 or (tool.origin is None and local[tool.name] == 1)

    return [[tool if own(tool) else _prefixed(tool) for tool in group] for group in groups]


def clash_error(name: str, first: str, second: str) -> DuplicateToolError:
    """The error that names both."""
    return DuplicateToolError(
        f"two tools are named {name!r}: one from {first}, one from {second}",
        tool=name,
        next_step="Rename one, give one source a prefix, or set on_clash to prefix.",
    )


def _prefixed(tool: BoundTool) -> BoundTool:
    # Imported here: views are loaded by those who use them.
    from agentforge.tool.spec.naming import safe_tool_name
    from agentforge.tool.views import renamed

    return renamed(tool, safe_tool_name(f"{tool.source_name}_{tool.name}"))
