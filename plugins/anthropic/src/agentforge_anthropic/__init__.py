"""Models behind the Messages API for AgentForge: Anthropic and the hosts that speak its form, as rows of data."""

from agentforge_anthropic.families import CLAUDE, ModelFamily
from agentforge_anthropic.model import AnthropicChatModel
from agentforge_anthropic.rows import VENDORS, MessagesRow, vendor_row

__all__ = ("CLAUDE", "VENDORS", "AnthropicChatModel", "MessagesRow", "ModelFamily", "vendor_row")
