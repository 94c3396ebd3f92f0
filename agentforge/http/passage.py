"""What stands between a request and its endpoint: circuits, the retry budget, the model's own rate limit.

`HttpClient` asks it before each sending and tells it how that ended; what the caller should know of it comes with the
answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agentforge.errors import ModelError

if TYPE_CHECKING:
    from agentforge.http.circuit import Circuit
    from agentforge.http.rate_limit import RateLimiter, Reservation
    from agentforge.http.retry_budget import RetryTally

__all__ = ("Gate", "Passage", "PassageNotice")

_NOTICEABLE = 1.0  # seconds of waiting that are told


class PassageNotice(NamedTuple):
    """Something that whoever gets the answer should know: ``code`` is stable, ``details`` are JSON values."""

    code: str
    message: str
    details: Mapping[str, object]


class Gate:
    """The gate of one model to its endpoint. ``circuits`` gives those for a name of a model."""

    __slots__ = ("circuits", "limiter", "retries")

    def __init__(
        self,
        circuits: Callable[[str], Sequence[Circuit]],
        retries: RetryTally | None = None,
        limiter: RateLimiter | None = None,
    ) -> None:
        self.circuits = circuits
        self.retries = retries
        self.limiter = limiter

    def passage(self, subject: str, size: int) -> Passage:
        """The way of one request of ``size`` bytes that asks for the model ``subject``."""
        if self.retries is not None:
            self.retries.called()
        return Passage(self, self.circuits(subject), size)


class Passage:
    """One request's way, over all its sendings: `enter` before each, then `succeeded`, `failed` or `left`."""

    __slots__ = (
        "_circuits",
        "_gate",
        "_over",
        "_place",
        "_probes",
        "_size",
        "_told",
        "_well",
        "notices",
        "under_way",
        "waited",
    )

    def __init__(self, gate: Gate, circuits: Sequence[Circuit], size: int) -> None:
        self._gate = gate
        self._circuits = circuits
        self._size = size
        # The numbers of the circuits for which this sending is a probe.
        self._probes: list[int | None] | None = None
        self._place: Reservation | None = None
        # Whether the failure of this sending was told: it passes several places on its way.
        self._told = False
        # Whether it was told to have gone well; its body may say otherwise.
        self._well = False
        # Whether the reply is known to be whole and good: what happens to the connection after that is no failure.
        self._over = False
        #: Whether a sending has begun whose end was not told yet.
        self.under_way = False
        #: Seconds that it waited for the model's own rate limit.
        self.waited = 0.0
        #: What to tell with the answer.
        self.notices: list[PassageNotice] = []

    async def enter(self, until: float | None = None) -> None:
        """Pass, after the wait that the rate limit asks for; ``until`` is when the request's time is over, by the clock
        of the loop. Raises `CircuitOpenError` or `LocalRateLimitError`: then nothing is to be sent."""
        limiter = self._gate.limiter
        if limiter is not None:
            await self._wait(limiter, None if until is None else until - asyncio.get_running_loop().time())
        self._told = self._well = False
        self._enter_one_by_one()
        self.under_way = True

    def enter_at_once(self) -> bool:
        """Pass where nothing has to be waited for or asked; False: `enter` is to be awaited."""
        if self._gate.limiter is not None:
            return False
        for circuit in self._circuits:
            if not circuit.closed:
                return False
        self._told = self._well = False
        self.under_way = True
        return True

    def refusal(self) -> ModelError | None:
        """The error that `enter` would raise now for a circuit that is open; ``None``: it would pass."""
        try:
            for circuit in self._circuits:
                circuit.check()
        except ModelError as error:
            return error
        return None

    def may_retry(self) -> bool:
        """Take a retry from the budget of the endpoint, if there is one left."""
        return self._gate.retries is None or self._gate.retries.take()

    @property
    def budget(self) -> str:
        """The retry budget in words."""
        return str(self._gate.retries.budget) if self._gate.retries is not None else "no limit"

    def begun(self) -> None:
        """The first part of a streamed answer is there: for a probe that is success, and nobody waits for its end."""
        if self._probes is not None:
            self._succeed_as_a_probe(self._probes)

    def succeeded(self) -> None:
        """The answer is whole."""
        if self.under_way:
            self.under_way = False
            self._well = True
            if self._probes is not None:
                self._succeed_as_a_probe(self._probes)
                return
            for circuit in self._circuits:
                circuit.succeeded(None)

    def ended(self) -> None:
        """The reply in the answer is whole and good, whatever becomes of the rest of the exchange."""
        self.succeeded()
        self._over = True

    def failed(self, error: ModelError, *, reached: bool = True) -> None:
        """The sending failed, or its answer turned out to be a failure. ``reached``: it is told by the error whether a
        connection could be made; else nobody knows."""
        if self._told or self._over:
            return
        self._told = True
        probes, self._probes = self._probes, None
        instead, self._well = self._well, False
        self.under_way = False
        for at, circuit in enumerate(self._circuits):
            probe = probes[at] if probes is not None else None
            if reached or circuit.model is not None:
                circuit.failed(error, probe, instead=instead)
            else:
                circuit.left(probe)
        refused = not error.sent or (error.status is not None and error.status >= 400)
        if refused and self._place is not None and self._gate.limiter is not None:
            self._gate.limiter.failed(self._place)

    def left(self) -> None:
        """Nobody waits for the answer any longer; once it is whole, this says nothing."""
        if self.under_way:
            self.under_way = False
            probes, self._probes = self._probes, None
            if probes is not None:
                for circuit, probe in zip(self._circuits, probes, strict=True):
                    circuit.left(probe)

    def settle(self, input_tokens: int, output_tokens: int) -> None:
        """What the reply cost, for the rate limit."""
        if self._place is not None and self._gate.limiter is not None:
            self._gate.limiter.settle(self._place, input_tokens, output_tokens)

    # -- parts -----------------------------------------------------------------------------------

    async def _wait(self, limiter: RateLimiter, patience: float | None) -> None:
        if (refused := self.refusal()) is not None:
            raise refused  # nobody waits for that
        began = limiter.clock()
        place = limiter.reserve(self._size, patience)
        if place.due > began:
            try:
                await place.wait(limiter.clock)
                if (refused := self.refusal()) is not None:
                    raise refused
            except BaseException:
                limiter.give_back(place)
                raise
            self.waited += limiter.clock() - began
            if self.waited >= _NOTICEABLE:
                self._tell_of_the_wait()
        self._place = place

    def _tell_of_the_wait(self) -> None:
        told = PassageNotice(
            "rate_limited",
            f"waited {self.waited:.1f} s for the model's own rate limit",
            {"seconds": round(self.waited, 3)},
        )
        self.notices[:] = [*(each for each in self.notices if each.code != told.code), told]

    def _enter_one_by_one(self) -> None:
        probes: list[int | None] = []
        try:
            for circuit in self._circuits:
                probes.append(circuit.enter())
        except BaseException:
            for circuit, probe in zip(self._circuits, probes, strict=False):
                circuit.left(probe)
            if self._place is not None and self._gate.limiter is not None:
                self._gate.limiter.give_back(self._place)
            raise
        self._probes = probes if any(probe is not None for probe in probes) else None

    def _succeed_as_a_probe(self, probes: Sequence[int | None]) -> None:
        self._probes = None
        for circuit, probe in zip(self._circuits, probes, strict=True):
            open_for = circuit.succeeded(probe)
            if probe is not None:
                self._tell_of_the_circuit(circuit, open_for)

    def _tell_of_the_circuit(self, circuit: Circuit, open_for: float | None) -> None:
        details: dict[str, object] = {"endpoint": circuit.endpoint, "model": circuit.model}
        if open_for is None:
            told = PassageNotice(
                "circuit_half_open", f"this request tried whether {circuit.name} answers again; it did", details
            )
        else:
            told = PassageNotice(
                "circuit_closed",
                f"{circuit.name} answers again: its circuit closed after {open_for:.1f} s",
                {**details, "open_seconds": round(open_for, 3)},
            )
        self.notices.append(told)
