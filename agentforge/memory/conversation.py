"""A conversation at rest: what was said, what advisors noted, and the run that waits, with its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentforge.errors import RunStateError
from agentforge.model.history import History
from agentforge.model.json_object import JsonObject, load_json, refuse, to_json_value
from agentforge.model.serialization import messages_from_json, messages_to_json

__all__ = ("CONVERSATION_FORMAT_VERSION", "Conversation", "Suspension")

CONVERSATION_FORMAT_VERSION = 1
"""The version of the JSON form that is written, and the only one that is read."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """A run that waits for a decision: its saved state as a JSON object, the conversation's state map as the run left
    it, and since when it waits. The reply that waits and its results live in ``run`` alone, never in the messages."""

    run: Mapping[str, Any] = field(hash=False)
    since: datetime
    state: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", _copied(self.run, "suspended.run"))
        object.__setattr__(self, "state", _copied(self.state, "suspended.state"))
        _aware(self.since, "suspended.since")


@dataclass(frozen=True, slots=True)
class Conversation:
    """``messages`` is always a valid history (what is not is mended); ``state`` a small JSON object for advisors.

    ``version`` is the store's: 0 for what was never stored. Times are aware. Raises `RunStateError`, with the place,
    for a state that JSON cannot hold.

    >>> from datetime import timezone
    >>> noon = datetime(2026, 8, 21, 12, tzinfo=timezone.utc)
    >>> Conversation(created=noon, updated=noon).to_json()["messages"]
    {'version': 1, 'messages': []}
    """

    created: datetime
    updated: datetime
    messages: History = field(default_factory=History)
    state: Mapping[str, Any] = field(default_factory=dict, hash=False)
    suspended: Suspension | None = None
    version: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", History.of(self.messages))
        object.__setattr__(self, "state", _copied(self.state, "state"))
        _aware(self.created, "created")
        _aware(self.updated, "updated")

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the version of its form (``version``); the conversation's own is ``revision``. Raises
        `RunStateError` naming what JSON cannot hold."""
        out: dict[str, Any] = {
            "version": CONVERSATION_FORMAT_VERSION,
            "revision": self.version,
            "created": self.created.isoformat(),
            "updated": self.updated.isoformat(),
            "messages": messages_to_json(self.messages),
        }
        if self.state:
            out["state"] = to_json_value(self.state, "state")
        if self.suspended is not None:
            out["suspended"] = {
                "run": to_json_value(self.suspended.run, "suspended.run"),
                "since": self.suspended.since.isoformat(),
                "state": to_json_value(self.suspended.state, "suspended.state"),
            }
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str | bytes) -> Conversation:
        """Read what `to_json` made, as an object or as JSON text. Strict: raises `RunStateError` with the place."""
        source = JsonObject(load_json(data) if isinstance(data, (str, bytes)) else data, "")
        source.version(CONVERSATION_FORMAT_VERSION, required=True)
        source.only(("version", "revision", "created", "updated", "messages", "state", "suspended"))
        messages = source.mapping("messages")
        if messages is None:
            refuse("messages", "the field is missing")
        revision = source.count("revision")
        if revision is None or revision < 0:
            refuse("revision", "a whole number of at least 0 is needed")
        try:
            said = messages_from_json(messages)
        except RunStateError as error:
            # The place inside the messages is a place inside this.
            error.location = f"messages.{error.location}" if error.location else "messages"
            raise
        return cls(
            created=_time(source, "created", ""),
            updated=_time(source, "updated", ""),
            messages=History.of(said),
            state=source.mapping("state") or {},
            suspended=_suspension(source.data["suspended"]) if "suspended" in source.data else None,
            version=revision,
        )


def _suspension(data: object) -> Suspension:
    source = JsonObject(data, "suspended", ("run", "since", "state"))
    run = source.mapping("run")
    if run is None:
        refuse("suspended.run", "the field is missing")
    return Suspension(run, _time(source, "since", "suspended."), source.mapping("state") or {})


def _time(source: JsonObject, name: str, path: str) -> datetime:
    try:
        found = datetime.fromisoformat(source.text(name))
    except ValueError as error:
        if isinstance(error, RunStateError):
            raise
        refuse(f"{path}{name}", "this is no time as ISO 8601 writes it")
    _aware(found, f"{path}{name}")
    return found


def _aware(value: datetime, path: str) -> None:
    if value.tzinfo is None:
        refuse(path, "a time without a time zone", "Use datetime.now(timezone.utc).")


def _copied(value: Mapping[str, Any], path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        refuse(path, f"a mapping is needed, not {type(value).__name__}")
    copy: dict[str, Any] = to_json_value(value, path)
    return copy
