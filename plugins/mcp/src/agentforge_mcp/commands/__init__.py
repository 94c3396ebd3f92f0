"""The commands ``agentforge mcp serve|list|inspect|call``."""

from agentforge_mcp.commands.overview import mcp_commands

__all__ = ("mcp_commands",)
