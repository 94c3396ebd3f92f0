"""What shapes the bytes of a turn, and how turns are joined, in this form."""

from __future__ import annotations

from dataclasses import dataclass

from agentforge.provider import Endpoint, TurnShape, provider_id
from agentforge_anthropic.rows import MessagesRow

__all__ = ("MessagesTurnShape", "state_owner")


def state_owner(row: MessagesRow, base_url: str) -> str:
    """Who may read the opaque state of a turn; another API of the same endpoint may not.

    >>> state_owner(MessagesRow(name="anthropic", base_url="https://api.anthropic.com"), "https://api.anthropic.com")
    'anthropic/messages'
    """
    return f"{provider_id(row, base_url)}/messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesTurnShape(TurnShape):
    """``system_in_place``: system messages may stand within the conversation; ``system_mark`` is what the last block
    of the top-level instructions gets, so that the provider caches up to there."""

    system_in_place: bool
    system_mark: bytes

    @classmethod
    def of(cls, endpoint: Endpoint[MessagesRow], *, system_mark: bytes) -> MessagesTurnShape:
        """The shape of requests to this endpoint."""
        common = {**cls.common(endpoint), "provider": state_owner(endpoint.row, endpoint.base_url)}
        return cls(
            **common,
            system_in_place=endpoint.row.family(endpoint.model).system_in_place,
            system_mark=system_mark,
        )
