"""Bodies and lines of servers to objects."""

from __future__ import annotations

from typing import Any

from agentforge.provider import load, load_mended

__all__ = ("read_object",)


def read_object(content: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The JSON object, or ``None`` for anything else, and whether numbers in it that JSON has not were replaced.

    >>> read_object(b'{"eval_count": NaN}'), read_object(b"404 page not found")
    (({'eval_count': None}, True), (None, False))
    """
    try:
        value, mended = load(content.decode()), False
    except (ValueError, RecursionError):
        try:
            value, mended = load_mended(content)
        except (ValueError, RecursionError):
            return None, False
    return (value, mended) if isinstance(value, dict) else (None, False)
