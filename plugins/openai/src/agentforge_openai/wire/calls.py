"""Pieces of calls in a stream to whole calls, over all the ways in which servers send them.

Servers differ in whether pieces carry an index, an id or a name, and some give every parallel call the index 0. The
order of the rules is that of how much each sign can be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentforge.provider import is_object
from agentforge_openai.wire.reply import CALL_EXTRAS, RawCall, arguments_text, extras_of

__all__ = ("CallCollector",)

_SIGNS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


class CallCollector:
    """Opens and fills the calls of one reply; ``calls`` is in the order of opening."""

    __slots__ = ("_by_id", "_by_index", "_last", "_scans", "_splits_names", "calls")

    def __init__(self, calls: list[RawCall], *, splits_names: bool = False) -> None:
        self.calls = calls
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self._scans: dict[int, _Scan] = {}
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
            self._by_id.setdefault(identity, position)
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
            if known is None or self._is_another(known, identity, name, text):
                known = self._by_index[index] = self._open()
            return known
        if identity:
            known = self._by_id.get(identity)
            return self._open() if known is None else known
        return self._open() if name or self._last < 0 else self._last

    def _is_another(self, at: int, identity: str, name: str, text: str) -> bool:
        """Whether a piece for an index in use begins a further call (servers that number every call 0)."""
        call = self.calls[at]
        if identity:
            return bool(call.id) and identity != call.id
        # A complete object cannot go on: a name, without an id to match or with arguments of its own, is a new call.
        if not name or (call.id and not text.strip()):
            return False
        scan = self._scans.get(at)
        if scan is None:
            scan = self._scans[at] = _Scan()
        return scan.is_object(call.pieces)

    def _open(self) -> int:
        self.calls.append(RawCall())
        return len(self.calls) - 1


class _Scan:
    """Whether pieces are a whole object, asked again and again while they grow; each is looked at once. What stands
    behind the end of an object, or is none where its brackets close, never becomes one."""

    __slots__ = ("_depth", "_done", "_in_text", "_is_object", "_seen", "_skip")

    def __init__(self) -> None:
        self._seen = self._depth = 0
        self._in_text = self._done = self._is_object = self._skip = False

    def is_object(self, pieces: list[str]) -> bool:
        """The answer for all pieces so far."""
        for at in range(self._seen, len(pieces)):
            if self._done:
                self._is_object = self._is_object and (not pieces[at] or pieces[at].isspace())
            elif self._closes_in(pieces[at]):
                self._done = True
                self._is_object = is_object("".join(pieces[: at + 1]))
        self._seen = len(pieces)
        return self._is_object

    def _closes_in(self, piece: str) -> bool:
        start = 1 if self._skip and piece else 0
        if piece:
            self._skip = False
        for found in _SIGNS.finditer(piece, start):
            sign = found[0]
            if sign[0] == "\\":
                self._skip = self._in_text and len(sign) == 1  # what it escapes begins the next piece
            elif sign == '"':
                self._in_text = not self._in_text
            elif not self._in_text:
                self._depth += 1 if sign in "{[" else -1
                if self._depth <= 0:
                    return True
        return False


def _blank_or_text(value: object) -> str:
    return value if isinstance(value, str) and not value.isspace() else ""
