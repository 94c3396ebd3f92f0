"""Names that every provider takes, made from any name; the same name always gives the same one."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

__all__ = ("SAFE_TOOL_NAME", "distinct_tool_names", "safe_tool_name")

SAFE_TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{2,63}")
"""What every provider takes as a tool's name (wire-facts section 12)."""

_SOURCE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]+")
_HASH = 8
_LIMIT = 64
_NOTHING = "tool"  # is left of a name without a letter or digit that may stay


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
    return _marked(name, limit)


def distinct_tool_names(names: Iterable[str]) -> dict[str, str]:
    """For each name that somebody else gave a tool one of letters, digits, ``_`` and ``-``, 64 at most, no two alike.

    One that is so already stays; others are cleaned, with a hash of the whole name where they are cut or where two
    clean up alike. As long as no name comes that cleans up like another, a name's own never changes.

    >>> distinct_tool_names(["get_item", "get item (v2)", "list.all"])
    {'get_item': 'get_item', 'get item (v2)': 'get_item_v2', 'list.all': 'list_all'}
    >>> distinct_tool_names(["get.item", "get/item"])
    {'get.item': 'get_item_82acaeb6', 'get/item': 'get_item_5eede0d9'}
    """
    listed = dict.fromkeys(names)
    fit = {name for name in listed if _SOURCE_NAME.fullmatch(name)}
    cleaned = {name: _cleaned(name) for name in listed if name not in fit}
    taken = Counter([*fit, *cleaned.values(), _NOTHING])

    def distinct(name: str) -> str:
        short = cleaned[name]
        return short if taken[short] == 1 and len(short) <= _LIMIT else _marked(name, _LIMIT)

    return {name: name if name in fit else distinct(name) for name in listed}


def _cleaned(name: str) -> str:
    cleaned = _OTHER.sub("_", name).strip("_-")
    if not cleaned or not (cleaned[0].isalpha() or cleaned[0] == "_"):
        cleaned = f"{_NOTHING}_{cleaned}".rstrip("_")
    return cleaned


def _marked(name: str, limit: int) -> str:
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{_cleaned(name)[: max(1, limit - _HASH - 1)]}_{mark}"
