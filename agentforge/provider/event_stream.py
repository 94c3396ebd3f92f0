"""What decoders of event streams share: a bound on the body, errors behind shown events, ends that come too early.

A wire's decoder derives from it and takes one event after the other.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

from agentforge.errors import ModelError, ProtocolError, StreamTruncatedError
from agentforge.http import SseDecoder, request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatEvent
from agentforge.provider.json_text import is_object
from agentforge.provider.size import MAX_BODY_BYTES, too_large

__all__ = ("EventStreamDecoder",)

_NO_HEADERS: Mapping[str, str] = {}
_SHOWN_BYTES = 16 * 1024  # of a body that is no event stream
_FIELD = re.compile(rb"^(data|event|id|retry)?:", re.MULTILINE)


class EventStreamDecoder(ABC):
    """Decodes one stream of server-sent events: `feed` for each piece of the body, `finish` at its end.

    Raises the error that an event carries, `ProtocolError` past ``max_bytes`` (64 MiB) of the body or for a body that
    is no event stream, `StreamTruncatedError` when the body ends before the reply did.
    """

    def __init__(
        self,
        *,
        status: int = 200,
        headers: Mapping[str, str] = _NO_HEADERS,
        secrets: Secrets | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._max_bytes = self._left = max_bytes
        self._status = status
        self._headers = headers
        self._secrets = secrets
        self._sse = SseDecoder(max_event_bytes=max_bytes)
        # How many events there were, and the body as long as there was none.
        self._number = 0
        self._beginning = bytearray()
        self._ended = False
        #: The error that ended the stream behind events of the same chunk; whoever shows them raises it then.
        self.failure: ModelError | None = None

    @property
    def ended(self) -> bool:
        """Whether the end mark has come; what follows it is not read."""
        return self._ended

    @property
    @abstractmethod
    def partial_text(self) -> str:
        """The text so far."""

    def feed(self, chunk: bytes) -> list[ChatEvent]:
        """The events that ``chunk`` completes. Raises `ModelError`; where events came before the error in one chunk,
        these are returned and the error is left in ``failure``, so that what is seen does not hang on the cuts."""
        events: list[ChatEvent] = []
        self._left -= len(chunk)
        if self._left < 0:
            raise too_large(self._max_bytes, self._headers, partial_text=self.partial_text)
        try:
            for data, kind, _ in self._sse.feed(chunk):
                self._number += 1
                self._take(data, kind, events)
        except ModelError as error:
            if not events:
                raise
            self.failure = error
        if not self._number and len(self._beginning) < _SHOWN_BYTES:
            self._beginning += chunk
        return events

    def finish(self) -> list[ChatEvent]:
        """The last events, `ResponseDone` at the end."""
        if self.failure is not None:
            raise self.failure
        events: list[ChatEvent] = []
        for event in self._sse.finish():
            # A last event without its blank line may be whole or cut; cut JSON means a cut stream.
            if event.event == "error" or is_object(event.data) or event.data.strip() == b"[DONE]":
                self._number += 1
                self._take(event.data, event.event, events)
        self._close(events)
        return events

    @abstractmethod
    def _take(self, data: bytes, kind: str | None, events: list[ChatEvent]) -> None:
        """Take one event, whose name is ``kind``, and add what it shows to ``events``. Raises `ModelError`."""

    @abstractmethod
    def _close(self, events: list[ChatEvent]) -> None:
        """The body is over: add the last events. Raises `ModelError` where the reply is not whole."""

    def _early_end(self, message: str) -> ModelError:
        """The error for a body that ended before its reply: a cut stream, or something else altogether, such as a page
        of a gateway."""
        if not self._number and (
            not _FIELD.search(self._beginning) if self._beginning.strip() else self._status != 200
        ):
            return unexpected_answer(
                self._status, self._headers, bytes(self._beginning), expected="an event stream", secrets=self._secrets
            )
        return StreamTruncatedError(message, partial_text=self.partial_text, request_id=request_id_of(self._headers))

    def _no_object(self) -> ProtocolError:
        """The error for an event that is not a JSON object."""
        return ProtocolError(
            f"event {self._number} of the stream is not a JSON object",
            request_id=request_id_of(self._headers),
            details={"event": self._number, "partial_text": self.partial_text},
        )
