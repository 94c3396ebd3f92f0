"""A tool, and a server, as a server describes itself: plain values that say where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ("DroppedTool", "McpPrompt", "McpResource", "ServerInfo", "ToolDefinition")


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself. ``protocol`` is the version that was agreed on; ``capabilities`` as on the wire."""

    name: str
    version: str | None = None
    title: str | None = None
    protocol: str | None = None
    instructions: str | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server declares it: its own name, the schemas as they came, its hints, the digest of it all."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    title: str | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    flags: tuple[str, ...] = ()
    """What is odd about it, in words; it is offered all the same."""


@dataclass(frozen=True, slots=True)
class DroppedTool:
    """A definition that cannot be offered, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class McpResource:
    """A resource that a server lists, or a template of its addresses (``template``)."""

    uri: str
    name: str
    description: str = ""
    mime_type: str | None = None
    size: int | None = None
    template: bool = False


@dataclass(frozen=True, slots=True)
class McpPrompt:
    """A prompt that a server lists; ``arguments`` are its names, each with its description and whether it is needed."""

    name: str
    description: str = ""
    arguments: tuple[tuple[str, str, bool], ...] = ()
