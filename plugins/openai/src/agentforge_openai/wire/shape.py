"""All that shapes the bytes of a turn besides the turn itself; turns are cached by it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agentforge_openai.capabilities import Endpoint
from agentforge_openai.profile import provider_id
from agentforge_openai.wire.names import alias_of

__all__ = ("TurnShape",)

_MAX_NAMES = 4096
_MEDIA = ("images", "audio", "files", "image_urls", "audio_urls", "file_urls")


@dataclass(frozen=True, slots=True)
class TurnShape:
    """Two requests with equal shapes share their encoded turns.

    ``provider`` names whose opaque state may be replayed, ``replay_required`` the field that every assistant turn must
    have, ``dropped`` the kinds of media that become a note.
    """

    vendor: str
    model: str
    provider: str
    name_pattern: str
    call_id_pattern: str | None
    replay_fields: tuple[str, ...]
    replay_required: str | None
    replay_extras: bool
    images: bool
    audio: bool
    files: bool
    image_urls: bool
    dropped: frozenset[str]
    _wire_names: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def wire_name(self, name: str) -> str:
        """The tool's name as the vendor takes it, worked out once."""
        found = self._wire_names.get(name)
        if found is None:
            found = alias_of(name, self.name_pattern)
            if len(self._wire_names) < _MAX_NAMES:
                self._wire_names[name] = found
        return found

    @classmethod
    def of(cls, endpoint: Endpoint, *, with_tools: bool, thinking: bool) -> TurnShape:
        """The shape of this endpoint's turns in a conversation with or without tools."""
        row, profile = endpoint.row, endpoint.profile
        fields = tuple(name for name in row.replay_fields if name in profile.replay)
        fields += tuple(sorted(profile.replay.difference(fields)))
        if row.replay_refused_by and re.search(row.replay_refused_by, endpoint.model):
            fields = ()
        if row.replay_required and not with_tools:
            fields = ()
        required = row.replay_required if thinking and row.replay_required in fields else None
        return cls(
            vendor=row.name,
            model=endpoint.model,
            provider=provider_id(row, endpoint.base_url),
            name_pattern=profile.tool_name_pattern,
            call_id_pattern=row.call_id_pattern,
            replay_fields=fields,
            replay_required=required,
            replay_extras=row.replay_extras,
            images=profile.images,
            audio=profile.audio,
            files=profile.files,
            image_urls=row.image_urls,
            dropped=frozenset(kind for kind in _MEDIA if endpoint.policy(kind) == "drop"),
        )
