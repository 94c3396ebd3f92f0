"""The model behind this wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from agentforge.testing import PluginContract, WireModelContract
from agentforge_gemini import GeminiChatModel
from tests.support.scripted_model import answering


class TestGeminiChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen. Results are paired with
    calls by their order, and an id goes out only where the vendor gave it."""

    sends_ids = False

    def model_answering(self, turns: Sequence[Any]) -> AbstractAsyncContextManager[GeminiChatModel]:
        return answering(GeminiChatModel, turns)


class TestGeminiChatModelOfGemini3(TestGeminiChatModel):
    """The same for a model that wants signatures, takes JSON Schema and media in results."""

    def model_answering(self, turns: Sequence[Any]) -> AbstractAsyncContextManager[GeminiChatModel]:
        return answering(GeminiChatModel, turns, vendor="gemini", api_key="key-for-tests", model="gemini-3.5-flash")


class TestGeminiPlugin(PluginContract):
    def plugin(self) -> str:
        return "gemini"

    def beans(self) -> dict[str, dict[str, Any]]:
        return {"model": {"type": "gemini.chat", "model": "m", "base_url": "http://127.0.0.1:9"}}
