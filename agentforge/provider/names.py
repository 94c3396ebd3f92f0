"""Names of tools that a vendor would refuse get an alias, which is taken back in every answer; ids of calls likewise,
and a file without a name gets one.

Alias and id are functions of the name and the id alone, so that a history can be encoded without knowing the tools of
the request, and the same bytes come out in every round.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from agentforge.errors import UnsupportedFeatureError

__all__ = ("alias_map", "alias_of", "call_id_of", "file_name_of")

_LIMITS = (64, 32, 16)
_ENDINGS = {
    "plain": "txt",
    "markdown": "md",
    "javascript": "js",
    "x-python": "py",
    "x-yaml": "yaml",
    "svg+xml": "svg",
    "msword": "doc",
    "vnd.ms-excel": "xls",
    "vnd.ms-powerpoint": "ppt",
    "vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
}


def alias_of(name: str, pattern: str) -> str:
    """The name itself where ``pattern`` allows it, else a readable stem and a digest of the whole name.

    Raises `UnsupportedFeatureError` when no alias fits the pattern.

    >>> alias_of("get_weather", r"^[a-zA-Z0-9_-]{1,64}$")
    'get_weather'
    >>> alias_of("files/read file", r"^[a-zA-Z0-9_-]{1,64}$")
    'files_read_file_d6387ca2'
    """
    if re.fullmatch(pattern, name):
        return name
    from agentforge.tool.spec import safe_tool_name

    for limit in _LIMITS:
        alias = safe_tool_name(name, pattern, limit=limit)
        if re.fullmatch(pattern, alias):
            return alias
    raise UnsupportedFeatureError(
        f"tool name {name!r} has no alias that fits the vendor's rule {pattern!r}",
        next_step="Rename the tool.",
    )


def call_id_of(identity: str, pattern: str | None) -> str:
    """The id of a call as the vendor takes it: itself, or a digest of it where ``pattern`` does not allow it.

    A function of the id alone, so that call and result stay a pair. Raises `UnsupportedFeatureError` when no digest
    fits the pattern.

    >>> call_id_of("call_1", r"^.{1,40}$"), call_id_of("call_1", r"^[a-zA-Z0-9]{9}$")
    ('call_1', '74196fe72')
    """
    if pattern is None or re.fullmatch(pattern, identity):
        return identity
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    for made in (f"call_{digest[:24]}", digest[:9]):
        if re.fullmatch(pattern, made):
            return made
    raise UnsupportedFeatureError(
        f"no call id can be made that fits the vendor's rule {pattern!r}",
        next_step="Change call_id_pattern of the VendorRow, or set it to None where the endpoint takes any id.",
    )


def alias_map(names: Iterable[str], pattern: str) -> Mapping[str, str]:
    """Alias to name, for those that needed one. Raises `UnsupportedFeatureError` when two tools would share a name on
    the wire."""
    aliases: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        alias = alias_of(name, pattern)
        if alias in taken:
            raise UnsupportedFeatureError(
                f"tools {taken[alias]!r} and {name!r} would both be called {alias!r} on the wire",
                next_step="Rename one of them.",
            )
        taken[alias] = name
        if alias != name:
            aliases[alias] = name
    return aliases


def file_name_of(media_type: str) -> str:
    """A name with the usual ending of the type, by which servers tell what they may read; else with the subtype.

    >>> file_name_of("text/plain; charset=utf-8"), file_name_of("application/pdf")
    ('file.txt', 'file.pdf')
    """
    subtype = media_type.partition("/")[2].partition(";")[0].strip().lower()
    return f"file.{_ENDINGS.get(subtype, subtype.rpartition('+')[2] or 'bin')}"
