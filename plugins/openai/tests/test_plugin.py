"""The bean type `openai.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.plugin import BeanContext, BeanType
from agentforge_openai import OpenAiChatModel
from tests.support.endpoint_bean import BASE, EndpointBean


class TestTheBeanType(EndpointBean):
    """With the settings that only this one has."""

    TYPE = "openai.chat"
    MODEL = OpenAiChatModel
    VENDOR = "deepseek"
    KEY_VARIABLE = "DEEPSEEK_API_KEY"
    BASE_URL_VARIABLE = "OPENAI_BASE_URL"

    @pytest.mark.parametrize(
        ("settings", "name", "value"),
        [
            ({"vendor": "deepseek"}, "vendor", "deepseek"),
            ({"organization": "org"}, "organization", "org"),
            ({"project": "p"}, "project", "p"),
            ({"api_version": "2024-10-21"}, "api_version", "2024-10-21"),
            ({"tool_mode": "json_schema"}, "tool_mode", "json_schema"),
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
