"""All that shapes the bytes of a turn besides the turn itself; turns are cached by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import Notice
from agentforge.provider.endpoint import Endpoint, policy_setting
from agentforge.provider.names import alias_of
from agentforge.provider.row import RESULT_MEDIA, provider_id

__all__ = ("TurnShape",)

_MAX_NAMES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShape:
    """Two requests with equal shapes share their encoded turns. A wire derives its own with what else shapes them.

    ``provider`` names whose opaque state may be replayed, ``dropped`` the kinds of media that become a note, and
    ``dropped_in_results`` those that do so in a tool's result: all of which the profile says nothing, as whoever asks
    cannot foresee what a tool returns, and a call must not make every later request of the conversation fail.
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
    dropped_in_results: frozenset[str] = frozenset()
    no_place: frozenset[str] = frozenset()
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
            "dropped": frozenset(kind for kind in RESULT_MEDIA if endpoint.policy(kind) == "drop"),
            "dropped_in_results": frozenset(
                kind for kind in RESULT_MEDIA if kind not in profile.unsupported or profile.unsupported[kind] == "drop"
            ),
            "no_place": frozenset(name for name, known in row.FORM.items() if known == (False,)),
        }

    def for_results(self) -> Self:
        """The shape for the results of tools."""
        return self if self.dropped_in_results <= self.dropped else replace(self, dropped=self.dropped_in_results)

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
                next_step=self._way_out(feature),
            )
        notices.append(
            Notice(
                "feature_dropped",
                f"{self.vendor} model {self.model!r} does not support {what}; a note stands in its place",
                details,
            )
        )
        return f"[{feature} left out: this model cannot take it]"

    def _way_out(self, feature: str) -> str:
        can = getattr(self, feature, None) is False and feature not in self.no_place
        override = f" Where this model takes them, set profile_overrides: {{{feature}: true}}." if can else ""
        note = f" With {policy_setting(feature, 'drop')} a note stands in their place."
        return f"Leave it out, or use another model.{override}{note}"
