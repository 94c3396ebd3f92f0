"""The models behind both wires keep the contract of every model, and their plugin that of every plugin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from agentforge.testing import ChatModelContract, PluginContract, ScriptedEndpoint, WireModelContract
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel

Kind: TypeAlias = type[OpenAiChatModel | OpenAiResponsesModel]
Opened: TypeAlias = AbstractAsyncContextManager[OpenAiChatModel | OpenAiResponsesModel]
OWN_VENDOR = {"vendor": "openai", "api_key": "key-for-tests", "model": "gpt-5-mini"}


@asynccontextmanager
async def answering(
    kind: Kind, turns: Sequence[Any], *, model: str = "m", **options: Any
) -> AsyncIterator[OpenAiChatModel | OpenAiResponsesModel]:
    """A model that gets these turns through the HTTP client and a socket; without retries, so that each failure is
    seen."""
    async with (
        ScriptedEndpoint(turns) as endpoint,
        kind(base_url=endpoint.base_url, model=model, max_retries=0, **options) as opened,
    ):
        yield opened


class TestOpenAiChatModel(WireModelContract):
    """Chat Completions, at an address of no known vendor."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiChatModel, turns)


class TestOpenAiChatModelOfItsVendor(WireModelContract):
    """With what its own row says of a model that thinks: its reasoning stays with the provider on this API."""

    replays_state = False

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiChatModel, turns, **OWN_VENDOR)


class TestOpenAiResponsesModel(WireModelContract):
    """The other wire."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiResponsesModel, turns)


class TestOpenAiResponsesModelOfItsVendor(WireModelContract):
    """With reasoning that is encrypted and goes back."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiResponsesModel, turns, **OWN_VENDOR)


class TestOpenAiResponsesModelThatNamesTheLastResponse(ChatModelContract):
    """Where the server keeps the conversation, so that requests do not hold all of it."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiResponsesModel, turns, state="previous_response")


class TestOpenAiChatModelOverAiohttp(ChatModelContract):
    """The same over the other HTTP library."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiChatModel, turns, transport="aiohttp")


class TestOpenAiChatModelWithToolsInItsPrompt(ChatModelContract):
    """Where the wire has no tools; what is about the wire's own calls is skipped."""

    def model_answering(self, turns: Sequence[Any]) -> Opened:
        return answering(OpenAiChatModel, turns, tool_mode="json_schema")


class TestOpenAiPlugin(PluginContract):
    def plugin(self) -> str:
        return "openai"

    def beans(self) -> dict[str, dict[str, Any]]:
        endpoint = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}
        kinds = {"model": "openai.chat", "other": "openai.responses", "vectors": "openai.embeddings"}
        return {name: {"type": kind, **endpoint} for name, kind in kinds.items()}
