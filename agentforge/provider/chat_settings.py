"""What every chat model behind an endpoint takes in a file, beyond its endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from agentforge.plugin import (
    CheckContext,
    Field,
    Finding,
    Judge,
    ParameterSettings,
    PriceSettings,
    price_rows,
    refused_parameters,
)
from agentforge.provider.endpoint_settings import EndpointSettings, model_to_check

if TYPE_CHECKING:
    from agentforge.provider.row import EndpointRow

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

    @classmethod
    def offers(cls, row: EndpointRow) -> bool:
        """Whether the vendor of this row is known to have the API of this type, where several types share their rows;
        lists of vendors leave out the others, which can be named all the same."""
        return True

    def findings(self, context: CheckContext) -> Iterator[Finding]:
        """What of the defaults the model refuses in every request, as far as that shows without one."""
        if self.defaults == ParameterSettings():
            return
        judge = self.model_copy(update={"defaults": ParameterSettings()}).judge(context)
        yield from refused_parameters(judge, self.defaults, at="defaults")

    def judge(self, context: CheckContext) -> Judge:
        """What says why parameters would be refused; the model that it asks sends nothing."""
        model = model_to_check(self, context)
        refusal: Judge = getattr(model, "refusal", lambda parameters: None)
        return refusal

    def chat_arguments(self) -> dict[str, Any]:
        """The settings as arguments of the model."""
        return {
            "tool_mode": self.tool_mode,
            "names": self.names,
            "defaults": self.defaults.made(),
            "profile_overrides": self.profile_overrides or None,
            "prices": price_rows(self.prices),
        }
