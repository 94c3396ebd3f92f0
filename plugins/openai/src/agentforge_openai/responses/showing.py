"""What of a stream is shown, each thing once: deltas as they come, and what came without deltas when it is whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentforge.model import ChatEvent, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallReady
from agentforge.provider import HeldHalf, dump_arguments, joined_text
from agentforge_openai.responses.items import CALLS, reasoning_text
from agentforge_openai.responses.reply import Reply
from agentforge_openai.responses.state import TEXT_KEYS

__all__ = ("Showing",)

_BEFORE_INPUT = '{"input":"'
_PARTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "text": lambda text: {"type": "output_text", "text": text, "annotations": []},
    "refusal": lambda text: {"type": "refusal", "refusal": text},
    "summary": lambda text: {"type": "summary_text", "text": text},
    "content": lambda text: {"type": "reasoning_text", "text": text},
}


@dataclass(slots=True)
class _OpenCall:
    """A call while it is read. ``held``: it may be several in one, so nothing is shown before it is whole. ``item`` is
    it as it began, ``pieces`` its arguments, and ``whole`` these where an event gave them at once."""

    index: int
    id: str | None
    name: str | None
    free_text: bool
    held: bool
    item: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    whole: str | None = None

    @property
    def shown(self) -> str:
        """The argument text that was shown."""
        text = joined_text(self.pieces)
        return _BEFORE_INPUT + dump_arguments(text)[1:-1] if self.free_text and text else text


class _Spoken(NamedTuple):
    """One part of an item's text: a text, a refusal or reasoning of some sort."""

    kind: str
    part: object
    pieces: list[str]


class Showing:
    """The events of one reply, besides the last ones; and its items, as far as they came in pieces only."""

    __slots__ = (
        "_begun",
        "_calls",
        "_count",
        "_cut",
        "_now",
        "_pieces",
        "_ready",
        "_reasoning",
        "_reply",
        "_spoken",
        "_text_half",
        "_thought_half",
        "texts",
    )

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._calls: dict[int, _OpenCall] = {}
        self._count = 0
        self._ready: set[int] = set()
        self._cut: list[ToolCallReady] = []
        self._begun: dict[int, dict[str, Any]] = {}
        self._spoken: dict[int, list[_Spoken]] = {}
        self._reasoning: dict[int, list[_Spoken]] = {}
        self._now: tuple[int, str, object] | None = None
        self._pieces: list[str] = []
        self._text_half, self._thought_half = HeldHalf(), HeldHalf()
        self.texts: list[str] = []

    def text(self, at: int, kind: str, part: object, delta: object) -> list[ChatEvent]:
        """A piece of a text or of a refusal."""
        if not isinstance(delta, str) or not delta:
            return []
        if (at, kind, part) != self._now:
            self._turn_to(at, kind, part)
        self._pieces.append(delta)
        self.texts.append(delta)
        held = self._text_half
        if (delta[-1] >= "\ud800" or held.half) and not (delta := held.shown(delta)):
            return []
        return [TextDelta(delta)]

    def _turn_to(self, at: int, kind: str, part: object) -> None:
        """Let further pieces of text go to this part."""
        spoken = self._spoken.setdefault(at, [])
        found = next((one for one in spoken if one.kind == kind and one.part == part), None)
        if found is None:
            found = _Spoken(kind, part, [])
            spoken.append(found)
        self._now, self._pieces = (at, kind, part), found.pieces

    def text_done(self, at: int, kind: str, part: object, text: object) -> list[ChatEvent]:
        """A whole text or refusal, which is shown unless pieces of it were."""
        known = any(one.kind == kind and one.part == part for one in self._spoken.get(at, ()))
        return [] if known else self.text(at, kind, part, text)

    def thinking(self, at: int, kind: str, part: object, delta: object) -> list[ChatEvent]:
        """A piece of reasoning; of summary and text of one item only what came first is shown."""
        if not isinstance(delta, str) or not delta:
            return []
        known = self._reasoning.get(at)
        if known is None:
            self._reasoning[at] = [_Spoken(kind, part, [delta])]
        elif known[-1].kind != kind:
            return []
        elif known[-1].part == part:
            known[-1].pieces.append(delta)
        else:
            known.append(_Spoken(kind, part, [delta]))
            delta = f"\n\n{delta}"
        held = self._thought_half
        if (delta[-1] >= "\ud800" or held.half) and not (delta := held.shown(delta)):
            return []
        return [ThinkingDelta(delta)]

    def begun(self, at: int, item: dict[str, Any]) -> list[ChatEvent]:
        """An item begins."""
        if item.get("type") in CALLS:
            call = self._open(at, item)
            return [] if call.held else [ToolCallDelta(call.index, call.id, call.name, "")]
        self._begun[at] = item
        return []

    def _open(self, at: int, item: dict[str, Any]) -> _OpenCall:
        known = self._calls.get(at)
        if known is not None:
            return known
        identity = item.get("call_id")
        call = self._calls[at] = _OpenCall(
            self._count,
            identity if isinstance(identity, str) and identity else None,
            self._reply.name_of(item) or None,
            item["type"] == "custom_tool_call",
            self._reply.may_be_wrapped(item),
            item,
        )
        self._count += 1
        return call

    def arguments(self, at: int, delta: str) -> list[ChatEvent]:
        """A piece of a call's arguments; the free text of a custom tool is shown as the JSON that it becomes."""
        call = self._calls.get(at)
        if call is None:
            return []
        call.pieces.append(delta)
        if call.free_text:
            delta = ("" if len(call.pieces) > 1 else _BEFORE_INPUT) + dump_arguments(delta)[1:-1]
        return [] if call.held else [ToolCallDelta(call.index, call.id, call.name, delta)]

    def arguments_done(self, at: int, text: object) -> None:
        """The whole arguments of a call."""
        call = self._calls.get(at)
        if call is not None and isinstance(text, str) and text:
            call.whole = text

    def filled(self, at: int, item: dict[str, Any]) -> dict[str, Any]:
        """The item; where it is a call without arguments, with those that came apart from it."""
        member = CALLS.get(item.get("type") or "")
        call = self._calls.get(at)
        if member is None or call is None or item.get(member):
            return item
        if item.get("call_id") and call.id is not None and item["call_id"] != call.id:
            return item
        text = call.whole if call.whole is not None else joined_text(call.pieces)
        return {**item, member: text} if text else item

    def missing(self, *, is_whole: bool) -> dict[int, dict[str, Any]]:
        """The items that no event gave whole, made of their pieces, by their places. ``is_whole``: the response is."""
        items: dict[int, dict[str, Any]] = {}
        known, status = self._reply.items, "completed" if is_whole else "incomplete"
        for at, call in self._calls.items():
            if at not in known:
                ended = status if call.whole is None else "completed"
                items[at] = self.filled(at, {**call.item, "status": ended})
        for at, spoken in self._spoken.items():
            if at not in known:
                items[at] = {"role": "assistant", **self._begun.get(at, {}), "type": "message", "status": status}
                items[at]["content"] = [_PARTS[one.kind](joined_text(one.pieces)) for one in spoken]
        for at, reasoning in self._reasoning.items():
            if at not in known:
                kind = "content" if reasoning[-1].kind == "content" else "summary"
                made = [_PARTS[kind](joined_text(one.pieces)) for one in reasoning]
                items[at] = {"summary": [], **self._begun.get(at, {}), "type": "reasoning", kind: made}
        return items

    def done(self, at: int, item: dict[str, Any]) -> list[ChatEvent]:
        """An item is whole."""
        kind = item.get("type")
        if kind in CALLS:
            return self._call_done(at, item)
        if kind == "message" and at not in self._spoken:
            parts = item.get("content")
            texts = [
                part.get(TEXT_KEYS.get(str(part.get("type")), ""))
                for part in (parts if isinstance(parts, list) else ())
                if isinstance(part, dict)
            ]
            return [event for n, text in enumerate(texts) for event in self.text(at, "text", n, text)]
        if kind == "reasoning" and at not in self._reasoning:
            return self.thinking(at, "whole", 0, reasoning_text(item))
        return []

    def _call_done(self, at: int, item: dict[str, Any]) -> list[ChatEvent]:
        if at in self._ready:
            return []
        self._ready.add(at)
        call = self._open(at, item)
        requests = self._reply.requests(at, item)
        events: list[ChatEvent] = []
        if call.held:
            self._count += len(requests) - 1
            for n, request in enumerate(requests):
                events.append(ToolCallDelta(call.index + n, request.id, request.name, request.arguments))
        else:
            shown, whole = call.shown, requests[0].arguments
            if not shown or (shown != whole and whole.startswith(shown)):
                request = requests[0]
                events.append(ToolCallDelta(call.index, request.id, request.name, whole[len(shown) :]))
        ready = [ToolCallReady(request, call.index + n) for n, request in enumerate(requests)]
        if item.get("status") == "incomplete":
            self._cut += ready
        else:
            events += ready
        return events

    def rest(self) -> list[ChatEvent]:
        """What the last response object holds and no event has shown, and at the end the calls that are not whole."""
        items = self._reply.items
        events = [event for at in sorted(items) for event in self.done(at, items[at])]
        if self._text_half.half:
            events.append(TextDelta(self._text_half.half))
        if self._thought_half.half:
            events.append(ThinkingDelta(self._thought_half.half))
        return [*events, *self._cut]
