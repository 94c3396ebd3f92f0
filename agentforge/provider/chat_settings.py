"""What every chat model behind an endpoint takes in a file, beyond its endpoint."""

from __future__ import annotations

from typing import Any, Literal

from agentforge.plugin import Field, ParameterSettings, PriceSettings, price_rows
from agentforge.provider.endpoint_settings import EndpointSettings

__all__ = ("ChatSettings",)


class ChatSettings(EndpointSettings):
    """The settings of a chat model; everything that the model would refuse is found when the file is checked."""

    tool_mode: Literal["native", "json_schema"] | None = None
    """json_schema describes the tools in the prompt, for models whose endpoint takes none; unset: as the vendor."""
    names: Literal["alias", "error"] | None = None
    """What becomes of tools whose names the vendor refuses: an alias on the wire, or an error; unset: as the vendor."""
    defaults: ParameterSettings = ParameterSettings()
    """Parameters of every request that does not set its own."""
    profile_overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of the model's profile that differ from the vendor's row."""
    prices: dict[str, PriceSettings | None] | None = Field(default_factory=dict)
    """Prices by patterns of models' names, in front of the plugin's; null in the place of one, or of all: none."""

    def chat_arguments(self) -> dict[str, Any]:
        """The settings as arguments of the model."""
        return {
            "tool_mode": self.tool_mode,
            "names": self.names,
            "defaults": self.defaults.made(),
            "profile_overrides": self.profile_overrides or None,
            "prices": price_rows(self.prices),
        }
