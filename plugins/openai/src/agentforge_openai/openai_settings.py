"""What the endpoints of this plugin take in a file beyond what every endpoint takes."""

from __future__ import annotations

from typing import Any

from agentforge.provider import EndpointSettings
from agentforge_openai.vendors import CHAT_VENDORS

__all__ = ("OpenAiEndpointSettings",)


class OpenAiEndpointSettings(EndpointSettings):
    """The settings of an endpoint of OpenAI's kind."""

    VENDORS = CHAT_VENDORS

    organization: str | None = None
    """The organization that is billed, where the vendor knows it."""
    project: str | None = None
    """The project that is billed, where the vendor knows it."""
    api_version: str | None = None
    """The API version of Azure."""

    def further(self) -> dict[str, Any]:
        """The arguments of these settings."""
        return {"organization": self.organization, "project": self.project, "api_version": self.api_version}
