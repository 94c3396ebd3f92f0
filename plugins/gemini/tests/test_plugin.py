"""The bean type `gemini.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.plugin import BeanContext, BeanType
from agentforge_gemini import GeminiChatModel
from tests.support.endpoint_bean import BASE, EndpointBean


class TestTheBeanType(EndpointBean):
    """With the settings that only this one has."""

    TYPE = "gemini.chat"
    MODEL = GeminiChatModel
    VENDOR = "gemini"
    KEY_VARIABLE = "GEMINI_API_KEY"
    BASE_URL_VARIABLE = "GOOGLE_GEMINI_BASE_URL"

    @pytest.mark.parametrize(
        ("settings", "name", "value"),
        [
            ({"vendor": "gemini"}, "vendor", "gemini"),
            ({"auth": "bearer"}, "auth", "bearer"),
            ({"include_thoughts": True}, "include_thoughts", True),
            ({"vendor": "vertexai", "project": "shop"}, "project", "shop"),
            ({"vendor": "vertexai", "project": "shop", "location": "eu"}, "location", "eu"),
            ({"tool_mode": "json_schema", "vendor": "gemini"}, "tool_mode", "json_schema"),
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

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"auth": "basic"}, "auth"),
            ({"project": "shop", "vendor": "gemini"}, "project and location are of vendor 'vertexai'"),
            ({"vendor": "vertexai", "project": "a b"}, "no part of an address"),
        ],
    )
    def test_what_the_model_would_refuse_of_these_is_found_too(
        self, bean_type: BeanType, settings: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, **settings})

        assert message in str(caught.value)
