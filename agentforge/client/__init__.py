"""The front of the framework: a client that holds a model and its tools."""

from typing import TYPE_CHECKING

from agentforge.client.chat_client import ChatClient
from agentforge.client.observer import CallObserver, ChatObserver
from agentforge.client.prompt import Prompt
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

del TYPE_CHECKING  # what is visible here is public


def __getattr__(name: str) -> object:
    if name not in ("StructuredPrompt", "StructuredReply"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentforge.client import structured

    value = globals()[name] = getattr(structured, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
