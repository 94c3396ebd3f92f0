"""The bean type `anthropic.messages`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from agentforge_anthropic import AnthropicChatModel
from tests.support.endpoint_bean import EndpointBeanWithSettings


class TestTheBeanType(EndpointBeanWithSettings):
    """With the settings that only this one has."""

    TYPE = "anthropic.messages"
    MODEL = AnthropicChatModel
    VENDOR = "anthropic"
    KEY_VARIABLE = "ANTHROPIC_API_KEY"
    BASE_URL_VARIABLE = "ANTHROPIC_BASE_URL"

    OWN = (
        ({"vendor": "anthropic"}, "vendor", "anthropic"),
        ({"auth": "bearer"}, "auth", "bearer"),
        ({"version": "2026-10-21"}, "version", "2026-10-21"),
        ({"betas": ["a-2026-01-01"]}, "betas", ("a-2026-01-01",)),
        ({"cache": "tools_and_system"}, "cache", "tools_and_system"),
        ({"cache_ttl": "1h"}, "cache_ttl", "1h"),
        ({"thinking_display": "omitted"}, "thinking_display", "omitted"),
        ({"tool_mode": "json_schema", "vendor": "anthropic"}, "tool_mode", "json_schema"),
    )
    REFUSED = (({"cache": "everything"}, "cache"), ({"betas": "one"}, "betas"))
