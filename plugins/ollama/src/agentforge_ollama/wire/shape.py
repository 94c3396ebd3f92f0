"""What shapes the bytes of a turn in this form: beyond what all wires have, whether thinking goes back."""

from __future__ import annotations

from dataclasses import dataclass

from agentforge.provider import Endpoint, TurnShape, provider_id
from agentforge_ollama.rows import OllamaRow

__all__ = ("OllamaTurnShape", "state_owner")


def state_owner(row: OllamaRow, base_url: str) -> str:
    """Who may read the opaque state of a turn; another API of the same server may not.

    >>> state_owner(OllamaRow(name="ollama", base_url="http://localhost:11434"), "http://localhost:11434")
    'ollama/chat'
    """
    return f"{provider_id(row, base_url)}/chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaTurnShape(TurnShape):
    """``replays_thinking``: the thinking of earlier turns of this server goes back to it."""

    replays_thinking: bool

    @classmethod
    def of(cls, endpoint: Endpoint[OllamaRow]) -> OllamaTurnShape:
        """The shape of requests to this endpoint."""
        common = {**cls.common(endpoint), "provider": state_owner(endpoint.row, endpoint.base_url)}
        return cls(**common, replays_thinking="thinking" in endpoint.profile.replay)
