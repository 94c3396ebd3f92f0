"""The front of the framework: a client that holds a model and its tools, and AI services on top of one."""

from typing import TYPE_CHECKING

from agentforge.client.chat_client import ChatClient
from agentforge.client.observer import CallObserver, ChatObserver
from agentforge.client.prompt import Prompt
from agentforge.later import loaded_later
from agentforge.tool.execution.json_form import event_to_json, result_to_json

if TYPE_CHECKING:
    from agentforge.client.services import (
        PromptTemplate,
        Result,
        ServiceDeclarationError,
        ServiceMethod,
        ServiceSuspendedError,
        ai_service,
        implementation_of,
        resuming,
        service_faults,
        service_method,
        system,
        user,
    )
    from agentforge.client.structured import StructuredPrompt, StructuredReply

__all__ = (
    "CallObserver",
    "ChatClient",
    "ChatObserver",
    "Prompt",
    "PromptTemplate",
    "Result",
    "ServiceDeclarationError",
    "ServiceMethod",
    "ServiceSuspendedError",
    "StructuredPrompt",
    "StructuredReply",
    "ai_service",
    "event_to_json",
    "implementation_of",
    "result_to_json",
    "resuming",
    "service_faults",
    "service_method",
    "system",
    "user",
)

_HOME = {
    "PromptTemplate": "services",
    "Result": "services",
    "ServiceDeclarationError": "services",
    "ServiceMethod": "services",
    "ServiceSuspendedError": "services",
    "StructuredPrompt": "structured",
    "StructuredReply": "structured",
    "ai_service": "services",
    "implementation_of": "services",
    "resuming": "services",
    "service_method": "services",
    "service_faults": "services",
    "system": "services",
    "user": "services",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
