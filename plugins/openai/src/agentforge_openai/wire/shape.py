"""What shapes the bytes of a turn in this form: beyond what all wires have, which reasoning goes back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentforge.provider import Endpoint, TurnShape
from agentforge_openai.profile import VendorRow

__all__ = ("ChatTurnShape",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurnShape(TurnShape):
    """``replay_required`` is the field that every assistant turn must have, ``user_name_pattern`` what names of
    users must match."""

    replay_fields: tuple[str, ...]
    replay_required: str | None
    replay_extras: bool
    audio_formats: frozenset[str] | None
    user_name_pattern: str | None

    @classmethod
    def of(cls, endpoint: Endpoint[VendorRow], *, with_tools: bool, thinking: bool) -> ChatTurnShape:
        """The shape of this endpoint's turns in a conversation with or without tools."""
        row, profile = endpoint.row, endpoint.profile
        fields = tuple(name for name in row.replay_fields if name in profile.replay)
        fields += tuple(sorted(profile.replay.difference(fields)))
        if row.replay_refused_by and re.search(row.replay_refused_by, endpoint.model):
            fields = ()
        if row.replay_required and not with_tools:
            fields = ()
        return cls(
            **TurnShape.common(endpoint),
            replay_fields=fields,
            replay_required=row.replay_required if thinking and row.replay_required in fields else None,
            replay_extras=row.replay_extras,
            audio_formats=row.audio_formats,
            user_name_pattern=row.user_name_pattern,
        )
