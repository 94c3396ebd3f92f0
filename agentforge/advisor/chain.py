"""The chain of advisors around a model: immutable, so that what an advisor holds is always the same rest of it."""

from __future__ import annotations

import enum
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

from agentforge.advisor.advisor import Advised, Advisor
from agentforge.advisor.faults import AdvisorError
from agentforge.model import ChatRequest, ModelProfile
from agentforge.tool.execution import AttemptDiscarded, Emit, Run

__all__ = ("KEEP", "AdvisorObserver", "Chain", "ChainEnd", "Keep", "Link")


class Keep(enum.Enum):
    """The sink of events stays the one that the chain has."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP
ChainEnd: TypeAlias = Callable[[Run, ChatRequest, Emit | None], Awaitable[Advised]]
"""What stands behind the last advisor: it asks the model, streaming where there is a sink."""


@runtime_checkable
class AdvisorObserver(Protocol):
    """Is told of every pass through an advisor. What it raises would end the run: it keeps its faults to itself."""

    def advisor_called(
        self, name: str, place: int, run: Run, advised: Advised | None, error: BaseException | None, seconds: float
    ) -> None:
        """The advisor at ``place`` (0 is the outermost) answered, or failed; ``seconds`` include all inside it."""
        ...


@dataclass(frozen=True, slots=True)
class Link:
    """An advisor in its place: the name it goes by, and why it stands there."""

    advisor: Advisor
    name: str
    reason: str = "listed"


class Chain:
    """The rest of a chain, as an advisor sees it.

    ``emit`` is ``None`` for a plain call, else the sink of events: an advisor that has something to tell awaits it, and
    one that must hold events back gives `next` a sink of its own.
    """

    __slots__ = ("_end", "_links", "_observer", "_place", "emit")

    def __init__(
        self,
        links: Sequence[Link],
        end: ChainEnd,
        *,
        emit: Emit | None = None,
        observer: AdvisorObserver | None = None,
        place: int = 0,
    ) -> None:
        self._links = links if type(links) is tuple else tuple(links)
        self._end = end
        self._observer = observer
        self._place = place
        #: The sink of events; ``None`` when nobody listens.
        self.emit = emit

    @property
    def links(self) -> tuple[Link, ...]:
        """The advisors that are still to come, outermost first."""
        return tuple(self._links[self._place :])

    @property
    def profile(self) -> ModelProfile | None:
        """What the model at the end can do; ``None`` where the end does not say."""
        found = getattr(self._end, "profile", None)
        return found if isinstance(found, ModelProfile) else None

    def ending(self, wrapped: Callable[[ChainEnd], ChainEnd]) -> Chain:
        """The same rest of the chain with another end: ``wrapped`` is given this one's. So an advisor has a say in
        every request that reaches the model, also in those of a tool loop that stands inside of it."""
        return Chain(self._links, wrapped(self._end), emit=self.emit, observer=self._observer, place=self._place)

    async def next(self, run: Run, request: ChatRequest, *, emit: Emit | Literal[Keep.KEEP] | None = KEEP) -> Advised:
        """Ask the rest of the chain, the model at its end. May be called more than once: see `again`."""
        sink = self.emit if emit is KEEP else emit
        place = self._place
        if place == len(self._links):
            return await self._end(run, request, sink)
        link = self._links[place]
        rest = Chain(self._links, self._end, emit=sink, observer=self._observer, place=place + 1)
        if self._observer is None:
            advised = await link.advisor.advise(run, request, rest)
        else:
            advised = await self._watched(link, run, request, rest)
        if not isinstance(advised, Advised):
            raise AdvisorError(
                f"the advisor {link.name!r} gave {type(advised).__name__}, not what the chain gave it",
                next_step="Return what 'await chain.next(run, request)' gives, or an Advised of your own.",
            )
        if advised.response is None and advised.suspended is None:
            raise AdvisorError(
                f"the advisor {link.name!r} gave neither a response nor a suspended turn",
                next_step="Give it a ChatResponse: Advised(response, new_messages).",
            )
        return advised

    async def again(
        self, run: Run, request: ChatRequest, reason: str, *, emit: Emit | Literal[Keep.KEEP] | None = KEEP
    ) -> Advised:
        """`next` for another attempt: who listens is told first that what was shown does not count."""
        sink = self.emit if emit is KEEP else emit
        if sink is not None:
            await sink(AttemptDiscarded(reason))
        return await self.next(run, request, emit=sink)

    async def _watched(self, link: Link, run: Run, request: ChatRequest, rest: Chain) -> Advised:
        assert self._observer is not None
        started = time.perf_counter()
        advised: Advised | None = None
        failed: BaseException | None = None
        try:
            advised = await link.advisor.advise(run, request, rest)
            return advised
        except BaseException as error:
            failed = error
            raise
        finally:
            self._observer.advisor_called(link.name, self._place, run, advised, failed, time.perf_counter() - started)
            del failed  # else the error and this frame hold each other

    def __repr__(self) -> str:
        return f"Chain({' -> '.join([*(link.name for link in self.links), 'model'])})"
