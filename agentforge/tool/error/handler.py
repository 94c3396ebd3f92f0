"""How a failed call is answered: what a handler is told, what it may answer, and its forms (seed A 4.4).

A handler returns `ToolErrorHandlerResult.text` to answer the model, which may correct itself, or raises to end the run.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from agentforge.masking import Secrets
from agentforge.model.messages import ToolExecutionResultMessage
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest

if TYPE_CHECKING:
    from agentforge.tool.execution.run import Run

__all__ = (
    "ToolErrorContext",
    "ToolErrorHandler",
    "ToolErrorHandlerResult",
    "UnknownToolStrategy",
    "answer_to",
)


@dataclass(frozen=True, slots=True)
class ToolErrorContext:
    """What a handler may look at: the call, the tool's specification (``None`` for an unknown tool), the run, the error
    as it was raised (an execution handler's own ``error`` is the tool's exception, ``raw_error`` the wrapper)."""

    request: ToolExecutionRequest
    specification: ToolSpecification | None
    run: Run
    raw_error: BaseException
    secrets: Secrets
    effect: str | None = None

    @property
    def memory_id(self) -> object:
        """The conversation's id."""
        return self.run.memory_id

    def mask(self, text: str) -> str:
        """The text without registered secrets."""
        return self.secrets.mask(text)


@dataclass(frozen=True, slots=True)
class ToolErrorHandlerResult:
    """What the model is told in place of a result."""

    message: str

    @classmethod
    def text(cls, message: str) -> ToolErrorHandlerResult:
        """Answer the model with this text; the loop goes on."""
        return cls(message)


class ToolErrorHandler(Protocol):
    """A strategy for one kind of error, sync or async. Returns what to tell the model, or raises to end the run."""

    def __call__(
        self, error: BaseException, context: ToolErrorContext, /
    ) -> ToolErrorHandlerResult | Awaitable[ToolErrorHandlerResult]: ...


UnknownToolStrategy: TypeAlias = (
    ToolErrorHandler | Callable[[ToolExecutionRequest], "ToolExecutionResultMessage | ToolErrorHandlerResult | str"]
)
"""A handler, or seed A's form: a function of the request alone that makes the answer."""


async def answer_to(
    handler: ToolErrorHandler | UnknownToolStrategy, error: BaseException, context: ToolErrorContext
) -> str:
    """What the model is told about ``error``; what the handler raises passes through."""
    made: Any = handler(context.request) if _takes_request_alone(handler) else handler(error, context)  # type: ignore[call-arg,arg-type]
    if inspect.isawaitable(made):
        made = await made
    if isinstance(made, ToolErrorHandlerResult):
        return made.message
    if isinstance(made, ToolExecutionResultMessage):
        return made.text
    if isinstance(made, str):
        return made
    raise TypeError(
        f"an error handler must return ToolErrorHandlerResult.text(...) or raise; it returned {type(made).__name__}"
    )


def _takes_request_alone(handler: object) -> bool:
    try:
        parameters = inspect.signature(handler).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(needed) == 1 and not any(p.kind is p.VAR_POSITIONAL for p in parameters)
