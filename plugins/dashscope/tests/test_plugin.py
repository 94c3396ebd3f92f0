"""The bean type `dashscope.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.plugin import BeanContext, BeanType
from agentforge_dashscope import DashScopeChatModel
from tests.support.endpoint_bean import BASE, EndpointBean


class TestTheBeanType(EndpointBean):
    """With the settings that only this one has."""

    TYPE = "dashscope.chat"
    MODEL = DashScopeChatModel
    VENDOR = "dashscope"
    KEY_VARIABLE = "DASHSCOPE_API_KEY"
    BASE_URL_VARIABLE = "DASHSCOPE_HTTP_BASE_URL"

    @pytest.mark.parametrize(
        ("settings", "name", "value"),
        [
            ({"vendor": "dashscope-intl"}, "vendor", "dashscope-intl"),
            ({"incremental_output": False}, "incremental_output", False),
            ({"multimodal": "true"}, "multimodal", True),
            ({"workspace": "ws-1"}, "workspace", "ws-1"),
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

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"incremental_output": "sometimes"}, "incremental_output"),
            ({"base_url": "https://dashscope.aliyuncs.com/compatible-mode/v1"}, "compatible API"),
        ],
    )
    def test_what_the_model_would_refuse_of_these_is_found_too(
        self, bean_type: BeanType, settings: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, **settings})

        assert message in str(caught.value)
