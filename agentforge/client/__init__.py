"""The front of the framework: a client that holds a model and its tools."""

from typing import TYPE_CHECKING

from agentforge.client.chat_client import ChatClient
from agentforge.client.observer import CallObserver, ChatObserver
from agentforge.client.prompt import Prompt
from agentforge.later import loaded_later
from agentforge.tool.execution.json_form import event_to_json, result_to_json

if TYPE_CHECKING:
    from agentforge.client.structured import StructuredPrompt, StructuredReply

__all__ = (
    "CallObserver",
    "ChatClient",
    "ChatObserver",
    "Prompt",
    "StructuredPrompt",
    "StructuredReply",
    "event_to_json",
    "result_to_json",
)

_HOME = {"StructuredPrompt": "structured", "StructuredReply": "structured"}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
