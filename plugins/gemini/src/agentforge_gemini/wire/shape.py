"""What shapes the bytes of a turn, and how turns are joined, in this form."""

from __future__ import annotations

from dataclasses import dataclass

from agentforge.provider import Endpoint, TurnShape, provider_id
from agentforge_gemini.rows import GeminiRow

__all__ = ("GeminiTurnShape", "state_owner")


def state_owner(row: GeminiRow, base_url: str, model: str) -> str:
    """Who may read the opaque state of a turn: a signature holds for the route and the model that it came from.

    >>> state_owner(GeminiRow(name="gemini", base_url="https://g.example/v1"), "https://g.example/v1", "gemini-3-pro")
    'gemini/generateContent/gemini-3-pro'
    """
    return f"{provider_id(row, base_url)}/generateContent/{model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiTurnShape(TurnShape):
    """``signatures``: the first call of a turn must be signed; ``result_media``: results can hold media."""

    signatures: bool
    result_media: bool

    @classmethod
    def of(cls, endpoint: Endpoint[GeminiRow]) -> GeminiTurnShape:
        """The shape of requests to this endpoint."""
        family = endpoint.row.family(endpoint.model)
        common = {
            **cls.common(endpoint),
            "provider": state_owner(endpoint.row, endpoint.base_url, endpoint.model),
        }
        return cls(**common, signatures=family.signatures, result_media=family.result_media)
