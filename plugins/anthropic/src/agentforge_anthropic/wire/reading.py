"""Bodies and events of servers to values; numbers that JSON has not become null, but for those in a call's arguments.

No other value may take the place of an argument, so that the check of the arguments can refuse it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from agentforge.provider import load

__all__ = ("read_object",)


def read_object(content: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The JSON object, or ``None`` for anything else, and whether numbers in it were replaced.

    >>> read_object(b'{"usage": {"cost": NaN}}')
    ({'usage': {'cost': None}}, True)
    """
    try:
        value = load(content.decode())
    except (ValueError, RecursionError):
        return _lenient(content)
    return (value, False) if isinstance(value, dict) else (None, False)


def _lenient(content: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The same for another encoding, or with numbers that are none."""
    try:
        value = json.loads(content)
        found: list[float] = []
        value = _mended(value, found)
    except (ValueError, RecursionError):
        return None, False
    return (value, bool(found)) if isinstance(value, dict) else (None, False)


def _mended(value: Any, found: list[float]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        found.append(value)
        return None
    if isinstance(value, Mapping):
        is_call = value.get("type") == "tool_use"
        return {key: item if is_call and key == "input" else _mended(item, found) for key, item in value.items()}
    if isinstance(value, list):
        return [_mended(item, found) for item in value]
    return value
