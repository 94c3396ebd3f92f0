"""What both decoders fill and one function turns into a `ChatResponse`, so that plain and streamed replies are equal.

A reply is a list of parts, whose order is kept: thoughts, texts, calls, media, and whatever else the vendor makes of
its own (code that it ran, tools that it called, kinds that are newer than this code). Texts that follow each other are
one part, but for those with a signature, which may not be merged with others. A part that has no form of ours becomes a
part of thinking without text that carries it as opaque state in its place, as other wires and views pass over that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from agentforge.errors import ProtocolError, StreamTruncatedError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatEvent,
    ChatResponse,
    Content,
    FileContent,
    FinishReason,
    ImageContent,
    Notice,
    ProviderState,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
)
from agentforge.provider import MENDED, Answering, HeldHalf, dump_arguments, joined_text
from agentforge_gemini.wire.citations import citations_of
from agentforge_gemini.wire.finish import blocked_notice, end_notice, finish_of
from agentforge_gemini.wire.partial_args import PartialCall
from agentforge_gemini.wire.usage import decode_usage

__all__ = ("MEDIA_STATE", "PART", "Reply")

#: In the state of a thinking part: the vendor's own part as it came.
PART = "part"
#: In the state of a turn: what media of it had beside their data, by their place among the parts.
MEDIA_STATE = "parts"

_CALL_FIELDS = ("name", "args", "partialArgs", "willContinue")
_ABOUT = ("groundingMetadata", "urlContextMetadata", "citationMetadata")
_NO_REASON = "FINISH_REASON_UNSPECIFIED"


class _Words:
    """Text or thoughts while they are read; ``more`` is what stood beside them in their part."""

    __slots__ = ("is_thought", "more", "pieces")

    def __init__(self, is_thought: bool, more: dict[str, Any]) -> None:
        self.is_thought = is_thought
        self.more = more
        self.pieces: list[str] = []


class _Call:
    """A call while it is read."""

    __slots__ = ("identity", "made", "more", "name", "number", "partial", "said")

    def __init__(self, number: int, identity: str, name: str) -> None:
        self.number = number
        self.identity = identity
        self.name = name
        self.said: dict[str, Any] = {}
        self.more: dict[str, Any] = {}
        self.partial = PartialCall()
        self.made: ToolExecutionRequest | None = None


_Part: TypeAlias = "_Words | _Call | tuple[Content, dict[str, Any]]"


class Reply:
    """One reply while it is read: `take` for each object of it, plain or streamed."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._ids: set[str] = set()
        self._parts: list[_Part] = []
        self._calls = 0
        self._open: _Call | None = None
        self._halves = {False: HeldHalf(), True: HeldHalf()}
        self._texts: list[str] = []
        self._usage: dict[str, Any] = {}
        self._about: dict[str, Any] = {}
        self._blocked: Mapping[str, Any] | None = None
        self._id: str | None = None
        self._model: str | None = None
        self._message: str | None = None
        #: Whether anything of a reply came.
        self.has_begun = False
        #: Whether numbers in it were replaced.
        self.mended = False
        #: Why it ended, once that is known.
        self.finish_reason: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is known why it ended."""
        return self.finish_reason is not None or self._blocked is not None

    @property
    def text(self) -> str:
        """The text so far."""
        return joined_text(self._texts)

    def take(self, body: Mapping[str, Any], events: list[ChatEvent]) -> None:
        """Take one object; what it shows is added to ``events``. Raises `ProtocolError`."""
        self._id = _word(body.get("responseId")) or self._id
        self._model = _word(body.get("modelVersion")) or self._model
        usage = body.get("usageMetadata")
        if isinstance(usage, dict):
            # Cumulative; a count that is absent keeps its value.
            self._usage.update({name: value for name, value in usage.items() if value is not None})
        candidates = body.get("candidates")
        if isinstance(candidates, list):
            for candidate in candidates:
                if isinstance(candidate, dict) and candidate.get("index") in (None, 0):
                    self._candidate(candidate, events)
                    break  # a second answer has no place in ours
        feedback = body.get("promptFeedback")
        if isinstance(feedback, Mapping) and feedback.get("blockReason"):
            self.has_begun = True
            self._blocked = feedback

    def end(self, events: list[ChatEvent]) -> None:
        """The reply is over: add what was held back. Raises `StreamTruncatedError` for a call that is not whole."""
        if self._open is not None:
            raise StreamTruncatedError(
                f"the stream ended within the arguments of a call of {self._open.name!r}", partial_text=self.text
            )
        for is_thought, held in self._halves.items():
            if held.half:
                events.append(ThinkingDelta(held.half) if is_thought else TextDelta(held.half))

    def token_usage(self) -> TokenUsage:
        """The tokens as far as reported."""
        return decode_usage(self._usage) if self._usage else TokenUsage()

    def response(self, raw_body: bytes | None = None) -> ChatResponse:
        """The finished reply."""
        contents, media = self._contents()
        about: dict[str, Any] = {name: self._about[name] for name in _ABOUT if name in self._about}
        if media:
            about[MEDIA_STATE] = media
        state = ProviderState(self._answering.provider, about) if about else None
        reason = self.finish_reason
        finish = finish_of(reason, has_calls=bool(self._calls))
        if self._blocked is not None and finish in (FinishReason.STOP, FinishReason.TOOL_EXECUTION):
            reason = _word(self._blocked.get("blockReason"))
            finish = FinishReason.CONTENT_FILTER  # so that no call of it runs
        return ChatResponse(
            ai_message=AiMessage(contents, provider_state=state),
            finish_reason=finish,
            token_usage=self.token_usage(),
            id=self._id,
            model_name=self._model,
            raw_finish_reason=reason,
            notices=(*self._answering.notices, *self._notices()),
            raw_body=raw_body,
            citations=tuple(dict.fromkeys(citations_of(self._about, self._texts))),
        )

    # -- one candidate ---------------------------------------------------------------------------

    def _candidate(self, candidate: Mapping[str, Any], events: list[ChatEvent]) -> None:
        self.has_begun = True
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                self._part(part, events)
        reason = _word(candidate.get("finishReason"))
        if reason is not None and reason != _NO_REASON:
            self.finish_reason = reason
        self._message = _word(candidate.get("finishMessage")) or self._message
        for name in _ABOUT:
            if candidate.get(name):
                self._about[name] = candidate[name]

    def _part(self, part: dict[str, Any], events: list[ChatEvent]) -> None:
        text = part.get("text")
        if type(text) is str:
            if len(part) == 1:
                self._say(text, False, {}, events)
                return
            more = {name: value for name, value in part.items() if name not in ("text", "thought") and _counts(value)}
            if "functionCall" not in more:
                self._say(text, part.get("thought") is True, more, events)
                return
            self._say(text, part.get("thought") is True, {}, events)  # of a host that fills every field
            part = more
        self._texts.append("")
        said = part.get("functionCall")
        if isinstance(said, dict):
            self._call(part, said, events)
            return
        media = _media(part)
        if media is not None:
            self._parts.append(media)
        elif any(_counts(value) for value in part.values()):
            self._parts.append((ThinkingContent("", ProviderState(self._answering.provider, {PART: part})), {}))

    def _say(self, text: str, is_thought: bool, more: dict[str, Any], events: list[ChatEvent]) -> None:
        self._texts.append("" if is_thought else text)
        if not text and not more:
            return
        last = self._parts[-1] if self._parts else None
        if more or type(last) is not _Words or last.more or last.is_thought is not is_thought:
            last = _Words(is_thought, more)
            self._parts.append(last)
        if not text:
            return
        last.pieces.append(text)
        held = self._halves[is_thought]
        if text[-1] >= "\ud800" or held.half:
            text = held.shown(text)
            if not text:
                return
        events.append(ThinkingDelta(text) if is_thought else TextDelta(text))

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, part: Mapping[str, Any], said: dict[str, Any], events: list[ChatEvent]) -> None:
        name = (_word(said.get("name")) or "").strip()
        given = _word(said.get("id"))
        call = self._open
        if call is None and self._calls and len(part) == 1 and not any(map(_counts, said.values())):
            return  # the mark that ends a call in pieces, once more
        if call is not None and name and (given is None or given != call.said.get("id")):
            raise ProtocolError(f"a call of {name!r} began before that of {call.name!r} was whole")
        if call is None:
            identity = given if given and given not in self._ids else self._answering.new_id()
            self._ids.add(identity)
            call = _Call(self._calls, identity, self._answering.aliases.get(name, name))
            self._calls += 1
            self._parts.append(call)
            events.append(ToolCallDelta(call.number, identity, call.name or None, ""))
        call.said.update(said)
        call.more.update({key: value for key, value in part.items() if key != "functionCall" and _counts(value)})
        call.partial.add(said.get("partialArgs"))
        if said.get("willContinue") is True:
            self._open = call
        else:
            call.said.pop("willContinue", None)
            self._close(call, events)

    def _close(self, call: _Call, events: list[ChatEvent]) -> None:
        """Finish a call."""
        self._open = None
        given = call.said.get("args")
        arguments = call.partial.whole()
        if isinstance(given, dict) and arguments:
            given = {**given, **arguments}
        elif arguments or given is None:
            given = arguments
        text = given if isinstance(given, str) else dump_arguments(given)
        state = dict(call.more)
        own = {name: value for name, value in call.said.items() if name not in _CALL_FIELDS and _counts(value)}
        if own:
            state["functionCall"] = own
        call.made = ToolExecutionRequest(
            call.identity,
            call.name,
            text,
            call.identity == own.get("id"),
            ProviderState(self._answering.provider, state) if state else None,
        )
        events.append(ToolCallDelta(call.number, call.identity, call.name or None, text))
        events.append(ToolCallReady(call.made, call.number))

    # -- the end ---------------------------------------------------------------------------------

    def _contents(self) -> tuple[list[Content | ToolExecutionRequest], dict[str, Any]]:
        """The parts of the message, and what media had beside their data, by their place."""
        made: list[Content | ToolExecutionRequest] = []
        media: dict[str, Any] = {}
        for part in self._parts:
            if isinstance(part, _Call):
                assert part.made is not None
                made.append(part.made)
            elif isinstance(part, _Words):
                state = ProviderState(self._answering.provider, part.more) if part.more else None
                text = joined_text(part.pieces)
                made.append(ThinkingContent(text, state) if part.is_thought else TextContent(text, state))
            else:
                content, more = part
                if more:
                    media[str(len(made))] = more
                made.append(content)
        return made, media

    def _notices(self) -> Iterator[Notice]:
        if self._blocked is not None:
            yield blocked_notice(self._blocked)
        ended = end_notice(self.finish_reason, self._message)
        if ended is not None:
            yield ended
        if self.mended:
            yield MENDED


def _media(part: dict[str, Any]) -> tuple[Content, dict[str, Any]] | None:
    """A picture, sound or file that the model made, and what stood beside its data; ``None`` for anything else."""
    said = part.get("inlineData")
    if not isinstance(said, Mapping) or part.get("thought") is True:
        return None
    data, kind = said.get("data"), said.get("mimeType")
    if not isinstance(data, str) or not isinstance(kind, str):
        return None
    more = {name: value for name, value in part.items() if name != "inlineData" and _counts(value)}
    try:
        if kind.startswith("image/"):
            return ImageContent(data=data, media_type=kind), more
        if kind.startswith("audio/"):
            return AudioContent(data=data, media_type=kind), more
        return FileContent(data=data, media_type=kind, name=_word(said.get("displayName"))), more
    except ValueError:  # no base64
        return None


def _counts(value: object) -> bool:
    """Whether a member says anything."""
    return value is not None and value is not False and value != ""


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None
