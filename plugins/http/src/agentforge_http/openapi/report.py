"""What an import made of a description, and what it left out and why: nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ("ImportReport", "ImportedOperation", "LeftOut")


@dataclass(frozen=True, slots=True)
class ImportedOperation:
    """One operation that became a tool: ``own_name`` is what the description calls it, ``security`` which schemes it
    asks for, ``notes`` what of it is not as it was written."""

    name: str
    own_name: str
    method: str
    path: str
    effect: str
    server: str | None = None
    security: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The same as a JSON object."""
        return {
            "name": self.name,
            "own_name": self.own_name,
            "method": self.method,
            "path": self.path,
            "effect": self.effect,
            "server": self.server,
            "security": list(self.security),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing that became no tool. An operation that is ``unwanted`` was left out by the settings."""

    kind: Literal["operation", "webhook", "callback"]
    place: str
    reason: str
    name: str | None = None
    own_name: str | None = None
    is_unwanted: bool = False

    def to_json(self) -> dict[str, object]:
        """The same as a JSON object."""
        return {
            "kind": self.kind,
            "place": self.place,
            "name": self.name,
            "own_name": self.own_name,
            "reason": self.reason,
            "unwanted": self.is_unwanted,
        }


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The whole report: the operations in the order of the description, what was left out, ``keywords`` that no schema
    has any more, ``schemes`` of security by name, and ``notes`` on the description itself."""

    format: str
    title: str
    version: str | None
    operations: tuple[ImportedOperation, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    keywords: tuple[str, ...] = ()
    schemes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The same as a JSON object."""
        return {
            "format": self.format,
            "title": self.title,
            "version": self.version,
            "operations": [each.to_json() for each in self.operations],
            "left_out": [each.to_json() for each in self.left_out],
            "keywords": list(self.keywords),
            "schemes": dict(self.schemes),
            "notes": list(self.notes),
        }
