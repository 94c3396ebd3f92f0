"""How questions are put to a model: bounded, counted, and with what one answer may save another question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentforge.errors import ModelTimeoutError, ProtocolError, UnsupportedFeatureError
from agentforge.model import (
    ChatEvent,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    ResponseDone,
    ToolChoice,
)

__all__ = ("Asker", "Conversation")

#: Between the limit of the exchange itself, which says more of what happened, and ours.
_GRACE = 1.0


@dataclass(frozen=True, slots=True)
class Conversation:
    """A reply with a call, and what it was the reply to."""

    messages: tuple[ChatMessage, ...]
    parameters: dict[str, Any]
    response: ChatResponse


class Asker:
    """Asks ``model``. ``max_tokens`` bounds each reply, ``timeout`` (seconds) each exchange. ``sent`` counts
    the requests that went out."""

    def __init__(self, model: ChatModel, *, max_tokens: int, timeout: float) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._timeout = timeout
        self.sent = 0
        #: Whether the endpoint answers streamed requests only.
        self.only_streams = False
        #: What makes the model call a tool; ``None`` where no way is known.
        self.calling: ToolChoice | None = ToolChoice.AUTO
        #: Whether a call can be forced, as far as known.
        self.forces = True
        #: Replies with a call that later questions go on from: a plain one, and one with reasoning.
        self.called: Conversation | None = None
        self.reasoned: Conversation | None = None
        self.sought_reasoning = False
        #: A streamed call, which two questions look at.
        self.streamed: tuple[Sequence[ChatEvent], ChatResponse] | None = None

    def twin(self, model: ChatModel) -> Asker:
        """One for another model that goes on from the same replies."""
        made = Asker(model, max_tokens=self._max_tokens, timeout=self._timeout)
        made.calling, made.forces, made.called = self.calling, self.forces, self.called
        made.reasoned, made.sought_reasoning = self.reasoned, self.sought_reasoning
        return made

    async def ask(self, messages: str | Iterable[ChatMessage], **parameters: Any) -> ChatResponse:
        """A whole reply. Raises `ModelError`."""
        if self.only_streams:
            return (await self.stream(messages, **parameters))[1]
        request = self._request(messages, parameters)
        try:
            async with asyncio.timeout(self._timeout + _GRACE):
                return await self._model.chat(request)
        except UnsupportedFeatureError:
            self.sent -= 1
            raise
        except TimeoutError as error:
            raise self._timed_out(error) from None

    async def stream(
        self, messages: str | Iterable[ChatMessage], **parameters: Any
    ) -> tuple[Sequence[ChatEvent], ChatResponse]:
        """A streamed reply: its events, and the response at its end. Raises `ModelError`."""
        request = self._request(messages, parameters)
        found: list[ChatEvent] = []
        try:
            async with asyncio.timeout(self._timeout + _GRACE), aclosing(self._model.stream(request)) as events:
                async for event in events:
                    found.append(event)
        except UnsupportedFeatureError:
            self.sent -= 1
            raise
        except TimeoutError as error:
            raise self._timed_out(error) from None
        if not found or not isinstance(found[-1], ResponseDone):
            raise ProtocolError("the stream ended without a response")
        return found, found[-1].response

    def _request(self, messages: str | Iterable[ChatMessage], parameters: dict[str, Any]) -> ChatRequest:
        self.sent += 1
        return ChatRequest(messages, ChatRequestParameters(max_output_tokens=self._max_tokens, **parameters))

    def _timed_out(self, error: TimeoutError) -> ModelTimeoutError:
        if isinstance(error, ModelTimeoutError):
            return error
        return ModelTimeoutError(
            f"no answer within {self._timeout:g} seconds",
            next_step="Check that the endpoint is up; --timeout gives it longer.",
        )
