"""Names that every provider takes, made from any name; the same name always gives the same one."""

from __future__ import annotations

import hashlib
import re

__all__ = ("SAFE_TOOL_NAME", "safe_tool_name")

SAFE_TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{2,63}")
"""What every provider takes as a tool's name (wire-facts section 12)."""

_OTHER = re.compile(r"[^a-zA-Z0-9_-]+")
_HASH = 8


def safe_tool_name(name: str, pattern: re.Pattern[str] | str = SAFE_TOOL_NAME, *, limit: int = 64) -> str:
    """``name`` itself where it matches ``pattern`` whole and has at most ``limit`` characters; else a cleaned form
    with a short hash of the whole name, so that names which clean up alike stay apart.

    A function of the name alone: wires build their alias maps with it and check them for collisions.

    >>> safe_tool_name("get_weather")
    'get_weather'
    >>> safe_tool_name("files/read file")
    'files_read_file_d6387ca2'
    """
    if len(name) <= limit and re.fullmatch(pattern, name):
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    cleaned = _OTHER.sub("_", name).strip("_-")
    if not cleaned or not (cleaned[0].isalpha() or cleaned[0] == "_"):
        cleaned = f"tool_{cleaned}".rstrip("_")
    return f"{cleaned[: max(1, limit - _HASH - 1)]}_{mark}"
