"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge.testing import PluginContract, ScriptedEndpoint, WireModelContract
from agentforge_ollama import OllamaChatModel


class TestOllamaChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OllamaChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OllamaChatModel(base_url=endpoint.base_url, model="m", max_retries=0) as model,
        ):
            yield model


class TestOllamaPlugin(PluginContract):
    def plugin(self) -> str:
        return "ollama"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "ollama.chat", "model": "m", "base_url": "http://127.0.0.1:9"}}
