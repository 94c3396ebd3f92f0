"""What can be wrong with an AI service: its interface, and what a turn came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentforge.errors import ConfigurationError, RunError, RunStateError

if TYPE_CHECKING:
    from agentforge.tool.execution import ToolChatResult, ToolLoopState

__all__ = ("ServiceDeclarationError", "ServiceSuspendedError")


class ServiceDeclarationError(ConfigurationError, TypeError):
    """An interface that cannot be implemented: which method, what of it, and what to write instead. ``prompt`` says
    which of a method's two prompts is meant, where it is one of them."""

    code = "AF125"
    prompt: Literal["system", "user"] | None = None


class ServiceSuspendedError(RunError):
    """The turn waits for a decision, and the method's type has no place for that.

    ``reply`` is what there is of the turn, ``state`` what it goes on with: ``resuming(service.method, state)(...)``.
    """

    code = "AF513"

    def __init__(
        self,
        message: str,
        *,
        reply: ToolChatResult | None = None,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, location=location, next_step=next_step)
        self.reply = reply

    @property
    def state(self) -> ToolLoopState:
        """The state of the turn. Raises `RunStateError` for an error that was made without one."""
        if self.reply is None or self.reply.suspended is None:
            raise RunStateError("this error has no state of a turn")
        return self.reply.suspended
