"""What a model answered: the message, why it ended, what it cost, and what had to be mapped or dropped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from agentforge.model.citation import Citation
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
    """A whole reply. ``raw_finish_reason`` is the provider's own word, ``raw_body`` the provider's body as it came
    (plain calls only; kept as bytes, as few ever look), ``notices`` say what was mapped or dropped on the way,
    ``citations`` are the sources that the provider names, in its order."""

    ai_message: AiMessage
    finish_reason: FinishReason = FinishReason.STOP
    token_usage: TokenUsage = field(default_factory=TokenUsage)
    id: str | None = None
    model_name: str | None = None
    raw_finish_reason: str | None = None
    notices: tuple[Notice, ...] = ()
    raw_body: bytes | None = field(default=None, compare=False, repr=False)
    citations: tuple[Citation, ...] = ()

    @property
    def raw(self) -> Any:
        """The provider's body, parsed anew at each call; ``None`` for a streamed reply."""
        return None if self.raw_body is None else json.loads(self.raw_body)
