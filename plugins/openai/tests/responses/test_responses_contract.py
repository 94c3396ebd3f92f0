"""The model of the Responses wire keeps the contract of every model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agentforge.testing import ChatModelContract, ScriptedEndpoint
from agentforge_openai import OpenAiResponsesModel


class TestOpenAiResponsesModel(ChatModelContract):
    """Through the HTTP client and a socket; without retries, so that each failure is seen."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiResponsesModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiResponsesModel(base_url=endpoint.base_url, model="m", max_retries=0) as model,
        ):
            yield model


class TestOpenAiResponsesModelThatNamesTheLastResponse(ChatModelContract):
    """The same where the server keeps the conversation."""

    @asynccontextmanager
    async def model_answering(self, turns: Sequence[Any]) -> AsyncIterator[OpenAiResponsesModel]:
        async with (
            ScriptedEndpoint(turns) as endpoint,
            OpenAiResponsesModel(
                base_url=endpoint.base_url, model="m", max_retries=0, state="previous_response"
            ) as model,
        ):
            yield model
