"""What a model says while it speaks: one closed set of slotted events.

Events of a run carry its id and its parent's (stamped by the driver), so that nested runs can be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage

if TYPE_CHECKING:
    from agentforge.model.response import ChatResponse

__all__ = (
    "ChatEvent",
    "Event",
    "Notice",
    "ResponseDone",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallDelta",
    "ToolCallReady",
    "UsageEvent",
)


@dataclass(slots=True)
class Event:
    """The base of all events: the run they belong to (``None`` on a bare model stream)."""

    run_id: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    parent_run_id: str | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(slots=True)
class TextDelta(Event):
    """A piece of the answer's text."""

    text: str


@dataclass(slots=True)
class ThinkingDelta(Event):
    """A piece of the reasoning."""

    text: str


@dataclass(slots=True)
class ToolCallDelta(Event):
    """A piece of a call. ``index`` numbers the calls of the reply from 0; the pieces' ``arguments_delta`` joined are
    the whole text; ``id`` and ``name`` are those known so far."""

    index: int
    id: str | None
    name: str | None
    arguments_delta: str


@dataclass(slots=True)
class ToolCallReady(Event):
    """A call is complete. For display only: nothing runs before the whole response is done."""

    request: ToolExecutionRequest
    index: int = 0


@dataclass(slots=True)
class UsageEvent(Event):
    """The tokens of this reply, as far as known; the last one counts."""

    usage: TokenUsage


@dataclass(slots=True)
class ResponseDone(Event):
    """The reply is whole; the last event of a model's stream."""

    response: ChatResponse


@dataclass(slots=True)
class Notice(Event):
    """Something a user should know: ``code`` is stable, ``message`` a sentence, ``details`` JSON values."""

    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)


ChatEvent: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta | ToolCallReady | UsageEvent | ResponseDone | Notice
