"""Models behind Ollama's own chat API for AgentForge: a server of one's own, or Ollama's cloud, as rows of data."""

from agentforge_ollama.model import OllamaChatModel
from agentforge_ollama.rows import VENDORS, OllamaRow, vendor_row

__all__ = ("VENDORS", "OllamaChatModel", "OllamaRow", "vendor_row")
