"""What advisors cost: turns of a client over a model that answers at once, without a network, and long streams.

Each contender is a chain. What they are compared with is the client as it is made, whose chain is the tool advisor
alone. The model calls no tools, so each advisor is passed once.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from agentforge.advisor import (
    Advised,
    Advisor,
    BudgetAdvisor,
    Chain,
    LoggerAdvisor,
    MessageMemoryAdvisor,
    SafeguardAdvisor,
    SystemPromptAdvisor,
)
from agentforge.client import ChatClient
from agentforge.memory import ChatMemory, InMemoryStore, MessageWindow
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ModelProfile,
    ResponseDone,
    TextDelta,
    TokenUsage,
)
from agentforge.model.fallback import FallbackChatModel
from agentforge.tool.execution import Run, RunFinished
from benchmarks.measure import Row, Scenario, compare
from benchmarks.script import Script
from benchmarks.tools import Tally

__all__ = ("CHAINS", "DELTAS", "Held", "Instant", "PassThrough", "Talk", "hold_many", "measure_advisors")

DELTAS = 2_000
_PIECE = "word "
_SCRIPT = Script(0, 0)


class PassThrough:
    """Does nothing: what is left is the price of a place in the chain."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Ask on."""
        return await chain.next(run, request)


class Instant:
    """A model that answers at once, and streams its answer in pieces."""

    profile = ModelProfile(name="instant")

    def __init__(self, pieces: int = 1) -> None:
        self._deltas = tuple(TextDelta(_PIECE) for _ in range(pieces))
        self._response = ChatResponse(AiMessage(_PIECE * pieces), FinishReason.STOP, TokenUsage(10, 5))

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The answer."""
        return self._response

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The answer in pieces."""
        for delta in self._deltas:
            yield delta
        yield ResponseDone(self._response)

    async def aclose(self) -> None:
        """Nothing is open."""


def _silent() -> logging.Logger:
    """A log that is written, to nowhere."""
    log = logging.Logger("benchmark", logging.INFO)
    log.addHandler(logging.NullHandler())
    return log


def _remembering() -> MessageMemoryAdvisor:
    """A conversation of twenty messages."""
    return MessageMemoryAdvisor(ChatMemory(InMemoryStore(), window=MessageWindow(20)))


#: The chain of each contender, without the tool advisor, which is innermost.
CHAINS: Mapping[str, Callable[[], list[Advisor]]] = {
    "0 advisors": list,
    **{f"{n} pass-through": lambda n=n: [PassThrough() for _ in range(n)] for n in (1, 3, 6)},
    "system_prompt": lambda: [SystemPromptAdvisor("Be short.")],
    "logger": lambda: [LoggerAdvisor(logger=_silent())],
    "safeguard": lambda: [SafeguardAdvisor(["password", "secret"], [r"\d{16}"])],
    "budget": lambda: [BudgetAdvisor(tokens=1_000_000, calls=50)],
    "message_memory": lambda: [_remembering()],
    "all five": lambda: [
        LoggerAdvisor(logger=_silent()),
        SafeguardAdvisor(["password", "secret"], [r"\d{16}"]),
        _remembering(),
        BudgetAdvisor(tokens=1_000_000, calls=50),
        SystemPromptAdvisor("Be short."),
    ],
}
FALLBACK = "fallback (a model)"
NO_LOOP = "no tool advisor"


class Talk:
    """Turns of one client."""

    def __init__(self, client: ChatClient, expected: str, *, streamed: bool) -> None:
        self.tally = Tally()
        self._client = client
        self._expected = expected
        self._streamed = streamed

    async def ask(self, prompt: str) -> str:
        """One turn; what was to be said where the answer is right."""
        prepared = self._client.prompt(prompt).memory_id("one")
        if not self._streamed:
            text = (await prepared.call()).content
        else:
            text = None
            async with prepared.stream() as events:
                async for event in events:
                    if type(event) is RunFinished:
                        text = event.result.content
        return _SCRIPT.farewell if text == self._expected else str(text)

    async def aclose(self) -> None:
        """Close the tools."""
        self._client.close()


def contenders(*, streamed: bool) -> dict[str, Talk]:
    """Each chain with a client of its own."""
    pieces = DELTAS if streamed else 1
    clients = {name: ChatClient(Instant(pieces), advisors=make()) for name, make in CHAINS.items()}
    clients[FALLBACK] = ChatClient(FallbackChatModel([Instant(pieces), Instant(pieces)]))
    clients[NO_LOOP] = ChatClient(Instant(pieces), tool_calling=False)
    return {name: Talk(client, _PIECE * pieces, streamed=streamed) for name, client in clients.items()}


async def measure_advisors(
    *, repetitions: int, spend: float, report: Callable[[str], None] = lambda text: None
) -> tuple[Row, Row]:
    """A plain turn, and a streamed one of 2,000 deltas."""
    rows = []
    for title, streamed in (("a turn", False), ("2,000 streamed deltas", True)):
        made = contenders(streamed=streamed)
        scenario = Scenario(title, _SCRIPT, streamed=streamed)
        try:
            rows.append(
                await compare(
                    title, made, repetitions=repetitions, spend=spend, scenario=scenario, most=20_000, report=report
                )
            )
        finally:
            for each in made.values():
                await each.aclose()
    return rows[0], rows[1]


@dataclass(slots=True)
class Held:
    """What is left after each thousand turns at once: objects that the collector knows, and KiB."""

    objects: list[int] = field(default_factory=list)
    kibibytes: list[int] = field(default_factory=list)


async def hold_many(turns: int = 1_000, batches: int = 4) -> Held:
    """Hold so many turns at once, of fifty tenants over fifty memory ids with a bounded window, some times over."""
    held = Held()
    numbers = count()
    with ChatClient(Instant(), advisors=[_remembering()]) as client:

        async def one() -> None:
            number = next(numbers) % turns
            tenant, memory_id = f"tenant-{number % 50}", f"id-{(number // 50 * 5 + number) % 50}"
            await client.prompt("Hello?").tenant(tenant).memory_id(memory_id).tool_context(tenant=tenant).call()

        tracemalloc.start()  # before all that is replaced later, which would be missing from the sum
        try:
            # Before anything is counted, each conversation is as long as its window lets it be.
            for _ in range(12):
                await asyncio.gather(*(one() for _ in range(turns)))
            for _ in range(batches):
                await asyncio.gather(*(one() for _ in range(turns)))
                gc.collect()
                held.objects.append(len(gc.get_objects()))
                held.kibibytes.append(tracemalloc.get_traced_memory()[0] // 1024)
        finally:
            tracemalloc.stop()
    return held
