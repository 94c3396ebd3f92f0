"""What shapes the bytes of a turn in this form: beyond what all wires have, which reasoning goes back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agentforge.provider import Endpoint, TurnShape, dump_bytes, dump_text
from agentforge_openai.profile import VendorRow

__all__ = ("ChatTurnShape",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurnShape(TurnShape):
    """``replay_required`` is the field that every assistant turn must have, ``user_name_pattern`` what names of users
    must match; ``call_extra`` is the JSON of what a first call without extras gets, ``between`` a whole message that
    stands between results and a user's. The rest is as in `VendorRow`."""

    replay_fields: tuple[str, ...]
    replay_required: str | None
    replay_in_tags: bool
    replay_extras: bool
    call_extra: str | None
    names_results: bool
    file_form: Literal["file", "document_url"]
    prefix: bytes
    between: bytes
    audio_formats: frozenset[str] | None
    user_names: bool
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
        between = row.between_results_and_user
        wants_extra = row.call_extra_for is not None and re.search(row.call_extra_for, endpoint.model) is not None
        return cls(
            **TurnShape.common(endpoint),
            replay_fields=fields,
            replay_in_tags=bool(row.replay_in_tags and re.search(row.replay_in_tags, endpoint.model)),
            call_extra=dump_text(row.call_extra) if wants_extra else None,
            names_results=row.names_results,
            file_form=row.file_form,
            prefix=b",%b:true" % dump_bytes(row.prefix_field) if row.prefix_field is not None else b"",
            between=dump_bytes({"role": "assistant", "content": between}) if between is not None else b"",
            replay_required=row.replay_required if thinking and row.replay_required in fields else None,
            replay_extras=row.replay_extras,
            audio_formats=row.audio_formats,
            user_names=row.user_names,
            user_name_pattern=row.user_name_pattern,
        )
