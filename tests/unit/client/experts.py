"""Experts for tests of services that are tools of others: an interface, a tool of theirs, and a gate that asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from agentforge import ChatClient, Hidden, MemoryId, P, ScriptedChatModel, ToolContext, ToolService, ai_service, system
from agentforge import tool as declare
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Refuse, Run, Verdict

__all__ = ("Doctor", "Prescriptions", "SecondGate", "doctor")


class Doctor(Protocol):
    """An expert with a tool method and one that is none."""

    @declare("Answers medical questions.")
    @system("You are a doctor for {kind}.")
    async def medical(
        self,
        question: Annotated[str, P("what the patient asks")],
        memory_id: MemoryId,
        patient: Annotated[str, Hidden("user_id")] = "nobody",
        kind: str = "people",
    ) -> str: ...

    async def gossip(self, message: str) -> str: ...


class Prescriptions:
    """What the doctor's tools do; ``seen`` is what they knew of their run."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    @declare(effect="write")
    def prescribe(self, drug: str, patient: Annotated[str, Hidden("user_id")], context: ToolContext) -> str:
        """Prescribes a drug."""
        run = context.run
        self.seen.append(
            {
                "patient": patient,
                "tenant": run.tenant,
                "roles": run.roles,
                "memory_id": run.memory_id,
                "depth": run.depth,
                "parent_id": run.parent_id,
            }
        )
        return f"{drug} for {patient}"


class SecondGate:
    """Asks about calls of a tool until it was told what to do; notes who asked for them."""

    def __init__(self, *tools: str) -> None:
        self.tools = tools
        self.verdict: Verdict | None = None
        self.asked: list[tuple[str, str]] = []

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """One verdict a call."""
        found: list[Verdict] = []
        for call in batch:
            if call.name not in self.tools:
                found.append(Proceed())
                continue
            self.asked.append((call.name, run.id))
            found.append(self.verdict or Ask(f"may {call.name} run?"))
        return found

    def allow(self) -> None:
        """From now on they may."""
        self.verdict = Proceed()

    def deny(self, text: str = "no") -> None:
        """From now on they may not."""
        from agentforge.tool.execution import ToolOutcome

        self.verdict = Refuse(ToolOutcome.DENIED, text)


def doctor(
    turns: Sequence[Any],
    *,
    gate: SecondGate | None = None,
    tools: Prescriptions | None = None,
    max_depth: int = 5,
    **client: Any,
) -> tuple[Doctor, ScriptedChatModel]:
    """A doctor over a scripted model, and that model."""
    model = ScriptedChatModel(turns)
    service = ToolService(tools or Prescriptions(), gates=[] if gate is None else [gate])
    return ai_service(Doctor, ChatClient(model, service=service, **client), max_depth=max_depth), model
