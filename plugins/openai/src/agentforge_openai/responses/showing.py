"""What of a stream is shown, each thing once: deltas as they come, and what came without deltas when it is whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentforge.model import ChatEvent, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallReady
from agentforge.provider import dump_arguments
from agentforge_openai.responses.items import CALLS, reasoning_text
from agentforge_openai.responses.reply import Reply
from agentforge_openai.responses.state import TEXT_KEYS

__all__ = ("Showing",)

_BEFORE_INPUT = '{"input":"'


@dataclass(slots=True)
class _OpenCall:
    """A call while it is read. ``held``: it may be several in one, so nothing is shown before it is whole."""

    index: int
    id: str | None
    name: str | None
    free_text: bool
    held: bool
    shown: list[str] = field(default_factory=list)


class Showing:
    """The events of one reply, besides the last ones."""

    __slots__ = ("_calls", "_count", "_cut", "_ready", "_reasoning", "_reply", "_spoken", "texts")

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._calls: dict[int, _OpenCall] = {}
        self._count = 0
        self._ready: set[int] = set()
        self._cut: list[ToolCallReady] = []
        self._spoken: set[int] = set()
        self._reasoning: dict[int, tuple[str, object]] = {}
        self.texts: list[str] = []

    def text(self, at: int, delta: object) -> list[ChatEvent]:
        """A piece of a text or of a refusal."""
        if not isinstance(delta, str) or not delta:
            return []
        self._spoken.add(at)
        self.texts.append(delta)
        return [TextDelta(delta)]

    def thinking(self, at: int, kind: str, part: object, delta: object) -> list[ChatEvent]:
        """A piece of reasoning; of summary and text of one item only what came first is shown."""
        if not isinstance(delta, str) or not delta:
            return []
        known = self._reasoning.get(at)
        if known is not None and known[0] != kind:
            return []
        self._reasoning[at] = kind, part
        return [ThinkingDelta(delta if known is None or known[1] == part else f"\n\n{delta}")]

    def opened(self, at: int, item: dict[str, Any]) -> list[ChatEvent]:
        """A call begins."""
        call = self._open(at, item)
        return [] if call.held else [ToolCallDelta(call.index, call.id, call.name, "")]

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
        )
        self._count += 1
        return call

    def arguments(self, at: int, delta: str) -> list[ChatEvent]:
        """A piece of a call's arguments; the free text of a custom tool is shown as the JSON that it becomes."""
        call = self._calls.get(at)
        if call is None:
            return []
        if call.free_text:
            delta = ("" if call.shown else _BEFORE_INPUT) + dump_arguments(delta)[1:-1]
        call.shown.append(delta)
        return [] if call.held else [ToolCallDelta(call.index, call.id, call.name, delta)]

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
            return [event for text in texts for event in self.text(at, text)]
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
            shown, whole = "".join(call.shown), requests[0].arguments
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
        return [*(event for at in sorted(items) for event in self.done(at, items[at])), *self._cut]
