"""The bean type `ollama.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from agentforge_ollama import OllamaChatModel
from tests.support.endpoint_bean import EndpointBeanWithSettings


class TestTheBeanType(EndpointBeanWithSettings):
    """With the settings that only this one has."""

    TYPE = "ollama.chat"
    MODEL = OllamaChatModel
    VENDOR = "ollama-cloud"
    KEY_VARIABLE = "OLLAMA_API_KEY"
    BASE_URL_VARIABLE = "OLLAMA_HOST"

    OWN = (
        ({"vendor": "generic"}, "vendor", "generic"),
        ({"num_ctx": 32768}, "num_ctx", 32768),
        ({"num_ctx": "32k"}, "num_ctx", 32000),
        ({"truncate": True}, "truncate", True),
        ({"keep_alive": "10m"}, "keep_alive", "10m"),
        ({"keep_alive": -1}, "keep_alive", -1),
        ({"tool_mode": "json_schema"}, "tool_mode", "json_schema"),
    )
    REFUSED = (({"num_ctx": 0}, "num_ctx"), ({"truncate": "often"}, "truncate"))
