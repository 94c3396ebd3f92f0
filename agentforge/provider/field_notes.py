"""The comments that explain the fields of a row, for whoever reads a row as settings: in an editor, for example."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from functools import cache

__all__ = ("field_notes",)

_NOTE = re.compile(r"\s*#: ?(.*)")
_NAME = re.compile(r"\s*([a-z_]+):")


@cache
def field_notes(kind: type) -> dict[str, str]:
    """The ``#:`` lines above each field of a dataclass and its bases; empty where the source is not at hand.

    >>> from agentforge.provider import EndpointRow
    >>> field_notes(EndpointRow)["subset"]
    'The part of JSON Schema that strict schemas must stay in.'
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if is_dataclass(base):
            found |= _in(base)
    return found


def _in(kind: type) -> dict[str, str]:
    try:
        lines = inspect.getsource(kind).splitlines()
    except OSError:
        return {}
    found: dict[str, str] = {}
    note: list[str] = []
    for line in lines:
        if (said := _NOTE.fullmatch(line)) is not None:
            note.append(said[1].strip())
            continue
        if note and (named := _NAME.match(line)) is not None:
            found[named[1]] = " ".join(note)
        note = []
    return found
