"""What a caller may ask a conversation with, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from agentforge.errors import RunArgumentError
from agentforge.model.events import Notice
from agentforge.model.history import History, mend_history
from agentforge.model.messages import ChatMessage, UserMessage
from agentforge.model.request import ChatRequestParameters
from agentforge.tool.declare import is_seconds
from agentforge.tool.execution.current import current_run
from agentforge.tool.execution.run import Run

__all__ = ("Messages", "check_asked", "history_of", "run_of")

Messages: TypeAlias = str | ChatMessage | Iterable[ChatMessage]
"""A question, a message, or a history."""


def history_of(messages: Messages) -> tuple[History, Sequence[Notice]]:
    """A valid history of what the caller gave, and what had to be mended."""
    if isinstance(messages, str):
        return History((UserMessage(messages),)), ()
    given: tuple[Any, ...]
    if isinstance(messages, (ChatMessage, Mapping)) or not isinstance(messages, Iterable):
        given = (messages,)
    else:
        given = tuple(messages)
    for message in given:
        if not isinstance(message, ChatMessage):
            raise RunArgumentError(
                f"{type(message).__name__} is no message",
                next_step="Give a text, or SystemMessage, UserMessage, AiMessage and ToolExecutionResultMessage.",
            )
    if not given:
        raise RunArgumentError("there is no message to answer", next_step="Give a text or at least one message.")
    mended, notices = mend_history(given)
    return History(mended), notices


def check_asked(parameters: object, model: object, method: str = "chat") -> None:
    """Raise `RunArgumentError` unless these are a model that can be asked so, and parameters."""
    if not callable(getattr(model, method, None)) or isinstance(model, type):
        raise RunArgumentError(
            f"{type(model).__name__} is no chat model", next_step="Give a model object as the first argument."
        )
    if parameters is not None and not isinstance(parameters, ChatRequestParameters):
        raise RunArgumentError(
            f"the parameters are {type(parameters).__name__}, not ChatRequestParameters",
            next_step="The arguments are chat(model, parameters, messages); parameters may be None.",
        )


def run_of(context: Run | Mapping[str, object] | None, memory_id: object, timeout: float | None) -> Run:
    """The run to use: the caller's own with what was given beside it, or a new one, whose parent is the run that this
    code works for (a tool's, say). Raises `RunArgumentError`, and `RunStateError` for one that was used."""
    if timeout is not None and not is_seconds(timeout):
        raise RunArgumentError(f"timeout must be above 0 seconds, not {timeout!r}", next_step="Use None for no limit.")
    if context is not None and not isinstance(context, (Run, Mapping)):
        raise RunArgumentError(f"context must be a mapping or a Run, not {type(context).__name__}")
    if not isinstance(context, Run):
        return Run(memory_id=memory_id, user_data=context, timeout=timeout, parent=current_run())
    context.expect_new()
    if memory_id is not None:
        context.memory_id = memory_id
    if timeout is not None:
        context.limit(timeout)
    return context
