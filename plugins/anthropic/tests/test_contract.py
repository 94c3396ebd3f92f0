"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge.testing import PluginContract, ScriptedEndpoint, WireModelContract
from agentforge_anthropic import AnthropicChatModel


class TestAnthropicChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[AnthropicChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            AnthropicChatModel(base_url=endpoint.base_url, model="m", max_retries=0) as model,
        ):
            yield model


class TestAnthropicChatModelWithThinking(TestAnthropicChatModel):
    """The same for a model that thinks within a budget, where a history of another provider has no thinking."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[AnthropicChatModel]:
        from agentforge.model import ChatRequestParameters

        async with (
            ScriptedEndpoint(turns) as endpoint,
            AnthropicChatModel(
                base_url=endpoint.base_url,
                vendor="anthropic",
                api_key="key-for-tests",
                model="claude-haiku-4-5",
                defaults=ChatRequestParameters(reasoning_effort="low"),
                max_retries=0,
            ) as model,
        ):
            yield model


class TestAnthropicPlugin(PluginContract):
    def plugin(self) -> str:
        return "anthropic"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "anthropic.messages", "model": "m", "base_url": "http://127.0.0.1:9"}}
