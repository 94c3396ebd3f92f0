"""The front of the framework: a client that holds a model and its tools."""

from agentforge.client.chat_client import ChatClient
from agentforge.client.observer import CallObserver, ChatObserver
from agentforge.client.prompt import Prompt
from agentforge.tool.execution.json_form import event_to_json, result_to_json

__all__ = ("CallObserver", "ChatClient", "ChatObserver", "Prompt", "event_to_json", "result_to_json")
