"""Asking a model through its stream where somebody listens: the same reply, with every event told on the way."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from agentforge.errors import StreamTruncatedError
from agentforge.model.chat_model import ChatModel
from agentforge.model.events import ResponseDone
from agentforge.model.request import ChatRequest
from agentforge.model.response import ChatResponse
from agentforge.tool.execution.batch import Emit

__all__ = ("asking",)


def asking(model: ChatModel, emit: Emit) -> Callable[[ChatRequest], Coroutine[Any, Any, ChatResponse]]:
    """A function that asks through the model's stream and hands on every event. Raises `StreamTruncatedError`."""

    async def ask(request: ChatRequest) -> ChatResponse:
        response: ChatResponse | None = None
        events = model.stream(request)
        try:
            async for event in events:
                if type(event) is ResponseDone:
                    response = event.response
                await emit(event)
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        if response is None:
            raise StreamTruncatedError("the model's stream ended without a response")
        return response

    return ask
