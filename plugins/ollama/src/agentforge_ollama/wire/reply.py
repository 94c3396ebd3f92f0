"""What both decoders fill and one function makes a `ChatResponse` of, so that plain and streamed replies are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatResponse,
    Content,
    Notice,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.provider import MENDED, Answering, dump_arguments, joined_text
from agentforge_ollama.wire.finish import finish_of
from agentforge_ollama.wire.usage import decode_usage

__all__ = ("Reply",)


class Reply:
    """One reply while it is read: pieces of ``texts`` and ``thinking``, whole ``calls``, and whether it is ``done``."""

    __slots__ = ("_answering", "_ids", "_usage", "_word", "calls", "done", "mended", "model", "texts", "thinking")

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._ids: set[str] = set()
        self._usage = TokenUsage()
        self._word: str | None = None
        self.texts: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[ToolExecutionRequest] = []
        self.model: str | None = None
        self.done = False
        self.mended = False

    def add_calls(self, items: object) -> list[ToolExecutionRequest]:
        """Take calls, each of which comes whole; those that are new. Several may have the same index, so only their
        order counts."""
        new: list[ToolExecutionRequest] = []
        for item in items if isinstance(items, list) else ():
            function = item.get("function") if isinstance(item, Mapping) else None
            if not isinstance(function, Mapping):
                continue
            given = _word(item.get("id"))
            identity = given if given and given not in self._ids else self._answering.new_id()
            self._ids.add(identity)
            name = (_word(function.get("name")) or "").strip()
            new.append(
                ToolExecutionRequest(
                    identity,
                    self._answering.aliases.get(name, name),
                    _arguments_of(function.get("arguments")),
                    identity == given,
                )
            )
        self.calls += new
        return new

    def add_end(self, last: Mapping[str, Any]) -> TokenUsage:
        """Take the object that ends the reply: why it ended, and the counts."""
        self.done = True
        self._word = _word(last.get("done_reason"))
        self._usage = decode_usage(last)
        return self._usage

    def response(self, raw_body: bytes | None = None) -> ChatResponse:
        """The finished reply."""
        answering = self._answering
        reason, notice = finish_of(self._word, has_calls=bool(self.calls))
        further = [found for found in (notice, MENDED if self.mended else None) if found is not None]
        notices: tuple[Notice, ...] = (*answering.notices, *further) if further else answering.notices
        parts: list[Content | ToolExecutionRequest] = []
        if self.thinking:
            state = ProviderState(answering.provider, {"field": "thinking"})
            parts.append(ThinkingContent(joined_text(self.thinking), state))
        if self.texts:
            parts.append(TextContent(joined_text(self.texts)))
        return ChatResponse(
            ai_message=AiMessage([*parts, *self.calls]),
            finish_reason=reason,
            token_usage=self._usage,
            id=None,
            model_name=self.model,
            raw_finish_reason=self._word,
            notices=notices,
            raw_body=raw_body,
        )


def _arguments_of(value: object) -> str:
    """The text of a call's arguments, which are an object here; other hosts may send a text."""
    if value is None or value == {} or (isinstance(value, str) and not value.strip()):
        return "{}"
    return value if isinstance(value, str) else dump_arguments(value)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None
