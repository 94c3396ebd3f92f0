"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from agentforge.testing import PluginContract, WireModelContract
from agentforge_ollama import OllamaChatModel
from tests.support.scripted_model import answering


class TestOllamaChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen."""

    def model_answering(self, turns: Sequence[Any]) -> AbstractAsyncContextManager[OllamaChatModel]:
        return answering(OllamaChatModel, turns)


class TestOllamaPlugin(PluginContract):
    def plugin(self) -> str:
        return "ollama"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "ollama.chat", "model": "m", "base_url": "http://127.0.0.1:9"}}
