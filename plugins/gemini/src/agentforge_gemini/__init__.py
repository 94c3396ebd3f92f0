"""Models behind the generateContent API for AgentForge: Google Gemini, and the models of Vertex AI, as rows of data."""

from __future__ import annotations

from agentforge_gemini.families import GEMINI, ModelFamily
from agentforge_gemini.model import GeminiChatModel
from agentforge_gemini.rows import VENDORS, GeminiRow, vendor_row

__all__ = ("GEMINI", "VENDORS", "GeminiChatModel", "GeminiRow", "ModelFamily", "vendor_row")
