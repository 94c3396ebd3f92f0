"""The end of every chain: the model is asked, streaming where somebody listens, and what it cost is counted."""

from __future__ import annotations

from collections.abc import Sequence

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import ChainEnd
from agentforge.errors import ModelError
from agentforge.model import ChatMessage, ChatModel, ChatRequest, ChatResponse, ModelProfile, SystemMessage
from agentforge.tool.execution import Emit, Run
from agentforge.tool.execution.asking import asking

__all__ = ("ASKED", "model_call")

ASKED = "agentforge.asked"
"""Among a run's attributes: the parameters that the model was asked with last."""


def model_call(model: ChatModel, front: Sequence[ChatMessage] = ()) -> ChainEnd:
    """The end of a chain in front of ``model``. ``front`` are messages that go in front of every request, behind its
    system messages, and into no history: examples, say.

    Every reply's tokens and notices are added to the run's, also those of an attempt that an advisor discards: they
    were paid for.
    """
    return _ModelCall(model, tuple(front))


class _ModelCall:
    """Asks a model; its profile is asked for only where somebody wants to know it."""

    __slots__ = ("_front", "_model")

    def __init__(self, model: ChatModel, front: tuple[ChatMessage, ...]) -> None:
        self._model = model
        self._front = front

    @property
    def profile(self) -> ModelProfile:
        """What the model can do."""
        return self._model.profile

    async def __call__(self, run: Run, request: ChatRequest, emit: Emit | None) -> Advised:
        model = self._model
        if run.parent is not None:
            await run.ask_above()
        run.attributes[ASKED] = request.parameters
        if self._front:
            request = ChatRequest(_behind_system(request.messages, self._front), request.parameters)
        response = await (model.chat(request) if emit is None else asking(model, emit)(request))
        if not isinstance(response, ChatResponse):
            raise ModelError(f"the model returned {type(response).__name__}, not a ChatResponse")
        run.spend(response.token_usage, response.model_name)
        run.notices.extend(response.notices)
        return Advised(response, (response.ai_message,))


def _behind_system(messages: Sequence[ChatMessage], front: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    at = next((n for n, each in enumerate(messages) if not isinstance(each, SystemMessage)), len(messages))
    return (*messages[:at], *front, *messages[at:])
