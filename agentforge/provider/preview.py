"""What a provider would get of tools, without a request: for people who want to look before they send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.model import Notice

__all__ = ("ToolPreview",)


@dataclass(frozen=True, slots=True)
class ToolPreview:
    """``tools`` in the provider's own form, as JSON values; ``aliases`` are names on the wire by those of ours;
    ``notices`` say what was mapped, relaxed or left out."""

    tools: tuple[Any, ...]
    aliases: Mapping[str, str]
    notices: tuple[Notice, ...]
