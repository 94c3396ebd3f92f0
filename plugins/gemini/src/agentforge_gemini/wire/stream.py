"""A streamed answer, bytes in and events out, in one pass. Each event is an object like a plain answer, with what is
new in it; there is no end mark, so that a stream is whole when it has said why the reply ended."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.masking import Secrets
from agentforge.model import ChatEvent, ResponseDone, TokenUsage, UsageEvent
from agentforge.provider import MAX_BODY_BYTES, Answering, EventStreamDecoder, load
from agentforge_gemini.wire.errors import error_in_answer, holds_error
from agentforge_gemini.wire.reading import read_json
from agentforge_gemini.wire.reply import Reply

__all__ = ("StreamDecoder",)

_NO_HEADERS: Mapping[str, str] = {}


class StreamDecoder(EventStreamDecoder):
    """Decodes one stream: `feed` for each piece of the body, `finish` at its end.

    Raises the error that an event carries, `ProtocolError` for an event that is not JSON (with its number), for a body
    that is no event stream and past ``max_bytes`` of it, `StreamTruncatedError` when the body ends before the reply
    did.
    """

    def __init__(
        self,
        answering: Answering,
        *,
        status: int = 200,
        headers: Mapping[str, str] = _NO_HEADERS,
        secrets: Secrets | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        super().__init__(status=status, headers=headers, secrets=secrets, max_bytes=max_bytes)
        self._reply = Reply(answering)

    @property
    def partial_text(self) -> str:
        """The text so far."""
        return self._reply.text

    def _take(self, data: bytes, kind: str | None, events: list[ChatEvent]) -> None:
        if self._ended or not data or data.isspace():
            return
        try:
            body = load(data.decode())
        except (ValueError, RecursionError):
            body, mended = read_json(data)
            self._reply.mended = self._reply.mended or mended
        if isinstance(body, list) and len(body) == 1:
            body = body[0]
        if not isinstance(body, dict):
            if data.strip() == b"[DONE]":
                self._ended = True  # of hosts that close every stream so
                return
            if kind == "error":
                body = {"error": data.decode("utf-8", "replace")}
            else:
                raise self._no_object()
        if kind == "error" or holds_error(body):
            said = body if holds_error(body) else {"error": body}
            raise error_in_answer(said, headers=self._headers, secrets=self._secrets, partial_text=self.partial_text)
        self._reply.take(body, events)

    def _close(self, events: list[ChatEvent]) -> None:
        if not self._reply.has_ended and not (self._ended and self._reply.has_begun):
            raise self._early_end("the stream ended before the reply did: no finishReason")
        self._reply.end(events)
        usage = self._reply.token_usage()
        if usage != TokenUsage():
            events.append(UsageEvent(usage))
        events.append(ResponseDone(self._reply.response()))
