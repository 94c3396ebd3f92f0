"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge.testing import PluginContract, ScriptedEndpoint, WireModelContract
from agentforge_gemini import GeminiChatModel


class TestGeminiChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen. Results are paired with
    calls by their order, and an id goes out only where the vendor gave it."""

    sends_ids = False

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[GeminiChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            GeminiChatModel(base_url=endpoint.base_url, model="m", max_retries=0) as model,
        ):
            yield model


class TestGeminiChatModelOfGemini3(TestGeminiChatModel):
    """The same for a model that wants signatures, takes JSON Schema and media in results."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[GeminiChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            GeminiChatModel(
                base_url=endpoint.base_url,
                vendor="gemini",
                api_key="key-for-tests",
                model="gemini-3.5-flash",
                max_retries=0,
            ) as model,
        ):
            yield model


class TestGeminiPlugin(PluginContract):
    def plugin(self) -> str:
        return "gemini"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "gemini.chat", "model": "m", "base_url": "http://127.0.0.1:9"}}
