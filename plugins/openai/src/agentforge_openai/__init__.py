"""Chat Completions and Responses models for AgentForge: OpenAI, and vendors that speak its forms, as rows of data."""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge_openai.model import OpenAiChatModel
from agentforge_openai.profile import ThinkingRule, VendorRow
from agentforge_openai.responses.form import ResponsesForm
from agentforge_openai.vendors import VENDORS, vendor_row

if TYPE_CHECKING:
    from agentforge_openai.embeddings import OpenAiEmbeddingModel
    from agentforge_openai.responses_model import OpenAiResponsesModel

__all__ = (
    "VENDORS",
    "OpenAiChatModel",
    "OpenAiEmbeddingModel",
    "OpenAiResponsesModel",
    "ResponsesForm",
    "ThinkingRule",
    "VendorRow",
    "vendor_row",
)

# What a program with the one wire does not need.
_HOME = {"OpenAiEmbeddingModel": "embeddings", "OpenAiResponsesModel": "responses_model"}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
