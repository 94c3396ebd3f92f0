"""A streamed answer, bytes in and events out, in one pass."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.errors import ModelError, ProtocolError
from agentforge.http import request_id_of
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
from agentforge.provider import (
    MAX_BODY_BYTES,
    Answering,
    EventStreamDecoder,
    HeldHalf,
    dump_arguments,
    joined_text,
    load,
    utf8,
)
from agentforge_anthropic.wire.errors import error_in_answer, holds_error
from agentforge_anthropic.wire.reading import read_object
from agentforge_anthropic.wire.reply import Block, Reply

__all__ = ("StreamDecoder",)

_NO_HEADERS: Mapping[str, str] = {}
#: The block that a delta begins where no event did.
_BEGUN_BY: Mapping[str, Mapping[str, Any]] = {
    "text_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": ""},
    "signature_delta": {"type": "thinking", "thinking": ""},
}


class StreamDecoder(EventStreamDecoder):
    """Decodes one stream: `feed` for each piece of the body, `finish` at its end.

    Raises the error that an event carries, `ProtocolError` for an event that is not JSON (with its number), for a body
    that is no event stream and past ``max_bytes`` of it, `StreamTruncatedError` when the body ends before the reply
    did. Events and deltas of unknown types are passed over.
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
        self._answering = answering
        super().__init__(status=status, headers=headers, secrets=secrets, max_bytes=max_bytes)
        self._reply = Reply(answering)
        # By their index: those that are open, and all that there were.
        self._open: dict[int, Block] = {}
        self._blocks: dict[int, Block] = {}
        self._last = -1
        self._texts: list[str] = []
        self._halves = {"text": HeldHalf(), "thinking": HeldHalf()}
        self._has_message = False

    @property
    def partial_text(self) -> str:
        """The text so far."""
        return joined_text(self._texts)

    def _close(self, events: list[ChatEvent]) -> None:
        if not self._ended and self._reply.stop_reason is None:
            raise self._early_end("the stream ended before the reply did: no stop reason and no message_stop")
        if not self._has_message:
            raise ProtocolError(
                "the stream ended without any message",
                request_id=request_id_of(self._headers),
                next_step="Check that base_url points at a Messages API.",
            )
        for block in list(self._open.values()):
            self._whole(block, events)
        for kind, held in self._halves.items():
            if held.half:
                events.append(TextDelta(held.half) if kind == "text" else ThinkingDelta(held.half))
        events.append(ResponseDone(self._reply.response()))

    def _take(self, data: bytes, kind: str | None, events: list[ChatEvent]) -> None:
        if self._ended:
            return
        if kind == "error":
            raise self._failure(data)
        if not data or data.isspace():
            return
        try:
            event = load(data.decode())
        except (ValueError, RecursionError):
            event, mended = read_object(data)
            self._reply.mended = self._reply.mended or mended
        if not isinstance(event, dict):
            if data.strip() == b"[DONE]":
                return  # of hosts that close every stream so
            raise self._no_object()
        said = event.get("type")
        if said == "content_block_delta":
            self._delta(event, events)
        elif said == "content_block_start":
            self._start(event, events)
        elif said == "content_block_stop":
            index = event.get("index")
            block = self._open.pop(index if type(index) is int else self._last, None)
            if block is not None:
                self._whole(block, events)
        elif said == "message_start":
            self._message(event.get("message"), events)
        elif said == "message_delta":
            self._end(event, events)
        elif said == "message_stop":
            self._ended = True
        elif holds_error(event):
            raise self._error(event)

    # -- events ----------------------------------------------------------------------------------

    def _message(self, message: object, events: list[ChatEvent]) -> None:
        if not isinstance(message, dict):
            return
        self._has_message = True
        self._reply.add_head(message)
        if self._reply.usage:
            events.append(UsageEvent(self._reply.token_usage()))
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            # A host that streams a whole reply as one event.
            if isinstance(block, dict):
                self._whole(self._begin(block, events), events)

    def _end(self, event: Mapping[str, Any], events: list[ChatEvent]) -> None:
        delta = event.get("delta")
        if isinstance(delta, dict):
            self._reply.add_end(delta)
        if self._reply.add_usage(event.get("usage")):
            events.append(UsageEvent(self._reply.token_usage()))

    def _start(self, event: Mapping[str, Any], events: list[ChatEvent]) -> None:
        data, index = event.get("content_block"), event.get("index")
        if isinstance(data, dict):
            at = index if type(index) is int else max(self._blocks, default=-1) + 1
            if (before := self._open.pop(at, None)) is not None:
                self._whole(before, events)
            self._add(at, data, events)

    def _add(self, at: int, data: dict[str, Any], events: list[ChatEvent]) -> Block:
        self._has_message = True
        self._last = at
        block = self._blocks[at] = self._open[at] = self._begin(data, events)
        return block

    def _begin(self, data: dict[str, Any], events: list[ChatEvent]) -> Block:
        block = self._reply.open(data)
        if block.kind == "tool_use":
            events.append(ToolCallDelta(block.number, block.identity, block.name or None, ""))
        elif block.pieces:
            self._say(block, block.pieces[0], events)
        return block

    def _say(self, block: Block, text: str, events: list[ChatEvent]) -> None:
        kind = block.kind
        if kind == "text":
            self._texts.append(text)
        elif kind != "thinking":
            return
        held = self._halves[kind]
        if text[-1] >= "\ud800" or held.half:
            text = held.shown(text)
            if not text:
                return
        events.append(TextDelta(text) if kind == "text" else ThinkingDelta(text))

    def _delta(self, event: Mapping[str, Any], events: list[ChatEvent]) -> None:
        index, delta = event.get("index"), event.get("delta")
        if type(delta) is not dict:
            return
        kind = delta.get("type")
        block = self._open.get(index) if type(index) is int else None
        if block is None:
            block = self._block_of(index if type(index) is int else self._last, kind, events)
            if block is None:
                return
        if kind == "text_delta" or kind == "thinking_delta":
            text = delta.get("text" if kind == "text_delta" else "thinking")
            if type(text) is str and text:
                block.pieces.append(text)
                self._say(block, text, events)
        elif kind == "input_json_delta":
            text = delta.get("partial_json")
            if text and type(text) is not str:
                text = dump_arguments(text)  # of hosts that send it whole
            if text:
                block.pieces.append(text)
                if block.kind == "tool_use":
                    events.append(ToolCallDelta(block.number, block.identity, block.name or None, text))
        elif kind == "signature_delta":
            block.data["signature"] = delta.get("signature")
        elif kind == "citations_delta" and block.kind == "text":
            known = block.data.get("citations")
            if isinstance(known, list):
                known.append(delta.get("citation"))
            else:
                block.data["citations"] = [delta.get("citation")]
        elif kind == "compaction_delta":
            block.data.update({name: value for name, value in delta.items() if name != "type" and value is not None})

    def _block_of(self, at: int, kind: object, events: list[ChatEvent]) -> Block | None:
        """The block of a delta without index, for one that ended already, or for one that no event began. Raises
        `ProtocolError` for arguments of a call that nothing names."""
        known = self._blocks.get(at)
        if known is not None:
            # A call that was told stays as it was told.
            return known if at in self._open or known.kind in ("text", "thinking") else None
        data = _BEGUN_BY.get(kind) if isinstance(kind, str) else None
        if data is not None:
            return self._add(max(at, 0), dict(data), events)
        if kind == "input_json_delta":
            raise ProtocolError(
                f"event {self._number} of the stream holds arguments of a call that no event began",
                request_id=request_id_of(self._headers),
                details={"event": self._number, "partial_text": self.partial_text},
            )
        return None

    def _whole(self, block: Block, events: list[ChatEvent]) -> None:
        if block.kind == "tool_use":
            told = self._reply.close(block)
            if told:
                events.append(ToolCallDelta(block.number, block.identity, block.name or None, told))
            assert block.call is not None
            events.append(ToolCallReady(block.call, block.number))
        elif block.pieces and "input" in block.data:
            # A tool that the provider runs; the block goes back with its whole input.
            value, _ = read_object(utf8(block.text))
            block.data["input"] = value if value is not None else {}

    # -- failures --------------------------------------------------------------------------------

    def _failure(self, data: bytes) -> ModelError:
        """The error of an event that is named one, whatever its data are."""
        text = data.decode("utf-8", "replace")
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = text
        if not isinstance(said, dict):
            said = {"error": said if isinstance(said, str) and said else "the stream was ended by an error"}
        return self._error(said if holds_error(said) else {"error": said})

    def _error(self, said: Mapping[str, Any]) -> ModelError:
        return error_in_answer(said, headers=self._headers, secrets=self._secrets, partial_text=self.partial_text)
