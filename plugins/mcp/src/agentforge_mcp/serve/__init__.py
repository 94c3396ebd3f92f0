"""Our tools for others: an MCP server over what an application offers its models."""

from agentforge_mcp.serve.host import McpServer
from agentforge_mcp.serve.http_options import HttpOptions

__all__ = ("HttpOptions", "McpServer")
