"""The bean type `anthropic.messages`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.plugin import BeanContext, BeanType
from agentforge_anthropic import AnthropicChatModel
from tests.support.endpoint_bean import BASE, EndpointBean


class TestTheBeanType(EndpointBean):
    """With the settings that only this one has."""

    TYPE = "anthropic.messages"
    MODEL = AnthropicChatModel
    VENDOR = "anthropic"
    KEY_VARIABLE = "ANTHROPIC_API_KEY"
    BASE_URL_VARIABLE = "ANTHROPIC_BASE_URL"

    @pytest.mark.parametrize(
        ("settings", "name", "value"),
        [
            ({"vendor": "anthropic"}, "vendor", "anthropic"),
            ({"auth": "bearer"}, "auth", "bearer"),
            ({"version": "2026-10-21"}, "version", "2026-10-21"),
            ({"betas": ["a-2026-01-01"]}, "betas", ("a-2026-01-01",)),
            ({"cache": "tools_and_system"}, "cache", "tools_and_system"),
            ({"cache_ttl": "1h"}, "cache_ttl", "1h"),
            ({"thinking_display": "omitted"}, "thinking_display", "omitted"),
            ({"tool_mode": "json_schema", "vendor": "anthropic"}, "tool_mode", "json_schema"),
        ],
    )
    def test_settings_of_its_own_reach_the_model(
        self,
        bean_type: BeanType,
        context: BeanContext,
        given: dict[str, Any],
        settings: dict[str, Any],
        name: str,
        value: Any,
    ) -> None:
        bean_type.create(bean_type.settings(**{**BASE, **settings}), context)

        assert given[name] == value

    @pytest.mark.parametrize(("settings", "message"), [({"cache": "everything"}, "cache"), ({"betas": "one"}, "betas")])
    def test_what_the_model_would_refuse_of_these_is_found_too(
        self, bean_type: BeanType, settings: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, **settings})

        assert message in str(caught.value)
