"""The commands ``agentforge mcp serve|list|inspect|call``, one module each, loaded when they run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentforge.cli import Console
    from agentforge.plugin import Command

__all__ = ("mcp_commands",)

_COMMANDS = (
    ("serve", "[--stdio|--http]", "offer the configured tools to MCP clients"),
    ("list", "", "the MCP servers of the configuration, and whether they are there"),
    ("inspect", "NAME", "what one of them offers, and how it was pinned"),
    ("call", "NAME TOOL [JSON]", "one call on one of them, without a model"),
)


def mcp_commands() -> Iterator[Command]:
    """All of them, for the hook ``agentforge_commands``."""
    from agentforge.plugin import Command

    for name, form, summary in _COMMANDS:
        yield Command(name, summary, _run(name), form, _arguments(name))


def _run(name: str) -> Callable[..., int]:
    def run(options: argparse.Namespace, console: Console) -> int:
        code: int = _module(name).run(options, console)
        return code

    return run


def _arguments(name: str) -> Callable[[Any], None]:
    return lambda parser: _module(name).arguments(parser)


def _module(name: str) -> Any:
    return import_module(f"agentforge_mcp.commands.{name}_command")
