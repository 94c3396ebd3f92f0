"""What both decoders fill and one function turns into a `ChatResponse`, so that plain and streamed replies are equal.

A reply is a list of blocks, whose order is kept: texts, thinking, calls, and whatever else the provider makes of its
own (tools that it runs, thinking that it hides, kinds that are newer than this code). All of these go back as they
came, so a block of the last sort becomes a part without text that carries the block as opaque state in its place. It is
a part of thinking, as that is what other wires and views pass over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatResponse,
    Citation,
    Content,
    Notice,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.provider import MENDED, Answering, dump_arguments, joined_text
from agentforge_anthropic.wire.citations import citations_of
from agentforge_anthropic.wire.finish import finish_of, refusal_notice
from agentforge_anthropic.wire.usage import decode_usage, merge_usage

__all__ = ("Block", "MessagesAnswering", "Reply")

_CALL_FIELDS = frozenset({"type", "id", "name", "input"})
#: The member of a block that grows in a stream, by the block's type.
_GROWING = {"text": "text", "thinking": "thinking"}


@dataclass(frozen=True, slots=True)
class MessagesAnswering(Answering):
    """What decoding needs from the request; ``needs_thinking``: a loop must have begun with thinking of this provider,
    as the model thinks within a budget."""

    needs_thinking: bool = False


class Block:
    """One block while it is read: ``data`` as it came, and ``pieces`` of the member that grows, the arguments' text of
    a call included. ``call`` is the finished call, ``number`` its place among the calls."""

    __slots__ = ("call", "data", "identity", "kind", "name", "number", "pieces")

    def __init__(self, data: dict[str, Any]) -> None:
        kind = data.get("type")
        self.kind: str = kind if isinstance(kind, str) else ""
        self.data = data
        self.pieces: list[str] = []
        self.call: ToolExecutionRequest | None = None
        self.number = -1
        self.identity = self.name = ""
        member = _GROWING.get(self.kind)
        if member is not None and isinstance(text := data.get(member), str) and text:
            self.pieces.append(text)

    @property
    def text(self) -> str:
        """What has come of the member that grows."""
        return joined_text(self.pieces)

    def rest(self, *without: str) -> dict[str, Any]:
        """The block's other members."""
        return {name: value for name, value in self.data.items() if name not in without}


class Reply:
    """One reply while it is read."""

    __slots__ = (
        "_answering",
        "_ids",
        "blocks",
        "calls",
        "id",
        "mended",
        "model",
        "stop_details",
        "stop_reason",
        "usage",
    )

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._ids: set[str] = set()
        self.blocks: list[Block] = []
        self.calls = 0
        self.id: str | None = None
        self.model: str | None = None
        self.stop_reason: str | None = None
        self.stop_details: object = None
        self.usage: dict[str, Any] = {}
        self.mended = False

    def add_head(self, message: Mapping[str, Any]) -> None:
        """Take id, model, counts and the reason of a message."""
        self.id = _word(message.get("id")) or self.id
        self.model = _word(message.get("model")) or self.model
        self.add_usage(message.get("usage"))
        self.add_end(message)

    def add_usage(self, usage: object) -> bool:
        """Take counts; whether there were any."""
        if not isinstance(usage, dict) or not usage:
            return False
        merge_usage(self.usage, usage)
        return True

    def add_end(self, source: Mapping[str, Any]) -> None:
        """Take why it ended, once that is known."""
        self.stop_reason = _word(source.get("stop_reason")) or self.stop_reason
        self.stop_details = source.get("stop_details") or self.stop_details

    def open(self, data: dict[str, Any]) -> Block:
        """A further block. A call gets its id and name here, so that they are the same in all that is said of it."""
        block = Block(data)
        self.blocks.append(block)
        if block.kind == "tool_use":
            block.number = self.calls
            self.calls += 1
            given = _word(data.get("id"))
            block.identity = given if given and given not in self._ids else self._answering.new_id()
            self._ids.add(block.identity)
            name = (_word(data.get("name")) or "").strip()
            block.name = self._answering.aliases.get(name, name)
        return block

    def close(self, block: Block) -> str:
        """Finish a call; the argument text that was not told before."""
        told = ""
        if not block.pieces:
            told = _arguments_of(block.data.get("input"))
            block.pieces.append(told)
        extras = {name: value for name, value in block.rest(*_CALL_FIELDS).items() if value is not None}
        state = ProviderState(self._answering.provider, extras) if extras else None
        given = block.identity == block.data.get("id")
        block.call = ToolExecutionRequest(block.identity, block.name, block.text, given, state)
        return told

    def token_usage(self) -> TokenUsage:
        """The tokens as far as reported."""
        return decode_usage(self.usage) if self.usage else TokenUsage()

    def response(self, raw_body: bytes | None = None) -> ChatResponse:
        """The finished reply."""
        answering = self._answering
        reason, notice = finish_of(self.stop_reason, has_calls=bool(self.calls))
        refusal = refusal_notice(self.stop_details)
        further = [found for found in (notice, refusal, MENDED if self.mended else None) if found is not None]
        notices: tuple[Notice, ...] = (*answering.notices, *further) if further else answering.notices
        return ChatResponse(
            ai_message=AiMessage(list(self._parts())),
            finish_reason=reason,
            token_usage=self.token_usage(),
            id=self.id,
            model_name=self.model,
            raw_finish_reason=self.stop_reason,
            notices=notices,
            raw_body=raw_body,
            citations=tuple(dict.fromkeys(self._citations())),
        )

    def _parts(self) -> Iterator[Content | ToolExecutionRequest]:
        provider = self._answering.provider
        for block in self.blocks:
            if block.kind == "tool_use":
                if block.call is None:
                    self.close(block)
                assert block.call is not None
                yield block.call
            elif block.kind == "text":
                more = {name: value for name, value in block.rest("type", "text").items() if value}
                text = block.text
                if text or more:
                    yield TextContent(text, ProviderState(provider, more) if more else None)
            elif block.kind == "thinking":
                yield ThinkingContent(block.text, ProviderState(provider, block.rest("thinking")))
            elif block.kind:
                yield ThinkingContent("", ProviderState(provider, block.data))

    def _citations(self) -> Iterator[Citation]:
        start = 0
        for block in self.blocks:
            if block.kind == "text":
                text = block.text
                if "citations" in block.data:
                    yield from citations_of(block.data["citations"], start, text)
                start += len(text)


def _arguments_of(value: object) -> str:
    """The text of a whole call's arguments; hosts that speak the form may send a text."""
    if value is None or value == {}:
        return "{}"
    return value if isinstance(value, str) else dump_arguments(value)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None
