"""What a run tells while it goes: the events beside those of the model. `RunFinished` is always the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agentforge.model.events import ChatEvent, Event
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.execution.result import ToolExecution

if TYPE_CHECKING:
    from agentforge.tool.execution.chat_result import ToolChatResult

__all__ = (
    "AttemptDiscarded",
    "RoundStarted",
    "RunEvent",
    "RunFinished",
    "RunStarted",
    "RunSuspended",
    "ToolFinished",
    "ToolStarted",
)


@dataclass(slots=True)
class RunStarted(Event):
    """The run begins."""


@dataclass(slots=True)
class RoundStarted(Event):
    """A model call begins; ``round`` counts from 0."""

    round: int


@dataclass(slots=True)
class ToolStarted(Event):
    """A call was admitted and begins."""

    request: ToolExecutionRequest
    position: int


@dataclass(slots=True)
class ToolFinished(Event):
    """A call ended, in whatever way."""

    execution: ToolExecution
    position: int


@dataclass(slots=True)
class AttemptDiscarded(Event):
    """What was shown of this round so far does not count; another attempt follows."""

    reason: str


@dataclass(slots=True)
class RunSuspended(Event):
    """The run waits for decisions on the calls at these positions."""

    waiting: Mapping[int, str]


@dataclass(slots=True)
class RunFinished(Event):
    """The run is over; the last event."""

    result: ToolChatResult


RunEvent: TypeAlias = (
    ChatEvent | RunStarted | RoundStarted | ToolStarted | ToolFinished | AttemptDiscarded | RunSuspended | RunFinished
)
