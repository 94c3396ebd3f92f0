"""A request body as a join of fragments, none of which is encoded twice.

Two caches: heads by the parameters object, turns by the message object and the shape. Both hold the objects that they
are keyed by, so an id is never reused while its entry lives, and neither knows of any history: trimming or branching a
conversation cannot make an entry stale. What a round costs beyond copying is what is new in it. What stands inside of
parameters, tools and messages is therefore not to be changed once they were sent: the bytes stay those of before.

Caches that threads shared would need a lock around every request, so each thread has its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    Notice,
    TextContent,
    ThinkingContent,
    ToolExecutionResultMessage,
    ToolSpecification,
)
from agentforge.provider.distinct_ids import DistinctIds
from agentforge.provider.endpoint import Endpoint
from agentforge.provider.turn_shape import TurnShape
from agentforge.provider.wire import EMPTY_TOOLS, Head, Pieces, ToolBlock, Wire

__all__ = ("EncodedRequest", "RequestEncoder")

_HEADS = 32
_TOOL_BLOCKS = 8
_SHAPES = 4
_PREFIXES = 256
_TEXTUAL = (TextContent, ThinkingContent)


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """The body, the head that it was made with, and the notices of head and turns."""

    body: bytes
    head: Head[Any]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class _Turn:
    message: ChatMessage
    body: bytes
    follow_up: bytes
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The joined turns of a conversation; ``taken`` are the ids of its calls, where they differ in a whole request."""

    messages: tuple[ChatMessage, ...]
    joined: bytes
    notices: tuple[Notice, ...]
    taken: dict[str, int]


_NO_PREFIX = _Prefix((), b"", (), {})


class RequestEncoder:
    """Encodes requests of one ``wire`` for one model bean, from any thread.

    ``endpoint`` gives the endpoint for a model name; ``defaults`` are merged below every request's parameters. The turn
    cache of each thread is bounded by ``max_turns`` and ``max_bytes``; when it is full, entries that the current
    request does not use make room, and what still does not fit is encoded anew. A thread's caches end with it.
    """

    def __init__(
        self,
        wire: Wire[Any],
        endpoint: Callable[[str | None], Endpoint[Any]],
        *,
        defaults: ChatRequestParameters | None = None,
        max_turns: int = 4096,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._new = partial(_ThreadEncoder, wire, endpoint, defaults, max_turns, max_bytes)
        self._local = threading.local()

    def encode(
        self, messages: Sequence[ChatMessage], parameters: ChatRequestParameters, *, stream: bool = False
    ) -> EncodedRequest:
        """The body for a valid history. Raises `UnsupportedFeatureError` before anything is sent."""
        return self._mine().encode(messages, parameters, stream)

    @property
    def encoded_bytes(self) -> int:
        """The bytes of turns and tools that were really encoded in the calling thread."""
        return self._mine().encoded_bytes

    def _mine(self) -> _ThreadEncoder:
        try:
            mine: _ThreadEncoder = self._local.encoder
        except AttributeError:
            mine = self._local.encoder = self._new()
        return mine


class _ThreadEncoder:
    """The encoder of one thread."""

    def __init__(
        self,
        wire: Wire[Any],
        endpoint: Callable[[str | None], Endpoint[Any]],
        defaults: ChatRequestParameters | None,
        max_turns: int,
        max_bytes: int,
    ) -> None:
        self.encoded_bytes = 0
        self._wire = wire
        self._endpoint = endpoint
        self._defaults = defaults
        self._max_turns = max_turns
        self._max_bytes = max_bytes
        self._heads: OrderedDict[tuple[int, bool], tuple[ChatRequestParameters, Head[Any]]] = OrderedDict()
        self._blocks: OrderedDict[tuple[str, tuple[int, ...]], tuple[tuple[ToolSpecification, ...], ToolBlock]] = (
            OrderedDict()
        )
        self._turns: OrderedDict[TurnShape, dict[int, _Turn]] = OrderedDict()
        self._last_shape: TurnShape | None = None
        self._last_cache: dict[int, _Turn] = {}
        self._distinct = DistinctIds(2 * max_turns)
        # By their first message and their shape.
        self._prefixes: dict[tuple[int, TurnShape], _Prefix] = {}
        self._prefix_bytes = 0
        self._held = 0
        self._held_bytes = 0
        self._may_clear = True

    def encode(
        self, messages: Sequence[ChatMessage], parameters: ChatRequestParameters, stream: bool
    ) -> EncodedRequest:
        offered = parameters.tools or (self._defaults.tools if self._defaults is not None else ())
        head = self._head(parameters, with_tools=bool(offered) or _has_calls(messages))
        joined, notices = self._joined(tuple(messages), head.shape)
        body = b"".join((head.opening, joined, head.streamed if stream else head.plain))
        return EncodedRequest(body, head, head.notices + notices if notices else head.notices)

    def _head(self, parameters: ChatRequestParameters, *, with_tools: bool) -> Head[Any]:
        """The head for ``parameters``, from the cache where the same object was seen."""
        key = (id(parameters), with_tools)
        found = self._heads.get(key)
        if found is not None:
            self._heads.move_to_end(key)
            return found[1]
        merged = ChatRequestParameters.merge(self._defaults, parameters)
        endpoint = self._endpoint(merged.model_name)
        settled = self._wire.settle(merged, endpoint)
        tools = self._tool_block(settled.parameters.tools, endpoint)
        # A conversation in which only the vendor's own tools are offered is one with tools, too.
        head = self._wire.encode_head(settled, endpoint, tools, with_tools=with_tools or bool(settled.own_tools))
        if len(head.notices) > 1:
            head = replace(head, notices=_once(head.notices))
        self._heads[key] = (parameters, head)
        if len(self._heads) > _HEADS:
            self._heads.popitem(last=False)
        return head

    def _tool_block(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        if not tools:
            return EMPTY_TOOLS
        # By the tools, not by the tuple: a loop makes a new tuple of the same tools for every round.
        key = (endpoint.model, tuple(map(id, tools)))
        found = self._blocks.get(key)
        if found is not None:
            self._blocks.move_to_end(key)
            return found[1]
        block = self._wire.encode_tools(tools, endpoint)
        self.encoded_bytes += len(block.body)
        self._blocks[key] = (tools, block)
        if len(self._blocks) > _TOOL_BLOCKS:
            self._blocks.popitem(last=False)
        return block

    def _joined(self, messages: tuple[ChatMessage, ...], shape: TurnShape) -> tuple[bytes, tuple[Notice, ...]]:
        """All turns in one piece. A conversation that only grew since its last request costs its new turns and the
        copying of the others; equal messages have equal bytes, so a history that was cut or branched is no danger."""
        if not messages:
            return b"", ()
        key = (id(messages[0]), shape)
        known = self._prefixes.get(key, _NO_PREFIX)
        size = len(known.messages)
        if (
            0 < size <= len(messages)
            and messages[:size] == known.messages
            and (size == len(messages) or type(messages[size]) is not ToolExecutionResultMessage)
        ):
            if size == len(messages):
                return known.joined, known.notices
            renamed, ids = self._with_ids(messages[size:], known.taken)
            pieces, new = self._pieces(renamed, shape)
            more = self._wire.extended(known.joined, known.messages[-1], pieces, shape)
            if more is not None:
                known.taken.update(ids)  # last, as nothing may be taken by a request that was refused
                self._keep_prefix(key, _Prefix(messages, more, (*known.notices, *new), known.taken))
                return more, (*known.notices, *new)
        renamed, ids = self._with_ids(messages, {})
        pieces, new = self._pieces(renamed, shape)
        joined = self._wire.join(pieces, shape)
        self._keep_prefix(key, _Prefix(messages, joined, tuple(new), ids))
        return joined, tuple(new)

    def _with_ids(
        self, messages: Sequence[ChatMessage], taken: dict[str, int]
    ) -> tuple[Sequence[ChatMessage], dict[str, int]]:
        if self._wire.distinct_in_request:
            return self._distinct.of_request(messages, taken)
        return self._distinct.of(messages), {}

    def _keep_prefix(self, key: tuple[int, TurnShape], prefix: _Prefix) -> None:
        prefixes = self._prefixes
        before = prefixes.pop(key, None)
        if before is not None:
            self._prefix_bytes -= len(before.joined)
        prefixes[key] = prefix
        self._prefix_bytes += len(prefix.joined)
        while len(prefixes) > _PREFIXES or (self._prefix_bytes > self._max_bytes and prefixes):
            self._prefix_bytes -= len(prefixes.pop(next(iter(prefixes))).joined)

    def _pieces(self, messages: Sequence[ChatMessage], shape: TurnShape) -> tuple[Pieces, list[Notice]]:
        cache = self._cache(shape)
        self._may_clear = True
        pieces: list[tuple[ChatMessage, bytes]] = []
        waiting: list[tuple[ChatMessage, bytes]] = []
        notices: list[Notice] = []
        for message in messages:
            turn = cache.get(id(message))
            if turn is None:
                turn = self._encode(message, shape)
                self._keep(turn, cache, messages)
            if waiting and type(message) is not ToolExecutionResultMessage:
                pieces += waiting
                waiting = []
            pieces.append((message, turn.body))
            if turn.follow_up:
                waiting.append((message, turn.follow_up))
            if turn.notices:
                notices += turn.notices
        pieces += waiting
        return pieces, notices

    def _encode(self, message: ChatMessage, shape: TurnShape) -> _Turn:
        notices: list[Notice] = []
        is_result = type(message) is ToolExecutionResultMessage
        if is_result and any(type(part) not in _TEXTUAL for part in message.contents):
            shape = shape.for_results()
        body = self._wire.encode_turn(message, shape, notices)
        follow_up = b""
        if is_result:
            follow_up = self._wire.encode_follow_up(message, shape, notices)
        self.encoded_bytes += len(body) + len(follow_up)
        return _Turn(message, body, follow_up, tuple(notices))

    def _cache(self, shape: TurnShape) -> dict[int, _Turn]:
        if shape is self._last_shape:
            return self._last_cache
        cache = self._turns.get(shape)
        if cache is None:
            cache = self._turns[shape] = {}
            if len(self._turns) > _SHAPES:
                for turn in self._turns.popitem(last=False)[1].values():
                    self._release(turn)
        else:
            self._turns.move_to_end(shape)
        self._last_shape, self._last_cache = shape, cache
        return cache

    def _keep(self, turn: _Turn, cache: dict[int, _Turn], current: Sequence[ChatMessage]) -> None:
        size = len(turn.body) + len(turn.follow_up)
        if self._is_full(size):
            if self._may_clear:
                self._may_clear = False  # once a request, so that a long history costs no scan a message
                self._make_room(cache, current)
            if self._is_full(size):
                return
        cache[id(turn.message)] = turn
        self._held += 1
        self._held_bytes += size

    def _is_full(self, size: int) -> bool:
        return self._held >= self._max_turns or self._held_bytes + size > self._max_bytes

    def _make_room(self, cache: dict[int, _Turn], current: Sequence[ChatMessage]) -> None:
        used = {id(message) for message in current}
        for other in self._turns.values():
            stale = list(other) if other is not cache else [key for key in other if key not in used]
            for key in stale:
                self._release(other.pop(key))

    def _release(self, turn: _Turn) -> None:
        self._held -= 1
        self._held_bytes -= len(turn.body) + len(turn.follow_up)


def _has_calls(messages: Sequence[ChatMessage]) -> bool:
    return any(type(message) is AiMessage and message.has_tool_execution_requests for message in messages)


def _once(notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """What is told twice of one request, told once."""
    return tuple(notice for at, notice in enumerate(notices) if notice not in notices[:at])
