"""Models behind DashScope's own generation API for AgentForge: Qwen, as rows of data."""

from agentforge_dashscope.families import QWEN, ThinkingFamily
from agentforge_dashscope.model import DashScopeChatModel
from agentforge_dashscope.rows import VENDORS, DashScopeRow, vendor_row

__all__ = ("QWEN", "VENDORS", "DashScopeChatModel", "DashScopeRow", "ThinkingFamily", "vendor_row")
