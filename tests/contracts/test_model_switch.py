"""One conversation over four protocols: the model changes between any two rounds, in the middle of a turn too.

Each model asks an endpoint of its own on the loopback address. Every request fits the official request types of its
protocol, and the reasoning that a provider gave goes back to that provider alone.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

from agentforge import (
    ImageContent,
    P,
    RunFinished,
    ToolExecutionResult,
    ToolOutcome,
    ToolService,
    UserMessage,
    tool,
)
from agentforge.model import (
    ChatEvent,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ModelProfile,
    TextContent,
    mend_history,
)
from agentforge.testing import ScriptedEndpoint, call
from agentforge_anthropic import AnthropicChatModel
from agentforge_gemini import GeminiChatModel
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel
from tests.support.gemini_types import check_request
from tests.support.official_types import strict_adapter

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
FORMS = ("chat", "responses", "messages", "gemini")
#: Every order of three, and the fourth between any two, before and behind one.
ORDERS = [
    *itertools.product(FORMS[:3], repeat=3),
    *((one, "gemini", other) for one in FORMS for other in FORMS[:3]),
    *(("gemini", one, "gemini") for one in FORMS),
]
TYPES = {
    ("chat", False): CompletionCreateParamsNonStreaming,
    ("chat", True): CompletionCreateParamsStreaming,
    ("responses", False): ResponseCreateParamsNonStreaming,
    ("responses", True): ResponseCreateParamsStreaming,
    ("messages", False): MessageCreateParamsNonStreaming,
    ("messages", True): MessageCreateParamsStreaming,
}


@tool("Current weather of a city.", strict=True)
def get_weather(city: Annotated[str, P("The city")], days: int = 1) -> str:
    return f"{city}: 22 degrees for {days} days"


@tool("A picture of a city.", name="photo/of city")
def photo(city: str) -> ToolExecutionResult:
    return ToolExecutionResult(parts=(TextContent(f"This is {city}."), ImageContent(data=PIXEL)))


class Exchanged:
    """A model that is another one in every round."""

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = list(models)

    @property
    def profile(self) -> ModelProfile:
        """That of the next one."""
        profile: ModelProfile = self.models[0].profile
        return profile

    async def chat(self, request: ChatRequest) -> ChatResponse:
        response: ChatResponse = await self.models.pop(0).chat(request)
        return response

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        stream: AsyncGenerator[ChatEvent, None] = self.models.pop(0).stream(request)
        return stream

    async def aclose(self) -> None:
        """The models close themselves."""


def turns_of(place: int) -> Any:
    """What the model of a round answers: two rounds with calls, then a text; each has its own reasoning."""
    thinking = f"reasoning of round {place}"
    if place == 0:
        return {"thinking": thinking, "calls": [call("photo/of city", city="Oslo"), call("get_weather", city="Rome")]}
    if place == 1:
        return {"text": "One more.", "thinking": thinking, "calls": [call("get_weather", city="Oslo", days=2)]}
    return {"text": "Both are sunny.", "thinking": thinking}


def model_of(form: str, base_url: str) -> Any:
    """A model of this protocol at an address."""
    if form == "chat":
        return OpenAiChatModel(model="m", base_url=base_url, max_retries=0)
    if form == "responses":
        return OpenAiResponsesModel(model="m", base_url=base_url, max_retries=0, encrypted_reasoning=True)
    if form == "gemini":
        return GeminiChatModel(
            vendor="gemini", model="gemini-3.5-flash", base_url=base_url, api_key="key-for-tests", max_retries=0
        )
    return AnthropicChatModel(
        vendor="anthropic", model="claude-opus-5-5", base_url=base_url, api_key="key-for-tests", max_retries=0
    )


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("forms", ORDERS, ids="-".join)
async def test_a_turn_goes_on_with_another_model_in_every_round(forms: tuple[str, ...], streamed: bool) -> None:
    """Images, calls with results of their own, a name that no wire takes, a strict tool."""
    async with AsyncExitStack() as stack:
        endpoints = [await stack.enter_async_context(ScriptedEndpoint([turns_of(n)])) for n in range(3)]
        models = [
            await stack.enter_async_context(model_of(form, endpoint.base_url))
            for form, endpoint in zip(forms, endpoints, strict=True)
        ]
        service = ToolService(get_weather, photo)
        question = [UserMessage(["Weather and a picture, please.", ImageContent(data=PIXEL)])]
        model: ChatModel = Exchanged(models)
        if streamed:
            async with service.stream(model, None, question) as events:
                last = [event async for event in events][-1]
            assert isinstance(last, RunFinished)
            result = last.result
        else:
            result = await service.chat(model, None, question)

    assert result.text == "Both are sunny."
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.OK] * 3
    assert [each.request.name for each in result.tool_executions] == ["photo/of city", "get_weather", "get_weather"]
    assert mend_history(tuple(result.messages)) == (tuple(result.messages), ())
    for place, (form, endpoint) in enumerate(zip(forms, endpoints, strict=True)):
        [request] = endpoint.requests
        if form == "gemini":
            check_request(request.body)
        else:
            strict_adapter(TYPES[form, streamed]).validate_python(request.body)
        sent = request.content.decode()
        assert "photo/of city" not in sent
        assert ("Rome: 22 degrees" in sent) is (place > 0)
        assert not any(f"reasoning of round {before}" in sent for before in range(place)), "another host reads it"


@pytest.mark.parametrize("form", FORMS)
async def test_what_only_the_own_provider_reads_goes_back_to_it(form: str) -> None:
    """The same rounds at one endpoint: the reasoning of each is in the next request, where the protocol has a place."""
    async with (
        ScriptedEndpoint([turns_of(n) for n in range(3)]) as endpoint,
        model_of(form, endpoint.base_url) as model,
    ):
        await ToolService(get_weather, photo).chat(model, None, "Weather and a picture, please.")

    first, second, third = (request.content.decode() for request in endpoint.requests)
    assert "reasoning of round" not in first
    assert "reasoning of round 0" in second
    assert "reasoning of round 0" in third and "reasoning of round 1" in third
