"""All that shapes the bytes of a turn besides the turn itself; turns are cached by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import Notice
from agentforge.provider.endpoint import Endpoint
from agentforge.provider.names import alias_of
from agentforge.provider.row import provider_id

__all__ = ("TurnShape",)

_MAX_NAMES = 4096
_MEDIA = ("images", "audio", "files", "image_urls", "audio_urls", "file_urls")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShape:
    """Two requests with equal shapes share their encoded turns. A wire derives its own with what else shapes them.

    ``provider`` names whose opaque state may be replayed, ``dropped`` the kinds of media that become a note.
    """

    vendor: str
    model: str
    provider: str
    name_pattern: str
    call_id_pattern: str | None
    images: bool
    audio: bool
    files: bool
    image_urls: bool
    dropped: frozenset[str]
    _wire_names: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def common(endpoint: Endpoint[Any]) -> dict[str, Any]:
        """The fields that every shape of this endpoint has."""
        row, profile = endpoint.row, endpoint.profile
        return {
            "vendor": row.name,
            "model": endpoint.model,
            "provider": provider_id(row, endpoint.base_url),
            "name_pattern": profile.tool_name_pattern,
            "call_id_pattern": row.call_id_pattern,
            "images": profile.images,
            "audio": profile.audio,
            "files": profile.files,
            "image_urls": row.image_urls,
            "dropped": frozenset(kind for kind in _MEDIA if endpoint.policy(kind) == "drop"),
        }

    def wire_name(self, name: str) -> str:
        """The tool's name as the vendor takes it, worked out once."""
        found = self._wire_names.get(name)
        if found is None:
            found = alias_of(name, self.name_pattern)
            if len(self._wire_names) < _MAX_NAMES:
                self._wire_names[name] = found
        return found

    def left_out(self, feature: str, what: str, notices: list[Notice]) -> str:
        """The line of text that stands for media which the endpoint cannot take, so that the model knows something was
        there. Raises `UnsupportedFeatureError` unless the policy says ``drop``."""
        details: Mapping[str, str] = {"vendor": self.vendor, "model": self.model, "feature": feature}
        if feature not in self.dropped:
            raise UnsupportedFeatureError(
                f"{self.vendor} model {self.model!r} does not support {what} ({feature})",
                provider_code="unsupported_feature",
                details=details,
                next_step="Leave it out, use another model, or override the capability in profile_overrides.",
            )
        notices.append(
            Notice(
                "feature_dropped",
                f"{self.vendor} model {self.model!r} does not support {what}; a note stands in its place",
                details,
            )
        )
        return f"[{feature} left out: this model cannot take it]"
