"""Chains made up for the chain's laws, and turns held with them: what a turn did, and what it left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from hypothesis import strategies as st

from agentforge import ScriptedChatModel, ToolService
from agentforge.advisor import (
    Advised,
    BudgetAdvisor,
    Chain,
    LoggerAdvisor,
    MessageMemoryAdvisor,
    SafeguardAdvisor,
    SystemPromptAdvisor,
    ToolCallingAdvisor,
)
from agentforge.client import ChatClient
from agentforge.memory import ChatMemory, Conversation, Everything, InMemoryStore, MemoryKey
from agentforge.model import AiMessage, ChatEvent, ChatRequest, History, ToolExecutionRequest, UserMessage
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Run, Verdict

__all__ = ("KEY", "Approval", "Desk", "Plan", "plans", "valid")

KEY = MemoryKey("acme", "m1")
_OUTSIDE = ("note", "again", "system", "logger", "safeguard", "budget", "memory")
_INSIDE = ("note", "again", "system", "logger", "budget", "memory")


@dataclass(frozen=True)
class Plan:
    """A chain, and a turn of so many rounds of calls: the kinds of advisors outside the loop and inside of it, each
    ``again`` with how often it asks; the loop's history; whether a failed turn is kept, and the text of rounds that go
    on shown."""

    outside: tuple[tuple[str, int], ...]
    inside: tuple[tuple[str, int], ...]
    rounds: tuple[int, ...]
    history: str = "full"
    on_failure: str = "discard"
    text: str = "show"

    @property
    def remembers(self) -> bool:
        """Whether a memory is in it."""
        return any(kind == "memory" for kind, _ in (*self.outside, *self.inside))

    @property
    def turns_stored(self) -> int:
        """How many turns a memory has stored when one turn is over: one for each pass, outside of the loop."""
        kinds = [kind for kind, _ in self.outside]
        before = self.outside[: kinds.index("memory")] if "memory" in kinds else ()
        return prod(times for kind, times in before if kind == "again") if self.remembers else 0

    @property
    def repeats_stored_turns(self) -> bool:
        """Whether an advisor asks again for a turn that a memory further in has stored by then."""
        return self.turns_stored > 1


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Chains with at most one memory, which stands inside the loop if that sends only what is new."""

    def some(kinds: Sequence[str]) -> tuple[tuple[str, int], ...]:
        made = draw(st.lists(st.tuples(st.sampled_from(kinds), st.integers(1, 3)), max_size=4))
        seen = [at for at, (kind, _) in enumerate(made) if kind == "memory"]
        return tuple(each for at, each in enumerate(made) if at not in seen[1:])

    history = draw(st.sampled_from(["full", "full", "last"]))
    outside, inside = some(_OUTSIDE), some(_INSIDE)
    if history == "last" and not any(kind == "memory" for kind, _ in inside):
        inside = (*inside, ("memory", 1))
    if any(kind == "memory" for kind, _ in inside):
        outside = tuple(each for each in outside if each[0] != "memory")
    rounds = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    kept, text = draw(st.sampled_from(["discard", "keep"])), draw(st.sampled_from(["show", "hide"]))
    return Plan(outside, inside, rounds, history, kept, text)


class SlowStore(InMemoryStore):
    """Its methods take a step before they happen, and one after."""

    async def load(self, key: MemoryKey) -> Conversation | None:
        await asyncio.sleep(0)
        return await super().load(key)

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        await asyncio.sleep(0)
        stored = await super().save(key, conversation, expected_version=expected_version)
        await asyncio.sleep(0)
        return stored


class Model(ScriptedChatModel):
    """Asks for the plan's calls round by round, as far as the request has come, and then answers; counts what is
    open."""

    def __init__(self, plan: Plan) -> None:
        super().__init__([self._answer], repeat=True)
        self._plan = plan
        self.open = 0
        self._ids = 0

    async def _answer(self, request: ChatRequest) -> AiMessage:
        await asyncio.sleep(0)
        behind = 0
        for message in reversed(request.messages):
            if isinstance(message, UserMessage):
                break
            behind += isinstance(message, AiMessage)
        if behind >= len(self._plan.rounds):
            return AiMessage(f"Answer after {behind} rounds.")
        asked = [
            ToolExecutionRequest(f"c{self._ids + n}", "look", f'{{"n": {n}}}') for n in range(self._plan.rounds[behind])
        ]
        self._ids += len(asked)
        return AiMessage(f"Round {behind}.", tool_execution_requests=asked)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        self.open += 1
        try:
            async for event in super().stream(request):
                yield event
                await asyncio.sleep(0)
        finally:
            self.open -= 1


@dataclass
class Noting:
    """Writes down the way in and the way out."""

    name: str
    log: list[str]

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        self.log.append(f"+{self.name}")
        run.attributes[f"noted.{self.name}"] = len(chain.links)
        try:
            return await chain.next(run, request)
        finally:
            self.log.append(f"-{self.name}")


@dataclass
class Asking:
    """Asks the rest ``times`` times."""

    name: str
    log: list[str]
    times: int

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        self.log.append(f"+{self.name}")
        try:
            advised = await chain.next(run, request)
            for _ in range(self.times - 1):
                if advised.suspended is not None:
                    break
                advised = await chain.again(run, request, f"{self.name} asks again")
            return advised
        finally:
            self.log.append(f"-{self.name}")


class Approval:
    """A gate that takes a step, and asks about the calls of round ``asks_in`` until it is ``decided``."""

    asks_in: int | None = None
    decided = False

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        await asyncio.sleep(0)
        asks = run.round == self.asks_in and not self.decided
        return [Ask("may it?") if asks else Proceed() for _ in batch]


@dataclass
class Desk:
    """A client made to a plan, with all that can be looked at afterwards."""

    plan: Plan
    log: list[str] = field(default_factory=list)
    executed: int = 0

    def __post_init__(self) -> None:
        self.memory = ChatMemory(SlowStore(), window=Everything(), on_failure=self.plan.on_failure)  # type: ignore[arg-type]
        self.model = Model(self.plan)
        self.approval = Approval()
        self.service = ToolService(self.look, gates=[self.approval])
        loop = ToolCallingAdvisor(history=self.plan.history, intermediate_text=self.plan.text)  # type: ignore[arg-type]
        chain = [self._made("out", at, each) for at, each in enumerate(self.plan.outside)]
        chain += [loop, *(self._made("in", at, each) for at, each in enumerate(self.plan.inside))]
        self.client = ChatClient(self.model, service=self.service, advisors=chain)

    async def look(self, n: int) -> str:
        "Look at number n."
        await asyncio.sleep(0)
        self.executed += 1
        return f"seen {n}"

    def _made(self, where: str, at: int, each: tuple[str, int]) -> Any:
        kind, times = each
        name = f"{where}{at}"
        makers: dict[str, Any] = {
            "note": lambda: Noting(name, self.log),
            "again": lambda: Asking(name, self.log, times),
            "system": lambda: SystemPromptAdvisor(f"Rule {name}."),
            "logger": lambda: LoggerAdvisor("debug"),
            "safeguard": lambda: SafeguardAdvisor(["bomb"], action="reprompt"),
            "budget": lambda: BudgetAdvisor(calls=10_000, model_calls=10_000, tokens=10**9, warn_at=None),
            "memory": lambda: MessageMemoryAdvisor(self.memory, transcript="full"),
        }
        return makers[kind]()

    def run(self) -> Run:
        return Run(memory_id="m1", tenant="acme")

    async def stored(self) -> History:
        found = await self.memory.get(KEY)
        return found.messages if found is not None else History()

    def left_open(self) -> list[str]:
        """What a turn that is over must not leave."""
        left = [f"task {task.get_name()}" for task in asyncio.all_tasks() - {asyncio.current_task()}]
        left += ["a memory turn"] * self.memory.open_turns + ["a stream"] * self.model.open
        return left + ["a run"] * len(self.service.runs)


def valid(messages: Sequence[Any]) -> bool:
    return tuple(History.of(tuple(messages))) == tuple(messages)
