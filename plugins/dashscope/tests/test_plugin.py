"""The bean type `dashscope.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from agentforge_dashscope import DashScopeChatModel
from tests.support.endpoint_bean import EndpointBeanWithSettings


class TestTheBeanType(EndpointBeanWithSettings):
    """With the settings that only this one has."""

    TYPE = "dashscope.chat"
    MODEL = DashScopeChatModel
    VENDOR = "dashscope"
    KEY_VARIABLE = "DASHSCOPE_API_KEY"
    BASE_URL_VARIABLE = "DASHSCOPE_HTTP_BASE_URL"

    OWN = (
        ({"vendor": "dashscope-intl"}, "vendor", "dashscope-intl"),
        ({"incremental_output": False}, "incremental_output", False),
        ({"multimodal": "true"}, "multimodal", True),
        ({"workspace": "ws-1"}, "workspace", "ws-1"),
        ({"tool_mode": "json_schema"}, "tool_mode", "json_schema"),
    )
    REFUSED = (
        ({"incremental_output": "sometimes"}, "incremental_output"),
        ({"base_url": "https://dashscope.aliyuncs.com/compatible-mode/v1"}, "compatible API"),
    )
