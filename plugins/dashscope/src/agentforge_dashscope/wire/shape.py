"""What shapes the bytes of a turn in this form."""

from __future__ import annotations

from dataclasses import dataclass

from agentforge.provider import Endpoint, TurnShape, provider_id
from agentforge_dashscope.rows import DashScopeRow

__all__ = ("DashScopeTurnShape", "state_owner")

_REASONING = "reasoning_content"


def state_owner(row: DashScopeRow, base_url: str) -> str:
    """Who may read the opaque state of a turn; another API of the same vendor may not.

    >>> state_owner(DashScopeRow(name="house", base_url="https://llm.example/api/v1"), "https://llm.example/api/v1")
    'house/generation'
    """
    return f"{provider_id(row, base_url)}/generation"


@dataclass(frozen=True, slots=True, kw_only=True)
class DashScopeTurnShape(TurnShape):
    """``multimodal``: each content is a list of parts; ``replays``: the reasoning of earlier turns goes back."""

    multimodal: bool
    replays: bool

    @classmethod
    def of(cls, endpoint: Endpoint[DashScopeRow], *, preserves: object) -> DashScopeTurnShape:
        """The shape of requests to this endpoint; ``preserves`` is what the request itself says of the reasoning of
        earlier turns (``preserve_thinking``), ``None`` for nothing."""
        asked = endpoint.row.family(endpoint.model).replays if preserves is None else preserves is True
        common = {**cls.common(endpoint), "provider": state_owner(endpoint.row, endpoint.base_url)}
        return cls(
            **common,
            multimodal=endpoint.row.is_multimodal(endpoint.model),
            replays=asked or _REASONING in endpoint.profile.replay,
        )
