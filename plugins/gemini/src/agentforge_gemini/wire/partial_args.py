"""The arguments of a call that comes in pieces: values with the path of the place that they belong to.

A text may come in several pieces, also with others between them; everything else comes whole. Nothing of it is shown
before the call is whole, as the text of the arguments is not known before.
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
    """Collects the values."""

    __slots__ = ("_open", "arguments")

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self._open: dict[str, list[str]] = {}

    @property
    def is_open(self) -> bool:
        """Whether a text goes on."""
        return bool(self._open)

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
        """All arguments so far; texts that said no end have it here."""
        for path in tuple(self._open):
            self._end_text(path)
        return self.arguments

    def _take(self, piece: Mapping[str, Any]) -> None:
        path = piece.get("jsonPath")
        if not isinstance(path, str):
            raise ProtocolError("a piece of a call's arguments names no place (jsonPath)")
        text = piece.get("stringValue")
        if isinstance(text, str):
            pieces = self._open.get(path)
            if pieces is None:
                self._put(path, text)  # at once, so that the arguments keep their order
                pieces = self._open[path] = []
            pieces.append(text)
            if piece.get("willContinue") is not True:
                self._end_text(path)
            return
        found = next((piece[name] for name in _VALUES if piece.get(name) is not None), None)
        if found is not None or ("nullValue" in piece and path not in self._open):
            self._open.pop(path, None)
            self._put(path, found)

    def _end_text(self, path: str) -> None:
        pieces = self._open.pop(path)
        if len(pieces) > 1:
            self._put(path, "".join(pieces))

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
