"""The bean type `ollama.chat`: every setting of the model, found wrong when the file is checked."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.plugin import BeanContext, BeanType
from agentforge_ollama import OllamaChatModel
from tests.support.endpoint_bean import BASE, EndpointBean


class TestTheBeanType(EndpointBean):
    """With the settings that only this one has."""

    TYPE = "ollama.chat"
    MODEL = OllamaChatModel
    VENDOR = "ollama-cloud"
    KEY_VARIABLE = "OLLAMA_API_KEY"
    BASE_URL_VARIABLE = "OLLAMA_HOST"

    @pytest.mark.parametrize(
        ("settings", "name", "value"),
        [
            ({"vendor": "generic"}, "vendor", "generic"),
            ({"num_ctx": 32768}, "num_ctx", 32768),
            ({"num_ctx": "32k"}, "num_ctx", 32000),
            ({"truncate": True}, "truncate", True),
            ({"keep_alive": "10m"}, "keep_alive", "10m"),
            ({"keep_alive": -1}, "keep_alive", -1),
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
        ("settings", "message"), [({"num_ctx": 0}, "num_ctx"), ({"truncate": "often"}, "truncate")]
    )
    def test_what_the_model_would_refuse_of_these_is_found_too(
        self, bean_type: BeanType, settings: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match="validation error") as caught:
            bean_type.settings(**{**BASE, **settings})

        assert message in str(caught.value)
