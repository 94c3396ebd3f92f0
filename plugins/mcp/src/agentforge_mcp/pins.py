"""Pins: what the tools of a server were when somebody looked at them, so that a later change does not go unseen.

A server may describe a tool in one way while it is looked at and in another way afterwards (threat S17). The digest of
a tool covers all that a model reads of it and the hints that policies may match.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge_mcp.definition import ToolDefinition

__all__ = (
    "PinnedChanges",
    "changes_from",
    "digest_of",
    "looking",
    "pins_fault",
    "pins_of",
    "read_pins",
    "write_pins",
)

_ABOUT = (
    "Pins of MCP tools: own name to digest of what the server says of it. Written by 'agentforge mcp inspect --pin'."
)


#: Whether somebody looks at the tools to pin them: then a file that is still to be written is no fault.
_looking: ContextVar[bool] = ContextVar("mcp_looking", default=False)


@contextmanager
def looking() -> Iterator[None]:
    """While ``agentforge mcp inspect`` shows the tools of a server, and may write their pins."""
    before = _looking.set(True)
    try:
        yield
    finally:
        _looking.reset(before)


def pins_fault(path: Path, server: str) -> ConfigurationError | None:
    """What is wrong with the file of pins of a server, by its bean's id: that it is not there, cannot be read, or has
    no part for this server. Nobody looked at the tools then, and to offer them all would open what pins close."""
    try:
        found = read_pins(path, server)
    except ConfigurationError as error:
        return error
    if found is not None or _looking.get():
        return None
    what = f"has no pins of {server!r}" if path.exists() else "is not there"
    return ConfigurationError(
        f"the file of pins '{_short(path)}' {what}",
        next_step=f"Look at the tools and write it: agentforge mcp inspect {server} --pin {_short(path)}.",
    )


def _short(path: Path) -> str:
    """As somebody types it where the program runs."""
    there = os.path.abspath(path)
    return os.path.relpath(there) if there.startswith(os.getcwd() + os.sep) else there


def digest_of(definition: ToolDefinition) -> str:
    """``sha256:`` and 64 digits, over the name, title, description, schemas and annotations; the order of keys in them
    does not count.

    >>> digest_of(ToolDefinition("ping"))[:14]
    'sha256:5edfa4d'
    """
    said: dict[str, Any] = {
        "name": definition.name,
        "title": definition.title,
        "description": definition.description,
        "input": dict(definition.input_schema),
        "output": None if definition.output_schema is None else dict(definition.output_schema),
        "annotations": dict(definition.annotations),
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def pins_of(definitions: Iterable[ToolDefinition]) -> dict[str, str]:
    """The digests of tools by their own names."""
    return {each.name: each.digest or digest_of(each) for each in definitions}


@dataclass(frozen=True, slots=True)
class PinnedChanges:
    """How the tools of a server differ from its pins: own names that changed, are new, or are not there any more."""

    changed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.new or self.gone)


def changes_from(pins: Mapping[str, str], definitions: Iterable[ToolDefinition]) -> PinnedChanges:
    """What differs from the pins."""
    now = pins_of(definitions)
    return PinnedChanges(
        tuple(name for name, digest in now.items() if name in pins and pins[name] != digest),
        tuple(name for name in now if name not in pins),
        tuple(name for name in pins if name not in now),
    )


def read_pins(path: Path, server: str) -> dict[str, str] | None:
    """The pins of a server, by its bean's id; ``None`` where the file or its part is not there.

    Raises `ConfigurationError` for a file that cannot be read as one of pins.
    """
    found = _read(path).get(server)
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise _unreadable(path, f"the part {server!r} is no mapping of names to digests")
    return found


def write_pins(path: Path, server: str, pins: Mapping[str, str]) -> None:
    """Write the pins of one server and keep those of the others; the file appears whole or not at all.

    Raises `ConfigurationError` where it cannot be written, or what is there is no file of pins.
    """
    servers = {**_read(path), server: dict(sorted(pins.items()))}
    text = json.dumps({"about": _ABOUT, "servers": dict(sorted(servers.items()))}, indent=2, ensure_ascii=False)
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"the pins cannot be written to '{path}': {error.strerror}",
            next_step="Give a file in a folder that is there.",
        ) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(getattr(error, "strerror", None) or "it is no text")) from None
    try:
        servers = json.loads(text)["servers"]
        if not isinstance(servers, dict):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _unreadable(path, "it is no file of pins") from None
    return servers


def _unreadable(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"the pins in '{path}' cannot be read: {reason}",
        next_step="Write them anew: agentforge mcp inspect NAME --pin.",
    )
