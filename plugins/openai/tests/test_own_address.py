"""`base_url` of a vendor itself means that vendor: in Python and in a file, with its key, its limits and its prices."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequest, ChatRequestParameters
from agentforge_openai import OpenAiChatModel, OpenAiEmbeddingModel, OpenAiResponsesModel
from plugins.openai.tests.support import GOOD, WEATHER, FakeTransport

KEYS = {"OPENAI_API_KEY": "sk-openai-1", "DEEPSEEK_API_KEY": "sk-deepseek-1", "DASHSCOPE_API_KEY": "sk-dashscope-1"}


@pytest.mark.parametrize("kind", [OpenAiChatModel, OpenAiResponsesModel, OpenAiEmbeddingModel])
@pytest.mark.parametrize(
    ("base_url", "vendor", "key"),
    [
        ("https://api.openai.com/v1", "openai", "sk-openai-1"),
        ("https://api.deepseek.com", "deepseek", "sk-deepseek-1"),
        ("https://api.deepseek.com/beta", "deepseek", "sk-deepseek-1"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "dashscope", "sk-dashscope-1"),
        ("http://localhost:11434/v1", "ollama", None),
        ("http://localhost:8000/v1", "generic", None),
        ("http://api.openai.com/v1", "generic", None),
        ("https://api.openai.com.evil.example/v1", "generic", None),
        ("https://api.openai.com:8443/v1", "generic", None),
    ],
)
def test_the_host_says_which_row_holds_and_whose_key_is_read(
    kind: Any, base_url: str, vendor: str, key: str | None
) -> None:
    """Of the keys that lie in the environment, none goes to a host that it is not of."""
    transport = FakeTransport(GOOD)
    model = kind(model="m", base_url=base_url, environment=KEYS, transport=transport)
    assert f"vendor={vendor!r}" in repr(model)
    assert [name for name, value in KEYS.items() if model.secrets.mask(value) == "***"] == (
        [f"{vendor.upper()}_API_KEY"] if key else []
    )
    if kind is OpenAiChatModel:
        asyncio.run(model.chat(ChatRequest("q")))
        assert transport.header("authorization") == (f"Bearer {key}" if key else None)


def test_a_missing_key_of_its_own_host_is_found_before_the_first_request() -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAiChatModel(model="m", base_url="https://api.openai.com/v1", environment={})
    assert "OPENAI_API_KEY" in (caught.value.next_step or "")


def test_the_variable_of_the_base_keeps_its_meaning() -> None:
    """It moves the vendor, without `base_url`; with one it is not read."""
    environment = {**KEYS, "OPENAI_BASE_URL": "https://proxy.example/v1"}
    moved = OpenAiChatModel(model="m", environment=environment)
    assert repr(moved) == "OpenAiChatModel(vendor='openai', model='m', base_url='https://proxy.example/v1')"
    given = OpenAiChatModel(model="m", base_url="https://api.deepseek.com", environment=environment)
    assert "vendor='deepseek'" in repr(given)


def test_a_file_that_gives_the_vendors_own_address_gets_the_vendors_limits() -> None:
    """As the shipped profile does: the name of the limit, what is refused, and the price."""
    model = {"type": "openai.chat", "base_url": "https://api.openai.com/v1", "model": "gpt-5.6-sol"}
    application = AgentForge.from_mapping({"beans": {"model": model}}, environment=KEYS)
    with application as running:
        found: Any = running.get("model")
        body, _ = found.preview(ChatRequest("q", ChatRequestParameters(max_output_tokens=5)))
        assert b'"max_completion_tokens":5' in body
        with pytest.raises(UnsupportedFeatureError):
            found.preview(ChatRequest("q", ChatRequestParameters(tools=(WEATHER,))))
        assert found._prices is not None
