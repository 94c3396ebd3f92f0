"""A streamed answer, bytes in and events out, in one pass: one JSON object a line, the last of which says ``done``.

A proxy may answer whole instead, and indent what it answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ModelError, ProtocolError, StreamTruncatedError
from agentforge.http import NdjsonDecoder, request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import (
    ChatEvent,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge.provider import MAX_BODY_BYTES, Answering, HeldHalf, events_of, joined_text, too_large
from agentforge_ollama.wire.errors import error_in_answer, holds_error
from agentforge_ollama.wire.reading import read_object
from agentforge_ollama.wire.reply import Reply
from agentforge_ollama.wire.response import decode_response, no_message

__all__ = ("StreamDecoder",)

_NO_HEADERS: Mapping[str, str] = {}
#: How an object that is indented begins, with or without the mark of its encoding.
_INDENTED = (b"{", b"\xef\xbb\xbf{")


class StreamDecoder:
    """Decodes one stream: `feed` for each piece of the body, `finish` at its end.

    Raises the error that a line carries, `ProtocolError` for a line that is no JSON object (with its number) and past
    ``max_bytes`` of the body, `StreamTruncatedError` when the body ends before a line said ``done``. Unknown members
    are passed over.
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
        self._reply = Reply(answering)
        self._answering = answering
        self._status = status
        self._headers = headers
        self._secrets = secrets
        self._max_bytes = self._left = max_bytes
        self._lines = NdjsonDecoder(max_line_bytes=max_bytes)
        self._number = 0
        self._spoke = False
        self._indented: list[bytes] = []
        self._text_half, self._thinking_half = HeldHalf(), HeldHalf()
        #: The error that ended the stream behind events of the same chunk; whoever shows them raises it then.
        self.failure: ModelError | None = None

    @property
    def ended(self) -> bool:
        """Whether the last line has come; what follows it is not read."""
        return self._reply.done

    @property
    def partial_text(self) -> str:
        """The text so far."""
        return joined_text(self._reply.texts)

    def feed(self, chunk: bytes) -> list[ChatEvent]:
        """The events that ``chunk`` completes. Raises `ModelError`; where events came before the error in one chunk,
        these are returned and the error is left in ``failure``, so that what is seen does not hang on the cuts."""
        events: list[ChatEvent] = []
        self._left -= len(chunk)
        if self._left < 0:
            raise too_large(self._max_bytes, self._headers, partial_text=self.partial_text)
        try:
            for line in self._lines.feed(chunk):
                self._take(line, events)
        except ModelError as error:
            if not events:
                raise
            self.failure = error
        return events

    def finish(self) -> list[ChatEvent]:
        """The last events, `ResponseDone` at the end."""
        if self.failure is not None:
            raise self.failure
        events: list[ChatEvent] = []
        for line in self._lines.finish():
            # Without its line break it may be whole or cut; cut JSON means a cut stream.
            is_cut = self._number or self._indented or line[:1] == b"{"
            if not is_cut or line == b"}" or read_object(line)[0] is not None:
                self._take(line, events)
        if self._indented:
            return self._whole(b"\n".join(self._indented))
        reply = self._reply
        if not reply.done:
            raise self._early_end()
        if not self._spoke:
            raise no_message(self._headers)
        for held, kind in ((self._thinking_half, ThinkingDelta), (self._text_half, TextDelta)):
            if held.half:
                events.append(kind(held.half))
        events.append(ResponseDone(reply.response()))
        return events

    def _take(self, line: bytes, events: list[ChatEvent]) -> None:
        reply = self._reply
        if reply.done:
            return
        if self._indented or (not self._number and line in _INDENTED):
            self._indented.append(line)
            return
        self._number += 1
        found, mended = read_object(line)
        if found is None:
            raise self._no_object(line)
        if mended:
            reply.mended = True
        message = found.get("message")
        if type(message) is dict:
            self._spoke = True
            text = message.get("thinking")
            if text and type(text) is str:
                reply.thinking.append(text)
                if shown := _shown(text, self._thinking_half):
                    events.append(ThinkingDelta(shown))
            text = message.get("content")
            if text and type(text) is str:
                reply.texts.append(text)
                if shown := _shown(text, self._text_half):
                    events.append(TextDelta(shown))
            if message.get("tool_calls"):
                self._calls(message["tool_calls"], events)
        if holds_error(found):
            raise error_in_answer(found, headers=self._headers, secrets=self._secrets, partial_text=self.partial_text)
        if reply.model is None and type(found.get("model")) is str:
            reply.model = found["model"]
        if found.get("done") is True:
            usage = reply.add_end(found)
            if usage.raw:
                events.append(UsageEvent(usage))

    def _calls(self, items: Any, events: list[ChatEvent]) -> None:
        first = len(self._reply.calls)
        for index, call in enumerate(self._reply.add_calls(items), first):
            events.append(ToolCallDelta(index, call.id, call.name, call.arguments))
            events.append(ToolCallReady(call, index))

    def _whole(self, content: bytes) -> list[ChatEvent]:
        if read_object(content)[0] is None:
            raise self._early_end()
        reply = decode_response(content, self._answering, headers=self._headers, secrets=self._secrets)
        return events_of(reply)

    # -- failures --------------------------------------------------------------------------------

    def _no_object(self, line: bytes) -> ModelError:
        if self._number == 1:
            return unexpected_answer(
                self._status, self._headers, line, expected="a stream of JSON lines", secrets=self._secrets
            )
        return ProtocolError(
            f"line {self._number} of the stream is not a JSON object",
            request_id=request_id_of(self._headers),
            details={"line": self._number, "partial_text": self.partial_text},
        )

    def _early_end(self) -> ModelError:
        if self._number and not self._spoke:
            return no_message(self._headers)
        return StreamTruncatedError(
            "the stream ended before the reply did: no line said that it was done",
            partial_text=self.partial_text,
            request_id=request_id_of(self._headers),
        )


def _shown(text: str, held: HeldHalf) -> str:
    """What of a piece can be shown: half of a surrogate pair waits for the other."""
    return held.shown(text) if text[-1] >= "\ud800" or held.half else text
