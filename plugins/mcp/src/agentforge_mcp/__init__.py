"""MCP servers as tools, and our tools as an MCP server.

In Python: a server (`StdioServer`, `HttpServer`), a connection to it (`McpConnection`), and its tools (`McpTools`).
Names are loaded on first use; the SDK is loaded when a server starts.
"""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge_mcp.connection import McpConnection
    from agentforge_mcp.definition import ServerInfo, ToolDefinition
    from agentforge_mcp.environment import environment_of
    from agentforge_mcp.errors import McpConnectionError, McpLostError, McpRequestError
    from agentforge_mcp.executor import McpToolExecutor
    from agentforge_mcp.options import (
        ElicitationRequest,
        HttpServer,
        McpOptions,
        OAuthClient,
        RestartPolicy,
        StdioServer,
    )
    from agentforge_mcp.source import McpTools, SourceOptions

__all__ = (
    "ElicitationRequest",
    "HttpServer",
    "McpConnection",
    "McpConnectionError",
    "McpLostError",
    "McpOptions",
    "McpRequestError",
    "McpToolExecutor",
    "McpTools",
    "OAuthClient",
    "RestartPolicy",
    "ServerInfo",
    "SourceOptions",
    "StdioServer",
    "ToolDefinition",
    "environment_of",
)

_HOME = {
    "ElicitationRequest": "options",
    "HttpServer": "options",
    "McpConnection": "connection",
    "McpConnectionError": "errors",
    "McpLostError": "errors",
    "McpOptions": "options",
    "McpRequestError": "errors",
    "McpToolExecutor": "executor",
    "McpTools": "source",
    "OAuthClient": "options",
    "RestartPolicy": "options",
    "ServerInfo": "definition",
    "SourceOptions": "source",
    "StdioServer": "options",
    "ToolDefinition": "definition",
    "environment_of": "environment",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
