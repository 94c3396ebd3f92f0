"""The end of every chain: the model is asked, streaming where somebody listens, and what it cost is counted."""

from __future__ import annotations

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import ChainEnd
from agentforge.errors import ModelError
from agentforge.model import ChatModel, ChatRequest, ChatResponse
from agentforge.tool.execution import Emit, Run
from agentforge.tool.execution.asking import asking

__all__ = ("ASKED", "model_call")

ASKED = "agentforge.asked"
"""Among a run's attributes: the parameters that the model was asked with last."""


def model_call(model: ChatModel) -> ChainEnd:
    """The end of a chain in front of ``model``.

    Every reply's tokens and notices are added to the run's, also those of an attempt that an advisor discards: they
    were paid for.
    """

    async def call(run: Run, request: ChatRequest, emit: Emit | None) -> Advised:
        run.attributes[ASKED] = request.parameters
        response = await (model.chat(request) if emit is None else asking(model, emit)(request))
        if not isinstance(response, ChatResponse):
            raise ModelError(f"the model returned {type(response).__name__}, not a ChatResponse")
        run.token_usage = run.token_usage + response.token_usage
        run.notices.extend(response.notices)
        return Advised(response, (response.ai_message,))

    return call
