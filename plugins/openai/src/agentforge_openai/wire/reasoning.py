"""Reasoning in a reply: read from whichever field carries it, kept verbatim for replay.

Servers use ``reasoning_content``, ``reasoning``, ``reasoning_details`` (a list of opaque items), or several at once
with the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentforge.model import ProviderState, ThinkingContent
from agentforge.provider import joined_text

__all__ = ("FIELDS", "Reasoning")

#: The fields that may carry reasoning.
FIELDS = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
_GROWING = ("text", "summary", "data")


class Reasoning:
    """Collects the reasoning of one reply, whole or in pieces."""

    __slots__ = ("_by_place", "_content", "_details", "_plain", "_spoken")

    def __init__(self) -> None:
        self._content: list[str] = []
        self._plain: list[str] = []
        self._spoken: list[str] = []
        self._details: list[_Detail] = []
        # By place and id; without an id, the first of the place.
        self._by_place: dict[tuple[str | None, str | None], _Detail] = {}

    def add(self, source: Mapping[str, object], *, whole: bool = False) -> str:
        """Take the reasoning fields of a delta, or of a ``whole`` message, whose items stay as they are; the text that
        is new in it (may be empty)."""
        shown = ""
        content, plain, details = (
            source.get("reasoning_content"),
            source.get("reasoning"),
            source.get("reasoning_details"),
        )
        if isinstance(details, (list, tuple)):
            shown = self._add_details(details, whole=whole)
        if isinstance(plain, str) and plain:
            self._plain.append(plain)
            shown = plain
        if isinstance(content, str) and content:
            self._content.append(content)
            shown = content
        return shown

    def add_spoken(self, text: str) -> None:
        """Take thinking that came as a part of the content."""
        self._spoken.append(text)

    def content(self, provider: str) -> ThinkingContent | None:
        """The reasoning as one part with everything that may have to go back; ``None`` when there was none."""
        data: dict[str, object] = {}
        details = [one.whole() for one in self._details]
        if self._content:
            data["reasoning_content"] = joined_text(self._content)
        if self._plain:
            data["reasoning"] = joined_text(self._plain)
        if details:
            data["reasoning_details"] = details
        text = joined_text([*(self._content or self._plain or _texts(details)), *self._spoken])
        if not data and not text:
            return None
        return ThinkingContent(text, ProviderState(provider, data) if data else None)

    def _add_details(self, details: Sequence[object], *, whole: bool) -> str:
        new: list[str] = []
        for item in details:
            if not isinstance(item, Mapping):
                continue
            new += _texts([item])
            known = None if whole else self._known(item)
            if known is not None:
                known.add(item)
                continue
            known = _Detail(item)
            self._details.append(known)
            if not whole and (place := _place(item)) is not None:
                self._by_place.setdefault((place, None), known)
                self._by_place.setdefault((place, repr(item.get("id"))), known)
        return "".join(new)

    def _known(self, item: Mapping[str, object]) -> _Detail | None:
        """The item that a piece belongs to: same place and kind, and no id that says otherwise."""
        place, identity = _place(item), item.get("id")
        first = self._by_place.get((place, None))
        if first is None or identity is None:
            return first
        if first.data.get("id") is None:
            self._by_place[place, repr(identity)] = first
            return first
        return self._by_place.get((place, repr(identity)))


class _Detail:
    """One item, and the pieces of its members that grow."""

    __slots__ = ("_growing", "data")

    def __init__(self, item: Mapping[str, object]) -> None:
        self.data = dict(item)
        self._growing: dict[str, list[str]] = {}

    def add(self, item: Mapping[str, object]) -> None:
        for key, value in item.items():
            before = self.data.get(key)
            if key in _GROWING and isinstance(before, str) and isinstance(value, str):
                self._growing.setdefault(key, [before]).append(value)
            elif value is not None:
                self.data[key] = value
                self._growing.pop(key, None)

    def whole(self) -> dict[str, object]:
        return {**self.data, **{key: joined_text(pieces) for key, pieces in self._growing.items()}}


def _place(item: Mapping[str, object]) -> str | None:
    index = item.get("index")
    return None if index is None else repr((index, item.get("type")))


def _texts(details: Sequence[Mapping[str, object]]) -> list[str]:
    found = (item.get("text") or item.get("summary") for item in details)
    return [text for text in found if isinstance(text, str)]
