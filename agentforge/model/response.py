"""What a model answered: the message, why it ended, what it cost, and what had to be mapped or dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from agentforge.model.events import Notice
from agentforge.model.messages import AiMessage
from agentforge.model.usage import TokenUsage

__all__ = ("ChatResponse", "FinishReason")


class FinishReason(Enum):
    """Why a reply ended. Whether there are calls is decided from the calls, never from this."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_EXECUTION = "tool_execution"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """A whole reply. ``raw_finish_reason`` is the provider's own word, ``raw`` the provider's body as it came
    (plain calls only), ``notices`` say what was mapped or dropped on the way."""

    ai_message: AiMessage
    finish_reason: FinishReason = FinishReason.STOP
    token_usage: TokenUsage = field(default_factory=TokenUsage)
    id: str | None = None
    model_name: str | None = None
    raw_finish_reason: str | None = None
    notices: tuple[Notice, ...] = ()
    raw: Mapping[str, object] | None = field(default=None, compare=False, repr=False)
