"""What tests of AI services share: a service over a scripted model, and a gate that asks before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agentforge import ChatClient, Run, ScriptedChatModel, ToolService, ai_service
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Verdict

__all__ = ("AskFirst", "served", "waiting")

T = TypeVar("T")


class AskFirst:
    """Asks about every call until somebody has agreed."""

    agreed = False

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """Once agreed, all may go on."""
        return [Proceed() if self.agreed else Ask(f"may {call.name} run?") for call in batch]


def served(interface: Callable[..., T], *turns: Any, **client: Any) -> tuple[T, ScriptedChatModel]:
    """A service over a client of its own, and the model; without turns it says "Done." to everything."""
    model = ScriptedChatModel(turns or ["Done."], repeat=not turns)
    return ai_service(interface, ChatClient(model, **client)), model


def waiting(interface: Callable[..., T], *turns: Any, tools: Sequence[Any]) -> tuple[T, ScriptedChatModel, AskFirst]:
    """A service whose calls are asked about first, its model, and the gate."""
    gate = AskFirst()
    service, model = served(interface, *turns, service=ToolService(*tools, gates=[gate]), owns_service=True)
    return service, model, gate
