"""Pieces of calls in a stream to whole calls, over all the ways in which servers send them.

Servers differ in whether pieces carry an index, an id or a name, and some give every parallel call the index 0. The
order of the rules is that of how much each sign can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.provider import is_object
from agentforge_openai.wire.reply import CALL_EXTRAS, RawCall, arguments_text, extras_of

__all__ = ("CallCollector",)


class CallCollector:
    """Opens and fills the calls of one reply; ``calls`` is in the order of opening."""

    __slots__ = ("_by_index", "_last", "_splits_names", "calls")

    def __init__(self, calls: list[RawCall], *, splits_names: bool = False) -> None:
        self.calls = calls
        self._by_index: dict[int, int] = {}
        self._last = -1
        self._splits_names = splits_names

    def add(self, item: Mapping[str, object]) -> tuple[int, str]:
        """Take one piece; the position of its call and the argument text that is new in it."""
        function = item.get("function")
        if len(item) == 2 and type(function) is dict and len(function) == 1:
            # Nearly every piece: more text for a call that is known by its index.
            more, index = function.get("arguments"), item.get("index")
            if type(more) is str and type(index) is int and (at := self._by_index.get(index)) is not None:
                self._last = at
                if more:
                    self.calls[at].pieces.append(more)
                return at, more
        given: Mapping[str, object] = function if isinstance(function, dict) else {}
        custom = item.get("custom")
        if isinstance(custom, dict) and not given.get("name") and (custom.get("name") or custom.get("input")):
            given = {"name": custom.get("name"), "arguments": custom.get("input")}
        identity, name = _blank_or_text(item.get("id")), _blank_or_text(given.get("name"))
        text = arguments_text(given.get("arguments"))
        position = self._position(item.get("index"), identity, name, text)
        call = self.calls[position]
        self._last = position
        if identity and not call.id:
            call.id = identity
        if name and (not call.name or (self._splits_names and name != call.name)):
            call.name += name
        if text:
            call.pieces.append(text)
        if not CALL_EXTRAS.isdisjoint(item):
            call.extras.update(extras_of(item))
        return position, text

    def _position(self, index: object, identity: str, name: str, text: str) -> int:
        if isinstance(index, int) and not isinstance(index, bool):
            known = self._by_index.get(index)
            if known is None or self._is_another(self.calls[known], identity, name, text):
                known = self._by_index[index] = self._open()
            return known
        if identity:
            known = next((at for at, call in enumerate(self.calls) if call.id == identity), None)
            return self._open() if known is None else known
        return self._open() if name or self._last < 0 else self._last

    def _is_another(self, call: RawCall, identity: str, name: str, text: str) -> bool:
        """Whether a piece for an index in use begins a further call (servers that number every call 0)."""
        if identity:
            return bool(call.id) and identity != call.id
        # A complete object cannot go on: a name, without an id to match or with arguments of its own, is a new call.
        return bool(name) and (not call.id or bool(text.strip())) and is_object("".join(call.pieces))

    def _open(self) -> int:
        self.calls.append(RawCall())
        return len(self.calls) - 1


def _blank_or_text(value: object) -> str:
    return value if isinstance(value, str) and not value.isspace() else ""
