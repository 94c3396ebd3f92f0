"""The plugin: the bean types ``mcp.stdio``, ``mcp.http`` and ``mcp.server``, and the commands of ``agentforge mcp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentforge.plugin import hookimpl

if TYPE_CHECKING:
    from agentforge.plugin import BeanType, Command

__all__ = ("AGENTFORGE_API", "agentforge_bean_types", "agentforge_commands")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    from agentforge.plugin import BeanType
    from agentforge_mcp.beans import check_http, check_stdio, endpoints_of, make_http, make_stdio
    from agentforge_mcp.serve.settings import SERVER_TYPE
    from agentforge_mcp.settings import McpHttpSettings, McpStdioSettings
    from agentforge_mcp.source import McpTools

    register(
        BeanType(
            "mcp.stdio",
            McpStdioSettings,
            make_stdio,
            McpTools,
            "The tools of an MCP server that is a program of this machine.",
            check=check_stdio,
        )
    )
    register(
        BeanType(
            "mcp.http",
            McpHttpSettings,
            make_http,
            McpTools,
            "The tools of an MCP server behind an address.",
            check=check_http,
            endpoints=endpoints_of,
        )
    )
    register(SERVER_TYPE)


@hookimpl
def agentforge_commands(register: Callable[[Command], None]) -> None:
    """The commands of this plugin."""
    from agentforge_mcp.commands import mcp_commands

    for each in mcp_commands():
        register(each)
