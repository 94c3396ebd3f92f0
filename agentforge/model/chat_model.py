"""The contract that every model fulfils; two ways to ask, one profile that says what it can do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, runtime_checkable

from agentforge.model.events import ChatEvent
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest
from agentforge.model.response import ChatResponse

__all__ = ("ChatModel", "label_of")


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a conversation. Safe to use from many tasks at once; one client per event loop."""

    @property
    def profile(self) -> ModelProfile:
        """What this endpoint and model can do, and what happens where it cannot."""
        ...

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The whole reply. Raises `ModelError`."""
        ...

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The reply as events, `ResponseDone` last. A stream that ends early or carries an error raises `ModelError`;
        closing the iterator closes the connection."""
        ...

    async def aclose(self) -> None:
        """Release connections; safe to call twice."""
        ...


def label_of(model: ChatModel) -> str:
    """What to call a model where several may be meant: its name and, in parentheses, the vendor's row; the name of its
    profile where it has no other."""
    name = getattr(model, "model_name", None)
    return f"{name} ({model.profile.name})" if isinstance(name, str) and name else model.profile.name
