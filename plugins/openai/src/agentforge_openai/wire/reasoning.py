"""Reasoning in a reply: read from whichever field carries it, kept verbatim for replay.

Servers use ``reasoning_content``, ``reasoning``, ``reasoning_details`` (a list of opaque items), or several at once
with the same text; others write it as parts of the content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from agentforge.model import ProviderState, ThinkingContent
from agentforge.provider import joined_text

__all__ = ("FIELDS", "THINKING_PARTS", "Reasoning")

#: The fields that may carry reasoning.
FIELDS = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
#: The name, among those of fields that go back, for thinking that is a part of the content.
THINKING_PARTS = "thinking_parts"
_GROWING = ("text", "summary", "data")


class Reasoning:
    """Collects the reasoning of one reply, whole or in pieces."""

    __slots__ = ("_by_place", "_content", "_details", "_parts", "_plain", "_spoken")

    def __init__(self) -> None:
        self._content: list[str] = []
        self._plain: list[str] = []
        self._spoken: list[str] = []
        self._parts: list[dict[str, object]] = []
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

    def add_part(self, part: Mapping[str, object], *, whole: bool = False) -> str:
        """Take thinking that came as a part of the content, or as a piece of one; its text."""
        text = _nested_text(part.get("thinking"))
        if not text and (whole or not self._parts):
            return ""
        self._spoken.append(text)
        last = self._parts[-1] if self._parts and not whole else {}
        if not last or last.get("closed"):
            self._parts.append(dict(part))
            return text
        before, more = last.get("thinking"), part.get("thinking")
        last.update(part)
        if isinstance(before, list) and isinstance(more, list):
            last["thinking"] = _joined_texts([*before, *more])
        elif before is not None:
            last["thinking"] = f"{_nested_text(before)}{text}"
        return text

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
        if self._parts:
            data[THINKING_PARTS] = self._parts
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


def _joined_texts(items: list[Any]) -> list[Any]:
    """The items of a part, with neighbouring texts as one."""
    made: list[Any] = []
    for item in items:
        last = made[-1] if made else None
        if _is_text(item) and _is_text(last):
            made[-1] = {**last, "text": last["text"] + item["text"]}
        else:
            made.append(item)
    return made


def _is_text(item: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)


def _nested_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(item.get("text") or "") for item in value if isinstance(item, Mapping))
    return ""
