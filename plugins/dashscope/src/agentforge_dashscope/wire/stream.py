"""A streamed answer, bytes in and events out, in one pass."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentforge.errors import ModelError
from agentforge.masking import Secrets
from agentforge.model import ChatEvent, ResponseDone, ToolCallReady, UsageEvent
from agentforge.provider import MAX_BODY_BYTES, EventStreamDecoder
from agentforge_dashscope.wire.errors import error_in_answer, holds_error
from agentforge_dashscope.wire.growing import Appended, Replaced
from agentforge_dashscope.wire.reply import GenerationAnswering, Reply
from agentforge_dashscope.wire.response import no_output, read_body

__all__ = ("StreamDecoder",)

_NO_HEADERS: Mapping[str, str] = {}
#: The event of an error, whose status stands in a comment.
_BLANK_LINE = re.compile(rb"\r?\n\r?\n|\r\r")
_IS_ERROR = re.compile(rb"^event: ?error", re.MULTILINE)
_STATUS = re.compile(rb"^(?:: ?HTTP_STATUS/|status: ?)([45][0-9]{2})\b", re.MULTILINE)
#: How much of the body is kept to find it in: an event of an error is small.
_KEPT = 64 * 1024


class StreamDecoder(EventStreamDecoder):
    """Decodes one stream: `feed` for each piece of the body, `finish` at its end.

    Raises the error that an event carries, `ProtocolError` for an event that is not JSON (with its number), past
    ``max_bytes`` (64 MiB) of the body or for a body that is no event stream, `StreamTruncatedError` when the body ends
    before the reply did. There is no end mark: a reply is whole when the reason of its end has come.
    """

    def __init__(
        self,
        answering: GenerationAnswering,
        *,
        status: int = 200,
        headers: Mapping[str, str] = _NO_HEADERS,
        secrets: Secrets | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        super().__init__(status=status, headers=headers, secrets=secrets, max_bytes=max_bytes)
        self._reply = Reply(answering, Replaced if answering.cumulative else Appended)
        self._recent = bytearray()

    @property
    def partial_text(self) -> str:
        """The text so far."""
        return self._reply.text

    def feed(self, chunk: bytes) -> list[ChatEvent]:
        """The events that ``chunk`` completes. Raises `ModelError`, as `EventStreamDecoder.feed` does."""
        recent = self._recent
        recent += chunk
        if len(recent) > 2 * _KEPT:
            del recent[:-_KEPT]
        return super().feed(chunk)

    def _take(self, data: bytes, kind: str | None, events: list[ChatEvent]) -> None:
        body, mended = read_body(data)
        if kind == "error" or (isinstance(body, dict) and holds_error(body)):
            said = body if isinstance(body, dict) else {"message": data.decode("utf-8", "replace")}
            raise self._failure(said, self._status_said() if kind == "error" else None)
        if not isinstance(body, dict):
            if not data.strip() or data.strip() == b"[DONE]":
                return
            raise self._no_object()
        self._reply.mended = self._reply.mended or mended
        self._reply.add(body, events)

    def _failure(self, said: Mapping[str, object], status: int | None) -> ModelError:
        return error_in_answer(
            said,
            status=status,
            headers=self._headers,
            secrets=self._secrets,
            partial_text=self.partial_text,
        )

    def _status_said(self) -> int | None:
        """The status in the comment of the first event that is an error."""
        for block in _BLANK_LINE.split(bytes(self._recent)):
            if _IS_ERROR.search(block.replace(b"\r", b"\n")):
                found = _STATUS.search(block.replace(b"\r", b"\n"))
                return int(found[1]) if found else None
        return None

    def _close(self, events: list[ChatEvent]) -> None:
        reply = self._reply
        if not reply.ended:
            if (status := self._status_said()) is not None:  # of an error that said nothing else
                raise self._failure({"message": ""}, status)
            raise self._early_end("the stream ended before the reply did: no finish reason came")
        if not reply.has_output:
            raise no_output("stream", self._headers)
        reply.rest(events)
        response = reply.response()
        events.append(UsageEvent(response.token_usage))
        for index, request in enumerate(response.ai_message.tool_execution_requests):
            events.append(ToolCallReady(request, index))
        events.append(ResponseDone(response))
