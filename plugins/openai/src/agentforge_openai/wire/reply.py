"""What both decoders fill and one function turns into a `ChatResponse`, so that plain and streamed replies are equal.

Order of the parts: reasoning, text, refusal, calls; this wire does not interleave them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.model import (
    AiMessage,
    ChatResponse,
    Content,
    ProviderState,
    TextContent,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.provider import MENDED, Answering, dump_arguments, joined_text
from agentforge_openai.wire.finish import finish_of
from agentforge_openai.wire.reasoning import FIELDS, Reasoning
from agentforge_openai.wire.usage import decode_usage

if TYPE_CHECKING:
    from agentforge_openai.wire.citations import Sources

__all__ = (
    "CALL_EXTRAS",
    "MESSAGE_EXTRAS",
    "ChatAnswering",
    "RawCall",
    "Reply",
    "arguments_text",
    "extras_of",
    "first_choice",
    "whole_call",
)

_CALL_EXTRAS = ("extra_content", "provider_specific_fields")
_MESSAGE_EXTRAS = ("extra_content", "thought_signature", "thinking_blocks", "provider_specific_fields")
#: Fields of a call that are opaque and go back as they came.
CALL_EXTRAS = frozenset(_CALL_EXTRAS)
#: Those of a message.
MESSAGE_EXTRAS = frozenset(_MESSAGE_EXTRAS)


@dataclass(frozen=True, slots=True)
class ChatAnswering(Answering):
    """What decoding needs beside that, from the row."""

    reasoning_only_in_total: bool = False
    splits_names: bool = False
    unfinished_calls_allowed: bool = False


@dataclass(slots=True)
class RawCall:
    """A call as it came; ``pieces`` joined are its argument text. ``told`` is what was told of it as complete."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extras: dict[str, object] = field(default_factory=dict)
    told: ToolExecutionRequest | None = None

    def text(self) -> str:
        """The argument text so far."""
        if len(self.pieces) != 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0]

    def request(self, identity: str, answering: ChatAnswering) -> ToolExecutionRequest:
        """The call in our form, under this id."""
        name, arguments = self.name.strip(), joined_text(self.pieces)
        if answering.aliases:
            name = answering.aliases.get(name, name)
        if not arguments or arguments.isspace():
            arguments = "{}"
        state = ProviderState(answering.provider, self.extras) if self.extras else None
        return ToolExecutionRequest(identity, name, arguments, identity == self.id, state)


def whole_call(item: dict[str, object]) -> RawCall | None:
    """The call that ``item`` plainly is, in the form nearly every server sends; ``None`` for any other."""
    function, identity = item.get("function"), item.get("id")
    if type(function) is not dict or type(identity) is not str or not CALL_EXTRAS.isdisjoint(item):
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if type(name) is not str or not name or type(arguments) is not str or identity.isspace() or name.isspace():
        return None
    return RawCall(identity, name, [arguments])


class Reply:
    """One reply while it is read."""

    __slots__ = (
        "calls",
        "extras",
        "finish_word",
        "id",
        "mended",
        "model",
        "reasoning",
        "refusal",
        "sources",
        "texts",
        "usage",
    )

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.refusal: list[str] = []
        self.reasoning: Reasoning | None = None
        self.calls: list[RawCall] = []
        self.extras: dict[str, object] = {}
        self.sources: Sources | None = None
        self.finish_word: str | None = None
        self.usage: Mapping[str, object] | None = None
        self.id: str | None = None
        self.model: str | None = None
        self.mended = False

    def add_identity(self, body: Mapping[str, object]) -> None:
        """Take id and model; the first of each stays."""
        if self.id is None:
            self.id = _word(body.get("id"))
        if self.model is None:
            self.model = _word(body.get("model"))

    def add_reasoning(self, source: Mapping[str, object], *, whole: bool = False) -> str:
        """Take the reasoning fields of a delta or of a ``whole`` message; the text that is new in them."""
        return "" if FIELDS.isdisjoint(source) else self._reasoning().add(source, whole=whole)

    def _reasoning(self) -> Reasoning:
        if self.reasoning is None:
            self.reasoning = Reasoning()
        return self.reasoning

    def add_usage(self, *places: Mapping[str, object] | None) -> bool:
        """Take the usage from the first place that has one; whether there was one."""
        for place in places:
            found = place.get("usage") if place is not None else None
            if isinstance(found, dict) and found:
                self.usage = found
                return True
        return False

    def add_extras(self, source: Mapping[str, object]) -> None:
        """Take opaque fields of the message."""
        if MESSAGE_EXTRAS.isdisjoint(source):
            return
        for name, value in extras_of(source, _MESSAGE_EXTRAS).items():
            before = self.extras.get(name)
            if isinstance(before, list) and isinstance(value, list):
                value = before + value
            elif isinstance(before, dict) and isinstance(value, dict):
                value = {**before, **value}
            self.extras[name] = value

    def add_sources(self, message: Mapping[str, object]) -> None:
        """Take the sources that a message or a delta names."""
        if "annotations" in message or "citations" in message:
            self._sources().add_of_message(message)

    def add_source_lists(self, body: Mapping[str, object]) -> None:
        """Take the sources that a body or a chunk lists."""
        if "citations" in body or "search_results" in body:
            self._sources().add_of_body(body)

    def _sources(self) -> Sources:
        if self.sources is None:
            # Few replies name any.
            from agentforge_openai.wire.citations import Sources

            self.sources = Sources()
        return self.sources

    def add_parts(self, parts: list[object], *, whole: bool = False) -> tuple[str, str]:
        """Take content that came as a list; its new text and its new thinking. ``whole``: each part is one, and no
        piece of it."""
        texts: list[str] = []
        thoughts: list[str] = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, Mapping):
                if part.get("type") == "thinking":
                    thoughts.append(self._reasoning().add_part(part, whole=whole))
                elif part.get("type") == "refusal":
                    self.refusal.append(str(part.get("refusal") or ""))
                elif isinstance(part.get("text"), str):
                    texts.append(str(part["text"]))
        text, thought = "".join(texts), "".join(thoughts)
        if text:
            self.texts.append(text)
        return text, thought

    def token_usage(self, answering: ChatAnswering) -> TokenUsage:
        """The tokens as far as reported."""
        if self.usage is None:
            return TokenUsage()
        return decode_usage(self.usage, reasoning_only_in_total=answering.reasoning_only_in_total)

    def response(self, answering: ChatAnswering, raw_body: bytes | None = None) -> ChatResponse:
        """The finished reply."""
        calls = self._requests(answering)
        refusal = joined_text(self.refusal)
        parts: list[Content | ToolExecutionRequest] = []
        thinking = self.reasoning.content(answering.provider) if self.reasoning is not None else None
        if thinking is not None:
            parts.append(thinking)
        text = joined_text(self.texts)
        if text:
            parts.append(TextContent(text))
        if refusal:
            # Marked, so that it goes back as a refusal.
            parts.append(TextContent(refusal, ProviderState(answering.provider, {"refusal": True})))
        reason, notice = finish_of(self.finish_word, has_calls=bool(calls), refused=bool(refusal))
        notices = answering.notices if notice is None else (*answering.notices, notice)
        if self.mended:
            notices += (MENDED,)
        return ChatResponse(
            ai_message=AiMessage(
                [*parts, *calls],
                provider_state=ProviderState(answering.provider, self.extras) if self.extras else None,
            ),
            finish_reason=reason,
            token_usage=self.token_usage(answering),
            id=self.id,
            model_name=self.model,
            raw_finish_reason=self.finish_word,
            notices=notices,
            raw_body=raw_body,
            citations=self.sources.citations(text) if self.sources is not None else (),
        )

    def _requests(self, answering: ChatAnswering) -> list[ToolExecutionRequest]:
        seen: set[str] = set()
        requests: list[ToolExecutionRequest] = []
        for call in self.calls:
            if call.told is not None:
                requests.append(call.told)  # what came after that belongs to no reading of the reply
                seen.add(call.told.id)
                continue
            given = bool(call.id) and call.id not in seen
            identity = call.id if given else answering.new_id()
            seen.add(identity)
            requests.append(call.request(identity, answering))
        return requests


def first_choice(choices: object) -> dict[str, Any] | None:
    """The choice that is read where a custom ``n`` asked for several: the one of index 0, wherever it stands; a whole
    reply may number its only one otherwise."""
    if not isinstance(choices, list) or not choices:
        return None
    first = choices[0]
    if len(choices) > 1 and isinstance(first, dict) and first.get("index"):
        first = next((one for one in choices if isinstance(one, dict) and not one.get("index")), first)
    return first if isinstance(first, dict) else None


def arguments_text(value: object) -> str:
    """The text of a call's arguments; an object (some servers send one) is written as JSON.

    >>> arguments_text({"a": 1}), arguments_text(None)
    ('{"a":1}', '')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else dump_arguments(value)


def extras_of(source: Mapping[str, object], names: tuple[str, ...] = _CALL_EXTRAS) -> dict[str, object]:
    """The opaque fields that are there."""
    return {name: source[name] for name in names if source.get(name)}


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
