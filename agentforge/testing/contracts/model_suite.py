"""How the suite for chat models gets its models, and what its tests ask of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from agentforge.model import (
    ChatEvent,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    ToolParameters,
    ToolSpecification,
)
from agentforge.testing.contracts.running import must, opened, run, skip

__all__ = ("STILL_HERE", "WEATHER", "ModelSuite", "events_of", "offering")

_T = TypeVar("_T")
STILL_HERE = "Still here."
#: The tool that the suite's requests offer.
WEATHER = ToolSpecification(
    "get_weather",
    "The current weather of a city.",
    ToolParameters.builder().add_property("city", "string", "name of the city", required=True).build(),
)


class ModelSuite:
    """What the parts of `ChatModelContract` share."""

    patience = 60.0
    deterministic = True

    def model(self) -> Any:
        """A fresh `ChatModel` whose answers nobody can choose, or an asynchronous context manager around one."""
        raise TypeError(f"{type(self).__name__} must override model() or model_answering()")

    def model_answering(self, turns: Sequence[Any]) -> Any:
        """A fresh `ChatModel` that is answered with these turns, or an asynchronous context manager around one.

        The turns are what `ScriptedEndpoint` and `ScriptedChatModel` take. The model must not retry.
        """
        raise TypeError(f"{type(self).__name__} must override model() or model_answering()")

    @property
    def answers_by_script(self) -> bool:
        """Whether it is known what the model is answered with."""
        return type(self).model_answering is not ModelSuite.model_answering

    def script_needed(self) -> None:
        """Skip a test that needs to choose the answers."""
        if not self.answers_by_script:
            skip("model_answering() is not overridden: nobody can choose what the model is answered with")

    @asynccontextmanager
    async def opened(self, *turns: Any) -> AsyncIterator[ChatModel]:
        """The model, with these turns where it takes any; closed at the end."""
        made = self.model_answering(turns) if self.answers_by_script else self.model()
        async with opened(made, ChatModel) as model:
            yield model

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a test's coroutine."""
        return run(lambda: work, patience=self.patience)

    async def still_answers(self, model: ChatModel) -> None:
        """Fail unless the model answers a further request, with the turn that is meant for it."""
        response = await model.chat(ChatRequest("Are you there?"))
        if self.answers_by_script:
            text = response.ai_message.text
            must(text == STILL_HERE, f"the next request got {text!r}, not its own answer")
        must(response.ai_message.contents, "the next request got no answer")


async def events_of(model: ChatModel, request: ChatRequest) -> list[ChatEvent]:
    """All events of a streamed reply."""
    async with aclosing(model.stream(request)) as events:
        return [event async for event in events]


def offering() -> ChatRequestParameters:
    """Parameters that offer the tool."""
    return ChatRequestParameters(tools=[WEATHER])
