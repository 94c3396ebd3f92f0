"""What the tests of every wire ask: what a model would send, and what its wire makes of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from agentforge.errors import ModelError
from agentforge.http import RetryPolicy
from agentforge.model import (
    ChatEvent,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Message,
    Notice,
    ResponseDone,
    ToolParameters,
    ToolSpecification,
)
from agentforge.provider import Decoder
from tests.support.listed_answers import ListedAnswers

__all__ = (
    "AT_ONCE",
    "KEY",
    "TIME",
    "WEATHER",
    "Asking",
    "PreviewedModel",
    "Reading",
    "calls_of",
    "numbered_ids",
    "offline",
)

#: One retry that does not wait.
AT_ONCE = RetryPolicy(max_retries=1, base=0.001, cap=0.001)

KEY = "key-for-tests"

WEATHER = ToolSpecification(
    "get_weather",
    "current weather of a city",
    ToolParameters.builder().add_property("city", "string", "name of the city", required=True).build(),
)
TIME = ToolSpecification(
    "get_time", "the time in a city", ToolParameters.builder().add_property("city", "string", required=True).build()
)

Model = TypeVar("Model")
Answered = TypeVar("Answered")


class PreviewedModel(Protocol):
    """What is asked of a model here."""

    async def chat(self, request: ChatRequest, /) -> ChatResponse: ...

    def preview(self, request: ChatRequest, /, *, stream: bool = False) -> tuple[bytes, tuple[Notice, ...]]: ...


def offline(kind: Callable[..., Model], transport: ListedAnswers, **settings: Any) -> Model:
    """A model of that kind over the transport, without retries and variables unless the settings have some."""
    return kind(transport=transport, **{"environment": {}, "max_retries": 0, **settings})


class Asking:
    """Asks models which ``model_on`` makes over such transports, with its options; all without a network."""

    def __init__(self, model_on: Callable[..., PreviewedModel], transport: type[ListedAnswers]) -> None:
        self._model_on = model_on
        self._transport = transport

    def exchange(
        self,
        messages: str | Sequence[Message] = "Hello",
        parameters: ChatRequestParameters | None = None,
        answer: Any = None,
        **options: Any,
    ) -> tuple[dict[str, Any], ChatResponse]:
        """The body that one plain request makes, and the response to ``answer``, which is the good one."""
        transport = self._transport() if answer is None else self._transport(answer)
        response = asyncio.run(self._model_on(transport, **options).chat(_request(messages, parameters)))
        return transport.bodies[-1], response

    def body_of(
        self,
        messages: str | Sequence[Message] = "Hello",
        parameters: ChatRequestParameters | None = None,
        *,
        stream: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """The body that a request would have."""
        body, _ = self._model_on(**options).preview(_request(messages, parameters), stream=stream)
        found: dict[str, Any] = json.loads(body)
        return found

    def notice_codes(
        self,
        messages: str | Sequence[Message] = "Hello",
        parameters: ChatRequestParameters | None = None,
        **options: Any,
    ) -> list[str]:
        """The codes of what is told of a request."""
        _, notices = self._model_on(**options).preview(_request(messages, parameters))
        return [notice.code for notice in notices]


class Reading(Generic[Answered]):
    """Reads answers of one wire, with ids that can be foretold; ``changes`` are of what decoding is told."""

    def __init__(
        self,
        provider: str,
        answering: Callable[..., Answered],
        decode: Callable[[bytes, Answered], ChatResponse],
        decoder: Callable[[Answered], Decoder],
    ) -> None:
        self._provider = provider
        self._answering = answering
        self._decode = decode
        self._decoder = decoder

    def answering(self, **changes: Any) -> Answered:
        """What decoding needs."""
        return self._answering(**{"provider": self._provider, "new_id": numbered_ids(), **changes})

    def plain(self, body: Any, **changes: Any) -> ChatResponse:
        """A plain body (an object is read as JSON) decoded."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._decode(content, self.answering(**changes))

    def events_in(self, *pieces: bytes, **changes: Any) -> list[ChatEvent]:
        """All events of a stream's body, which comes in these pieces."""
        decoder = self._decoder(self.answering(**changes))
        return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.finish()]

    def streamed(self, *pieces: bytes, **changes: Any) -> ChatResponse:
        """The response of a stream's body."""
        last = self.events_in(*pieces, **changes)[-1]
        assert isinstance(last, ResponseDone)
        return last.response

    def outcome(self, *pieces: bytes) -> tuple[list[ChatEvent], str]:
        """The events of a stream in pieces, or the words of the error that ended it."""
        try:
            return self.events_in(*pieces), ""
        except ModelError as error:
            return [], f"{error} {error.details}"


def numbered_ids() -> Callable[[], str]:
    """Ids ``made_1``, ``made_2``, ... so that replies can be compared."""
    numbers = count(1)
    return lambda: f"made_{next(numbers)}"


def calls_of(response: ChatResponse) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    return [(c.id, c.name, c.arguments) for c in response.ai_message.tool_execution_requests]


def _request(messages: str | Sequence[Message], parameters: ChatRequestParameters | None) -> ChatRequest:
    return ChatRequest(messages, parameters)  # type: ignore[arg-type]  # of any kind: what is refused is a case too
