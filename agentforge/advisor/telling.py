"""How advisors tell what they did: a notice for the run and whoever listens, and an answer of their own."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import AiMessage, ChatResponse, FinishReason, Notice, ResponseDone, TextDelta
from agentforge.tool.execution import Emit, Run

__all__ = ("own_answer", "show", "tell")


async def tell(
    run: Run, emit: Emit | None, code: str, message: str, details: Mapping[str, object] | None = None
) -> None:
    """Keep a notice in ``run.notices``, and tell it where somebody listens."""
    notice = Notice(code, message, details or {})
    run.notices.append(notice)
    if emit is not None:
        await emit(notice)


async def show(emit: Emit | None, response: ChatResponse) -> None:
    """A whole reply in the events of a streamed one; nothing where nobody listens."""
    if emit is not None:
        if response.ai_message.text:
            await emit(TextDelta(response.ai_message.text))
        await emit(ResponseDone(response))


def own_answer(
    text: str, reason: FinishReason, *, raw: str | None = None, like: ChatResponse | None = None
) -> ChatResponse:
    """A reply with a text of the framework's own, in the place of ``like``, whose cost, id and model it keeps. Its
    citations are those of another text, and may hold what that one was refused for."""
    message = AiMessage(text)
    if like is None:
        return ChatResponse(message, reason, raw_finish_reason=raw)
    return ChatResponse(message, reason, like.token_usage, like.id, like.model_name, raw, like.notices)
