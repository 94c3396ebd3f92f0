"""The model behind a wire keeps the contract of every model, and its plugin that of every plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge.testing import ChatModelContract, PluginContract, ScriptedEndpoint, WireModelContract
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel


class TestOpenAiChatModel(WireModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiChatModel(base_url=endpoint.base_url, model="m", max_retries=0) as model,
        ):
            yield model


class TestOpenAiChatModelOfAVendor(WireModelContract):
    """With what its own row says of a model that thinks: its reasoning stays with the provider on this API."""

    replays_state = False

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiChatModel(
                base_url=endpoint.base_url, vendor="openai", api_key="key-for-tests", model="gpt-5-mini", max_retries=0
            ) as model,
        ):
            yield model


class TestOpenAiResponsesModel(WireModelContract):
    """The other wire."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiResponsesModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiResponsesModel(base_url=endpoint.base_url, model="m", max_retries=0) as model,
        ):
            yield model


class TestOpenAiResponsesModelOfItsVendor(WireModelContract):
    """With reasoning that is encrypted and goes back."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiResponsesModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiResponsesModel(
                base_url=endpoint.base_url, vendor="openai", api_key="key-for-tests", model="gpt-5-mini", max_retries=0
            ) as model,
        ):
            yield model


class TestOpenAiChatModelOverAiohttp(ChatModelContract):
    """The same over the other HTTP library."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiChatModel(base_url=endpoint.base_url, model="m", max_retries=0, transport="aiohttp") as model,
        ):
            yield model


class TestOpenAiChatModelWithToolsInItsPrompt(ChatModelContract):
    """Where the wire has no tools; what is about the wire's own calls is skipped."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiChatModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiChatModel(base_url=endpoint.base_url, model="m", max_retries=0, tool_mode="json_schema") as model,
        ):
            yield model


class TestOpenAiPlugin(PluginContract):
    def plugin(self) -> str:
        return "openai"

    def beans(self) -> dict[str, dict[str, Any]]:
        endpoint = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
        kinds = {"model": "openai.chat", "other": "openai.responses", "vectors": "openai.embeddings"}
        return {name: {"type": kind, **endpoint} for name, kind in kinds.items()}
