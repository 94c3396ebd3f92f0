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
from agentforge.provider import MAX_BODY_BYTES, EventStreamDecoder, HeldHalf, is_object, joined_text, load
from agentforge_openai.wire.calls import CallCollector
from agentforge_openai.wire.errors import error_in_answer, holds_error
from agentforge_openai.wire.reply import ChatAnswering, Reply, first_choice
from agentforge_openai.wire.response import read_mended

__all__ = ("StreamDecoder",)

_NO_HEADERS: Mapping[str, str] = {}
# What some servers send as the reason of every chunk before the last.
_NOT_YET = ("", "null")


class StreamDecoder(EventStreamDecoder):
    """Decodes one stream: `feed` for each piece of the body, `finish` at its end.

    Raises the error that a chunk carries, `ProtocolError` for an event that is not JSON (with its number) and past
    ``max_bytes`` (64 MiB) of the body or for a body that is no event stream, `StreamTruncatedError` when the body ends
    before the reply did.
    """

    def __init__(
        self,
        answering: ChatAnswering,
        *,
        status: int = 200,
        headers: Mapping[str, str] = _NO_HEADERS,
        secrets: Secrets | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._answering = answering
        super().__init__(status=status, headers=headers, secrets=secrets, max_bytes=max_bytes)
        self._reply = Reply()
        self._calls = CallCollector(self._reply.calls, splits_names=answering.splits_names)
        self._has_choices = False
        # Choices of other indices, until one of the index 0 shows that they are further answers.
        self._others: list[dict[str, Any]] = []
        self._text_half, self._thought_half, self._refusal_half = HeldHalf(), HeldHalf(), HeldHalf()
        # How many calls were told complete, under which ids, and whether the next one has to wait for the end.
        self._told = 0
        self._told_ids: set[str] = set()
        self._next_waits = False

    @property
    def partial_text(self) -> str:
        """The text so far."""
        return joined_text(self._reply.texts)

    def _close(self, events: list[ChatEvent]) -> None:
        reply = self._reply
        if not self._has_choices and self._others:
            first = self._others[0].get("index")
            for choice in self._others:
                if choice.get("index") == first:
                    self._choice(choice, events)
        if not self._ended and reply.finish_word is None and not self._may_end_here():
            raise self._early_end("the stream ended before the reply did: no finish reason and no end mark")
        if not self._has_choices:
            raise ProtocolError(
                "the stream ended without any choice",
                request_id=request_id_of(self._headers),
                next_step="Check that base_url points at a Chat Completions API.",
            )
        self._end_halves(events)
        response = reply.response(self._answering)
        for index, request in enumerate(response.ai_message.tool_execution_requests):
            if index >= self._told:
                events.append(ToolCallReady(request, index))
        events.append(ResponseDone(response))

    def _may_end_here(self) -> bool:
        calls = self._reply.calls
        if not self._answering.unfinished_calls_allowed or not calls:
            return False
        return all(call.name and is_object("".join(call.pieces) or "{}") for call in calls)

    def _take(self, data: bytes, kind: str | None, events: list[ChatEvent]) -> None:
        if self._ended:
            return
        if kind == "error":
            self._fail(data)
        if data[:1] != b"{":
            if not data or data.isspace():
                return
            if data.strip() == b"[DONE]":
                self._ended = True
                return
        try:
            chunk = load(data.decode())
        except (ValueError, RecursionError):
            chunk, mended = read_mended(data)
            self._reply.mended = self._reply.mended or mended
        if not isinstance(chunk, dict):
            raise self._no_object()
        first = first_choice(chunk.get("choices"))
        if holds_error(chunk):
            raise self._failure(chunk)
        if first is not None and first.get("error"):
            raise self._failure(first)
        self._chunk(chunk, first or None, events)

    def _fail(self, data: bytes) -> None:
        """Raise for an event that is named an error, whatever its data are."""
        text = data.decode("utf-8", "replace")
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = text
        if not isinstance(said, dict):
            said = {"error": said if isinstance(said, str) else text}
        raise self._failure(said if holds_error(said) else {"error": said})

    def _failure(self, said: Mapping[str, Any]) -> ModelError:
        return error_in_answer(said, headers=self._headers, secrets=self._secrets, partial_text=self.partial_text)

    def _chunk(self, chunk: dict[str, Any], choice: dict[str, Any] | None, events: list[ChatEvent]) -> None:
        reply = self._reply
        if reply.id is None or reply.model is None:
            reply.add_identity(chunk)
        if choice is not None:
            if not choice.get("index"):
                # Of several answers (a custom ``n``) only the first is read.
                self._choice(choice, events)
            elif not self._has_choices:
                self._others.append(choice)
        if chunk.get("usage") or "x_groq" in chunk or (choice is not None and choice.get("usage")):
            groq = chunk.get("x_groq")
            if reply.add_usage(chunk, groq if isinstance(groq, dict) else None, choice):
                events.append(UsageEvent(reply.token_usage(self._answering)))
        reply.add_source_lists(chunk)

    def _choice(self, choice: dict[str, Any], events: list[ChatEvent]) -> None:
        reply = self._reply
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._has_choices:
            delta = choice.get("message")  # a server that streams a whole reply as one chunk
        self._has_choices = True
        word = choice.get("finish_reason")
        if isinstance(delta, dict):
            self._delta(delta, events)
        if isinstance(word, str) and word not in _NOT_YET:
            if reply.finish_word is None and reply.calls:
                self._next_waits = False
                self._tell_complete(len(reply.calls), events)
            reply.finish_word = word

    def _delta(self, delta: dict[str, Any], events: list[ChatEvent]) -> None:
        reply = self._reply
        content = delta.get("content")
        if type(content) is str and len(delta) <= 2 and (len(delta) == 1 or "role" in delta):
            if content:
                reply.texts.append(content)
                if content[-1] >= "\ud800" or self._text_half.half:
                    self._text(content, events)
                else:
                    events.append(TextDelta(content))
            return
        items = delta.get("tool_calls")
        if len(delta) == 1 and type(items) is list:
            self._items(items, events)
            return
        thought = reply.add_reasoning(delta)
        if thought:
            self._thought(thought, events)
        if isinstance(content, str):
            if content:
                reply.texts.append(content)
                self._text(content, events)
        elif isinstance(content, list):
            text, thought = reply.add_parts(content)
            if thought:
                self._thought(thought, events)
            if text:
                self._text(text, events)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            reply.refusal.append(refusal)
            if refusal := self._refusal_half.shown(refusal):
                events.append(TextDelta(refusal))
        if isinstance(items, list):
            self._items(items, events)
        old = delta.get("function_call")
        if isinstance(old, dict) and not items and (old.get("name") or old.get("arguments")):
            self._call({"index": 0, "function": old}, events)
        reply.add_extras(delta)
        reply.add_sources(delta)

    def _text(self, text: str, events: list[ChatEvent]) -> None:
        if (text[-1] >= "\ud800" or self._text_half.half) and not (text := self._text_half.shown(text)):
            return
        events.append(TextDelta(text))

    def _thought(self, text: str, events: list[ChatEvent]) -> None:
        if (text[-1] >= "\ud800" or self._thought_half.half) and not (text := self._thought_half.shown(text)):
            return
        events.append(ThinkingDelta(text))

    def _end_halves(self, events: list[ChatEvent]) -> None:
        """Show halves of surrogate pairs that nothing followed, as the reply holds them."""
        if self._thought_half.half:
            events.append(ThinkingDelta(self._thought_half.half))
        for held in (self._text_half, self._refusal_half):
            if held.half:
                events.append(TextDelta(held.half))

    def _items(self, items: list[Any], events: list[ChatEvent]) -> None:
        for item in items:
            if isinstance(item, dict):
                self._call(item, events)

    def _call(self, item: dict[str, Any], events: list[ChatEvent]) -> None:
        before = len(self._reply.calls)
        position, text = self._calls.add(item)
        if 0 < before < len(self._reply.calls):
            self._tell_complete(before, events)
        call = self._reply.calls[position]
        if call.told is not None:
            return  # it is complete; what comes behind that changes nothing
        name = call.name.strip()
        if self._answering.aliases:
            name = self._answering.aliases.get(name, name)
        events.append(ToolCallDelta(position, call.id or None, name or None, text))

    def _tell_complete(self, count: int, events: list[ChatEvent]) -> None:
        """Tell the first ``count`` calls, in their order, as far as nothing can be added to them: a further call has
        begun or the reason has come, and they have an id, a name and a whole object. Pieces of calls may alternate, so
        a call that lacks any of it waits for the end of the stream, and those behind it with it."""
        while not self._next_waits and self._told < count:
            call = self._reply.calls[self._told]
            if not call.id or call.id in self._told_ids or not call.name or not is_object(call.text()):
                self._next_waits = True
                return
            call.told = call.request(call.id, self._answering)
            events.append(ToolCallReady(call.told, self._told))
            self._told_ids.add(call.id)
            self._told += 1
