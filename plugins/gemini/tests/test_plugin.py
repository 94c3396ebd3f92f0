"""The bean type `gemini.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from agentforge_gemini import GeminiChatModel
from tests.support.endpoint_bean import EndpointBeanWithSettings


class TestTheBeanType(EndpointBeanWithSettings):
    """With the settings that only this one has."""

    TYPE = "gemini.chat"
    MODEL = GeminiChatModel
    VENDOR = "gemini"
    KEY_VARIABLE = "GEMINI_API_KEY"
    BASE_URL_VARIABLE = "GOOGLE_GEMINI_BASE_URL"

    OWN = (
        ({"vendor": "gemini"}, "vendor", "gemini"),
        ({"auth": "bearer"}, "auth", "bearer"),
        ({"include_thoughts": True}, "include_thoughts", True),
        ({"vendor": "vertexai", "project": "shop"}, "project", "shop"),
        ({"vendor": "vertexai", "project": "shop", "location": "eu"}, "location", "eu"),
        ({"tool_mode": "json_schema", "vendor": "gemini"}, "tool_mode", "json_schema"),
    )
    REFUSED = (
        ({"auth": "basic"}, "auth"),
        ({"project": "shop", "vendor": "gemini"}, "project and location are of vendor 'vertexai'"),
        ({"vendor": "vertexai", "project": "a b"}, "no part of an address"),
    )
