"""What both decoders fill and one function turns into a `ChatResponse`, so that plain and streamed replies are equal,
and so are both kinds of streams.

Order of the parts: reasoning, text, calls; this API does not interleave them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatResponse,
    Citation,
    Content,
    Notice,
    ProviderState,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolExecutionRequest,
)
from agentforge.provider import MENDED, Answering
from agentforge_dashscope.wire.calls import CallCollector
from agentforge_dashscope.wire.finish import finish_of, is_end
from agentforge_dashscope.wire.growing import Growing
from agentforge_dashscope.wire.usage import decode_usage

__all__ = ("GenerationAnswering", "Reply")

_KNOWN = frozenset({"choices", "finish_reason", "search_info", "text"})


@dataclass(frozen=True, slots=True)
class GenerationAnswering(Answering):
    """What decoding needs beside that: whether each event of a stream repeats everything so far."""

    cumulative: bool = False


class Reply:
    """One reply while it is read; ``growing`` makes the texts. ``whole``: it comes at once, so that each call does."""

    __slots__ = (
        "_answering",
        "_calls",
        "_extras",
        "_found",
        "_reasoning",
        "_seen",
        "_text",
        "_usage",
        "_whole",
        "ended",
        "finish_word",
        "id",
        "mended",
    )

    def __init__(self, answering: Answering, growing: Callable[[], Growing], *, whole: bool = False) -> None:
        self._answering = answering
        self._whole = whole
        self._text, self._reasoning = growing(), growing()
        self._calls = CallCollector(growing)
        self._found: list[object] = []
        self._extras: dict[str, object] = {}
        self._usage: Mapping[str, object] | None = None
        self._seen = False
        #: Whether a reason of its end has come, and which.
        self.ended = False
        self.finish_word: str | None = None
        self.id: str | None = None
        self.mended = False

    @property
    def has_output(self) -> bool:
        """Whether there was any message or text."""
        return self._seen

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text.text()

    def add(self, body: Mapping[str, Any], events: list[ChatEvent]) -> None:
        """Take a plain answer or an event of a stream, and add what it shows to ``events``."""
        if self.id is None and isinstance(identity := body.get("request_id"), str) and identity:
            self.id = identity
        usage = body.get("usage")
        if isinstance(usage, dict) and usage:
            self._usage = usage
        output = body.get("output")
        if not isinstance(output, dict):
            return
        choices = output.get("choices")
        if isinstance(choices, list) and choices:
            for choice in choices:
                # Of several answers (a custom ``n``) only the first is read.
                if isinstance(choice, dict) and not choice.get("index"):
                    self._choice(choice, events)
        elif isinstance(text := output.get("text"), str):
            # ``result_format: message`` was not honoured.
            self._seen = True
            self._add_text(text, events)
        self._end(output.get("finish_reason"))
        self._found = _results_in(output) or self._found
        if not _KNOWN.issuperset(output):
            self._extras |= {name: value for name, value in output.items() if value and name not in _KNOWN}

    def _choice(self, choice: Mapping[str, Any], events: list[ChatEvent]) -> None:
        message = choice.get("message")
        if isinstance(message, dict):
            self._seen = True
            thought, content = message.get("reasoning_content"), message.get("content")
            if isinstance(thought, str) and (shown := self._reasoning.add(thought)):
                events.append(ThinkingDelta(shown))
            self._add_text(content if isinstance(content, str) else _text_of(content), events)
            items = message.get("tool_calls")
            if isinstance(items, list) and items:
                self._add_calls(items, events)
        self._found = _results_in(choice) or self._found
        self._end(choice.get("finish_reason"))

    def _add_text(self, text: str, events: list[ChatEvent]) -> None:
        if shown := self._text.add(text):
            events.append(TextDelta(shown))

    def _add_calls(self, items: list[object], events: list[ChatEvent]) -> None:
        known = len(self._calls.calls)
        for position, text in self._calls.add(items, whole=self._whole):
            if text or len(self._calls.calls) > known:
                events.append(self._piece(position, text))
            known = len(self._calls.calls)

    def _piece(self, position: int, text: str) -> ToolCallDelta:
        call = self._calls.calls[position]
        return ToolCallDelta(position, call.id or None, call.tool(self._answering) or None, text)

    def _end(self, word: object) -> None:
        if is_end(word):
            self.ended, self.finish_word = True, str(word)

    def rest(self, events: list[ChatEvent]) -> None:
        """Add what was held back of the texts."""
        if thought := self._reasoning.rest():
            events.append(ThinkingDelta(thought))
        if text := self._text.rest():
            events.append(TextDelta(text))
        for position, call in enumerate(self._calls.calls):
            if text := call.arguments.rest():
                events.append(self._piece(position, text))

    def token_usage(self) -> TokenUsage:
        """The tokens as far as reported."""
        return TokenUsage() if self._usage is None else decode_usage(self._usage)

    def response(self, raw_body: bytes | None = None) -> ChatResponse:
        """The finished reply."""
        answering, calls = self._answering, self._requests()
        parts: list[Content | ToolExecutionRequest] = []
        thinking, text = self._reasoning.text(), self._text.text()
        if thinking:
            parts.append(ThinkingContent(thinking, ProviderState(answering.provider, {"reasoning_content": thinking})))
        if text:
            parts.append(TextContent(text))
        reason, contradiction = finish_of(self.finish_word, has_calls=bool(calls))
        notices = [*answering.notices, *([contradiction] if contradiction else []), *([MENDED] if self.mended else [])]
        if any(each.revised for each in (self._reasoning, self._text, *(call.arguments for call in self._calls.calls))):
            notices.append(
                Notice(
                    "stream_revised",
                    "the provider changed what it had streamed before; the response holds what it said last",
                )
            )
        return ChatResponse(
            ai_message=AiMessage(
                [*parts, *calls],
                provider_state=ProviderState(answering.provider, self._extras) if self._extras else None,
            ),
            finish_reason=reason,
            token_usage=self.token_usage(),
            id=self.id,
            raw_finish_reason=self.finish_word,
            notices=tuple(notices),
            raw_body=raw_body,
            citations=self._citations(),
        )

    def _citations(self) -> tuple[Citation, ...]:
        if not self._found:
            return ()
        from agentforge_dashscope.wire.citations import citations_of  # few replies have sources

        return citations_of(self._found)

    def _requests(self) -> list[ToolExecutionRequest]:
        seen: set[str] = set()
        requests: list[ToolExecutionRequest] = []
        for call in self._calls.calls:
            identity = call.id if call.id and call.id not in seen else self._answering.new_id()
            seen.add(identity)
            requests.append(call.request(identity, self._answering))
        return requests


def _results_in(holder: Mapping[str, object]) -> list[object]:
    """The results of a search in an output or a choice; those of a stream may come again."""
    info = holder.get("search_info")
    found = info.get("search_results") if isinstance(info, Mapping) else None
    return found if isinstance(found, list) else []


def _text_of(content: object) -> str:
    """The text of a content that is a list of parts."""
    if not isinstance(content, list):
        return ""
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
