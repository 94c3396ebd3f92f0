"""Chat Completions models for AgentForge: OpenAI and the vendors that speak its form, as rows of data."""

from agentforge_openai.embeddings import OpenAiEmbeddingModel
from agentforge_openai.model import OpenAiChatModel
from agentforge_openai.profile import ThinkingRule, VendorRow
from agentforge_openai.vendors import VENDORS, vendor_row

__all__ = ("VENDORS", "OpenAiChatModel", "OpenAiEmbeddingModel", "ThinkingRule", "VendorRow", "vendor_row")
