"""The arguments of a call that comes in pieces: values with the path of the place that they belong to.

A text may come in several pieces; everything else comes whole. Nothing of it is shown before the call is whole, as the
text of the arguments is not known before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentforge.errors import ProtocolError

__all__ = ("PartialCall",)

_STEP = re.compile(r"""\.([^\s.\[\]'"]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\[("(?:[^"\\]|\\.)*")\]""", re.DOTALL)
_MAX_DEPTH = 64
_VALUES = ("numberValue", "boolValue")


class PartialCall:
    """Collects the values. ``open_path`` is the place of a text that goes on, if one does."""

    __slots__ = ("_pieces", "arguments", "open_path")

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        self.arguments: dict[str, Any] = dict(arguments or {})
        self.open_path: str | None = None
        self._pieces: list[str] = []

    def add(self, said: object) -> None:
        """Take the pieces of one event. Raises `ProtocolError` for a place that cannot be.

        >>> call = PartialCall()
        >>> call.add([{"jsonPath": "$.to[0].name", "stringValue": "An", "willContinue": True}])
        >>> call.add([{"jsonPath": "$.to[0].name", "stringValue": "na"}, {"jsonPath": "$.n", "numberValue": 2}])
        >>> call.whole()
        {'to': [{'name': 'Anna'}], 'n': 2}
        """
        for piece in said if isinstance(said, list) else ():
            if isinstance(piece, Mapping):
                self._take(piece)

    def whole(self) -> dict[str, Any]:
        """All arguments so far."""
        self._end_text()
        return self.arguments

    def _take(self, piece: Mapping[str, Any]) -> None:
        path = piece.get("jsonPath")
        if not isinstance(path, str):
            raise ProtocolError("a piece of a call's arguments names no place (jsonPath)")
        if path != self.open_path:
            self._end_text()
        text = piece.get("stringValue")
        if isinstance(text, str):
            self._pieces.append(text)
            self.open_path = path
            if piece.get("willContinue") is not True:
                self._end_text()
            return
        found = next((piece[name] for name in _VALUES if name in piece), None)
        if found is not None or "nullValue" in piece:
            self._put(path, found)

    def _end_text(self) -> None:
        if self.open_path is not None:
            self._put(self.open_path, "".join(self._pieces))
            self.open_path = None
            self._pieces = []

    def _put(self, path: str, value: Any) -> None:
        steps = _steps(path)
        place: Any = self.arguments
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if isinstance(step, int) is not isinstance(place, list) or not isinstance(place, (list, dict)):
                raise _wrong(path)
            if isinstance(place, list) and step == len(place):
                place.append(None)
            elif isinstance(place, list) and not step < len(place):
                raise _wrong(path)
            if following is None:
                place[step] = value
                return
            inner = place[step] if isinstance(place, list) else place.get(step)
            if inner is None:
                inner = place[step] = [] if isinstance(following, int) else {}
            place = inner


def _steps(path: str) -> list[Any]:
    """The names and numbers of a path (RFC 9535, without anything that finds more than one place)."""
    steps: list[Any] = []
    at = 1 if path.startswith("$") else len(path) + 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise _wrong(path)
        name, number, single, double = found.groups()
        try:
            steps.append(
                int(number) if number else name if name else json.loads(double) if double else _unquoted(single or "")
            )
        except ValueError:
            raise _wrong(path) from None
        at = found.end()
    if not steps or len(steps) > _MAX_DEPTH or isinstance(steps[0], int):
        raise _wrong(path)
    return steps


def _unquoted(text: str) -> str:
    escaped = text.replace("\\'", "'").replace('"', '\\"')
    found: str = json.loads(f'"{escaped}"')
    return found


def _wrong(path: str) -> ProtocolError:
    return ProtocolError(f"a piece of a call's arguments names a place that cannot be: {path[:200]!r}")
