"""The front of the framework: a client that holds a model and its tools."""

from agentforge.client.chat_client import ChatClient
from agentforge.client.observer import ChatObserver

__all__ = ("ChatClient", "ChatObserver")
