"""Bodies and events of servers to values; numbers that JSON has not become null, but for those in a call's arguments.

No other value may take the place of an argument, so that the check of the arguments can refuse it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from agentforge.provider import load

__all__ = ("read_json",)

_ARGUMENTS = ("args", "partialArgs")


def read_json(content: bytes) -> tuple[Any, bool]:
    """The value, or ``None`` for what is no JSON, and whether numbers in it were replaced.

    >>> read_json(b'{"usageMetadata": {"cost": NaN}}')
    ({'usageMetadata': {'cost': None}}, True)
    """
    try:
        return load(content.decode()), False
    except (ValueError, RecursionError):
        pass
    try:
        value = json.loads(content)
        found: list[float] = []
        value = _mended(value, found, is_call=False)
    except (ValueError, RecursionError):
        return None, False
    return value, bool(found)


def _mended(value: Any, found: list[float], *, is_call: bool) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        found.append(value)
        return None
    if isinstance(value, Mapping):
        return {
            key: item if is_call and key in _ARGUMENTS else _mended(item, found, is_call=key == "functionCall")
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_mended(item, found, is_call=False) for item in value]
    return value
