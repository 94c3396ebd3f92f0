"""How one value is written in a path, a query, a header or a cookie: OpenAPI's styles (RFC 6570 below them).

Members of a list or an object that are ``null`` are left out; values nested deeper, for which OpenAPI has no words, are
written as JSON. A list, an object or a value that comes to nothing gives no text at all, which is for the caller to
leave out or refuse.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from agentforge_http.operation import Style

__all__ = ("cookie_pairs", "escape", "header_text", "member_fault", "path_text", "query_pairs", "value_text")

# Reserved characters that may stand in a query as they are; & + # would say something else there, [ ] are not allowed.
_RESERVED = ":/?@!$'()*,;="


def escape(text: str, allow_reserved: bool = False) -> str:
    """Percent-encoded: everything but letters, digits and ``-._~``; of the reserved characters those that are harmless
    in a query stay where they may.

    >>> escape("../a?b"), escape("a/b&c", allow_reserved=True)
    ('..%2Fa%3Fb', 'a/b%26c')
    """
    return quote(text, safe=_RESERVED if allow_reserved else "")


def value_text(value: Any) -> str:
    """A single value as text: ``true``, numbers as JSON writes them; whatever is nested as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def path_text(name: str, value: Any, style: Style, explode: bool) -> str:
    """What stands in the path in place of a parameter."""
    named = escape(name)
    if style == "matrix":
        if isinstance(value, Mapping) and explode:
            return "".join(f";{_assigned(key, text)}" for key, text in _members(value))
        if isinstance(value, list) and explode:
            return "".join(f";{_assigned(named, text)}" for text in _items(value))
        if isinstance(value, Mapping | list):
            parts = _flat(value)
            return f";{_assigned(named, ','.join(parts))}" if parts else ""
        return f";{_assigned(named, escape(value_text(value)))}"
    before, between = (".", "." if explode else ",") if style == "label" else ("", ",")
    if not isinstance(value, Mapping | list):
        return before + escape(value_text(value))
    if isinstance(value, Mapping) and explode:
        parts = [f"{key}={text}" for key, text in _members(value)]
    else:
        parts = _flat(value)
    return before + between.join(parts) if parts else ""


def query_pairs(
    name: str, value: Any, style: Style, explode: bool, allow_reserved: bool = False
) -> list[tuple[str, str]]:
    """The members of the query, names and values encoded; none for ``null`` and for what is empty of members."""
    if value is None:
        return []

    def written(text: str) -> str:
        return escape(text, allow_reserved)

    named = escape(name)
    if not isinstance(value, Mapping | list):
        return [(named, written(value_text(value)))]
    if style == "deepObject":
        return _deep(named, value, written)
    if explode:
        if isinstance(value, Mapping):
            return _members(value, written)
        return [(named, text) for text in _items(value, written)]
    between = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")
    parts = _flat(value, written)
    return [(named, between.join(parts))] if parts else []


def member_fault(pairs: Iterable[tuple[str, str]], name: str, taken: Collection[str]) -> str | None:
    """What is wrong with the members of an object that go under names of their own: one that is the name of something
    else (``taken``, in lower case) would be a second value of that.

    >>> member_fault([("page", "1"), ("Tenant", "other")], "filter", {"filter", "tenant"})
    "has the member 'Tenant', which is the name of something else in the request"
    """
    for written, _ in pairs:
        made = unquote(written)
        if made.lower() in taken and made.lower() != name.lower():
            return f"has the member {made[:60]!r}, which is the name of something else in the request"
    return None


def header_text(value: Any, explode: bool) -> str | None:
    """The value of a header (style ``simple``), which is not percent-encoded; ``None`` where there is none."""
    if value is None:
        return None
    if isinstance(value, Mapping) and explode:
        return ",".join(f"{key}={text}" for key, text in _members(value, str, str)) or None
    if isinstance(value, Mapping | list):
        return ",".join(_flat(value, str)) or None
    return value_text(value)


def cookie_pairs(name: str, value: Any, explode: bool) -> list[tuple[str, str]]:
    """The cookies of a parameter (style ``form``). A list is always joined: cookies of one name would hide each
    other."""
    if value is None:
        return []
    named = escape(name)
    if isinstance(value, Mapping) and explode:
        return _members(value)
    if isinstance(value, Mapping | list):
        parts = _flat(value)
        return [(named, ",".join(parts))] if parts else []
    return [(named, escape(value_text(value)))]


def _assigned(name: str, text: str) -> str:
    return f"{name}={text}" if text else name


def _items(value: Iterable[Any], written: Callable[[str], str] = escape) -> list[str]:
    return [written(value_text(item)) for item in value if item is not None]


def _members(
    value: Mapping[str, Any], written: Callable[[str], str] = escape, named: Callable[[str], str] = escape
) -> list[tuple[str, str]]:
    return [(named(str(key)), written(value_text(item))) for key, item in value.items() if item is not None]


def _flat(value: Any, written: Callable[[str], str] = escape) -> list[str]:
    """Items, or names and values in turn."""
    if isinstance(value, Mapping):
        return [text for key, item in _members(value, written, written) for text in (key, item)]
    return _items(value, written)


def _deep(name: str, value: Any, written: Callable[[str], str]) -> list[tuple[str, str]]:
    """``name[key]=value``, to any depth; the items of a list under one name."""
    if isinstance(value, Mapping):
        return [
            pair for key, inner in value.items() for pair in _deep(f"{name}%5B{escape(str(key))}%5D", inner, written)
        ]
    if isinstance(value, list):
        return [(name, text) for text in _items(value, written)]
    return [] if value is None else [(name, written(value_text(value)))]
