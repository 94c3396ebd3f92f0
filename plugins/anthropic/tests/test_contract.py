"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from agentforge.model import ChatRequestParameters
from agentforge.testing import PluginContract, WireModelContract
from agentforge_anthropic import AnthropicChatModel
from tests.support.scripted_model import answering


class TestAnthropicChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen."""

    def model_answering(self, turns: Sequence[Any]) -> AbstractAsyncContextManager[AnthropicChatModel]:
        return answering(AnthropicChatModel, turns)


class TestAnthropicChatModelWithThinking(TestAnthropicChatModel):
    """The same for a model that thinks within a budget, where a history of another provider has no thinking."""

    def model_answering(self, turns: Sequence[Any]) -> AbstractAsyncContextManager[AnthropicChatModel]:
        return answering(
            AnthropicChatModel,
            turns,
            vendor="anthropic",
            api_key="key-for-tests",
            model="claude-haiku-4-5",
            defaults=ChatRequestParameters(reasoning_effort="low"),
        )


class TestAnthropicPlugin(PluginContract):
    def plugin(self) -> str:
        return "anthropic"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "anthropic.messages", "model": "m", "base_url": "http://127.0.0.1:9"}}
