"""Reasoning in a reply: read from whichever field carries it, kept verbatim for replay.

Servers use ``reasoning_content``, ``reasoning``, ``reasoning_details`` (a list of opaque items), or several at once
with the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentforge.model import ProviderState, ThinkingContent

__all__ = ("FIELDS", "Reasoning")

#: The fields that may carry reasoning.
FIELDS = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
_GROWING = ("text", "summary", "data")


class Reasoning:
    """Collects the reasoning of one reply, whole or in pieces."""

    __slots__ = ("_content", "_details", "_plain", "_spoken")

    def __init__(self) -> None:
        self._content: list[str] = []
        self._plain: list[str] = []
        self._spoken: list[str] = []
        self._details: list[dict[str, object]] = []

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
        if self._content:
            data["reasoning_content"] = "".join(self._content)
        if self._plain:
            data["reasoning"] = "".join(self._plain)
        if self._details:
            data["reasoning_details"] = self._details
        text = "".join(self._content or self._plain or _texts(self._details)) + "".join(self._spoken)
        if not data and not text:
            return None
        return ThinkingContent(text, ProviderState(provider, data) if data else None)

    def _add_details(self, details: Sequence[object], *, whole: bool) -> str:
        new: list[str] = []
        for item in details:
            if not isinstance(item, Mapping):
                continue
            new += _texts([item])
            known = None if whole else next((one for one in self._details if _same(one, item)), None)
            if known is None:
                self._details.append(dict(item))
                continue
            for key, value in item.items():
                before = known.get(key)
                if key in _GROWING and isinstance(before, str) and isinstance(value, str):
                    known[key] = before + value
                elif value is not None:
                    known[key] = value
        return "".join(new)


def _same(known: Mapping[str, object], item: Mapping[str, object]) -> bool:
    """Whether a piece belongs to an item: same place and kind, and no id that says otherwise."""
    return (
        item.get("index") is not None
        and known.get("index") == item.get("index")
        and known.get("type") == item.get("type")
        and (item.get("id") is None or known.get("id") is None or known.get("id") == item.get("id"))
    )


def _texts(details: Sequence[Mapping[str, object]]) -> list[str]:
    found = (item.get("text") or item.get("summary") for item in details)
    return [text for text in found if isinstance(text, str)]
