"""The MCP servers of a configuration, one by one: what else is in the file is not made, so that a server can be tried
whatever the rest is like."""

from __future__ import annotations

import argparse
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from typing import TYPE_CHECKING

from agentforge.cli import Console, beans_of, compiled, one_bean
from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from agentforge.container import AgentForge
    from agentforge_mcp.source import McpTools

__all__ = ("Servers", "servers")


class Servers:
    """The servers of a started application in which nothing is made before it is asked for."""

    def __init__(self, app: AgentForge, ids: tuple[str, ...]) -> None:
        self.app = app
        self.ids = ids

    def id_of(self, name: str) -> str:
        """The bean of this name. Raises `ConfigurationError` that lists what there is."""
        from agentforge_mcp.source import McpTools

        return one_bean(self.app, name, "MCP server", McpTools)

    def transport(self, id_: str) -> str:
        """``stdio`` or ``http``."""
        return self.app.plan.beans[id_].type_name.partition(".")[2]

    async def source(self, id_: str) -> McpTools:
        """The bean; its server is not started."""
        found: McpTools = await self.app.resolve(id_)
        return found


@asynccontextmanager
async def servers(options: argparse.Namespace, console: Console) -> AsyncIterator[Servers]:
    """The configuration's servers. Raises `ConfigurationError` where there is none."""
    from agentforge_mcp.source import McpTools

    quiet = copy(console)
    quiet.stderr = io.StringIO()  # its warnings are said below
    plan = compiled(options, quiet).plan
    lazily = argparse.Namespace(**vars(options))
    lazily.set = [*(options.set or ()), *(f"beans.{id_}.bean.lazy=true" for id_ in plan.declared)]
    app = compiled(lazily, console)
    found = tuple(beans_of(app, McpTools))
    if not found:
        raise ConfigurationError(
            "the configuration has no MCP server", next_step="Add a bean of type mcp.stdio or mcp.http."
        )
    async with app:
        yield Servers(app, found)
