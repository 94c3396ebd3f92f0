"""A circuit breaker: an endpoint that fails for all is left alone for a while, and then tried with one request.

An answer that takes no part of an outage costs an addition here: the state is one attribute, and there is no lock on
the way of a request that goes well.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentforge.errors import (
    CircuitOpenError,
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    StreamTruncatedError,
)

__all__ = ("Circuit", "CircuitBreaker", "CircuitState", "Verdict", "of_the_answer", "of_the_way")

#: What a failure says of an endpoint: that it fails, that it is there, or nothing.
Verdict = Literal["failed", "answered", "nothing"]

_FAILURES = (ModelConnectionError, ModelTimeoutError, OverloadedError, StreamTruncatedError)
_PROBE_SECONDS = 120.0  # a probe that is not heard of for longer was lost, perhaps with its event loop
_SHOWN = 200  # characters of the last failure


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """When an endpoint is left alone, and for how long. Times in seconds.

    The circuit opens when ``failures`` requests have failed within ``window`` and they are at least ``failure_ratio``
    of all. It stays open for ``open_for``, then ``probes`` requests at a time may try: when as many have succeeded it
    closes; when one fails it is open again, twice as long as before, and no longer than ``open_cap`` where that is
    more than ``open_for``. Raises `ConfigurationError` for values that cannot be.
    """

    failures: int = 20
    failure_ratio: float = 0.5
    window: float = 30.0
    open_for: float = 5.0
    open_cap: float = 60.0
    probes: int = 1

    def __post_init__(self) -> None:
        for name, good, step in (
            ("failures", self.failures >= 1, "Give 1 or more."),
            ("failure_ratio", 0 < self.failure_ratio <= 1, "Give a part of all requests, such as 0.5."),
            ("window", self.window > 0, "Give seconds above 0."),
            ("open_for", self.open_for > 0, "Give seconds above 0."),
            ("open_cap", self.open_cap > 0, "Give seconds above 0."),
            ("probes", self.probes >= 1, "Give 1 or more."),
        ):
            if not good:
                raise ConfigurationError(
                    f"'{name}' of the circuit breaker cannot be {getattr(self, name)!r}", next_step=step
                )


class CircuitState(NamedTuple):
    """How a circuit is now: ``since`` are the seconds since it opened, ``None`` while it is closed."""

    endpoint: str
    model: str | None
    state: Literal["closed", "open", "half_open"]
    since: float | None


def of_the_way(error: ModelError) -> Verdict:
    """What a failure says of the way to an endpoint: only whether a connection could be made."""
    if error.local:
        return "nothing"
    return "answered" if error.sent else "failed"


def of_the_answer(error: ModelError) -> Verdict:
    """What a failure says of the model there: it fails with 5xx, breaks off or is late; a refusal, 429 too, is an
    answer, and a connection that could not be made says nothing of it."""
    if error.local or not error.sent:
        return "nothing"
    return "failed" if isinstance(error, _FAILURES) else "answered"


class Circuit:
    """The circuit of one endpoint, or of one model there. May be used from several threads and loops.

    ``judge`` says what a failure means for it. ``clock`` gives monotonic seconds.
    """

    __slots__ = (
        "_before",
        "_breaker",
        "_clock",
        "_failed",
        "_good",
        "_half",
        "_last",
        "_lock",
        "_next",
        "_opened",
        "_probes",
        "_round",
        "_seconds",
        "_since",
        "_succeeded",
        "closed",
        "endpoint",
        "judge",
        "model",
    )

    def __init__(
        self,
        breaker: CircuitBreaker,
        endpoint: str,
        model: str | None,
        judge: Callable[[ModelError], Verdict],
        clock: Callable[[], float],
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self.judge = judge
        #: Whether requests go as if it were not there.
        self.closed = True
        self._breaker = breaker
        self._clock = clock
        self._lock = threading.Lock()
        # The window is two halves that take turns: what went well and what failed in this one, and in the one before.
        self._half = clock()
        self._good = self._failed = 0
        self._before = (0, 0)
        # While it is not closed.
        self._since = self._next = self._seconds = 0.0
        self._opened: tuple[type[ModelError], str] = (ModelError, "")
        self._probes: list[float] | None = None  # when those under way began; `None` while it is open
        self._round = 0
        self._succeeded = 0

    @property
    def name(self) -> str:
        """The endpoint, and the model where it is of one."""
        return f"{self.endpoint} (model {self.model})" if self.model else self.endpoint

    def state(self) -> CircuitState:
        """How it is now."""
        with self._lock:
            if self.closed:
                return CircuitState(self.endpoint, self.model, "closed", None)
            word: Literal["open", "half_open"] = "open" if self._probes is None else "half_open"
            return CircuitState(self.endpoint, self.model, word, self._clock() - self._since)

    # -- the way in ------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise `CircuitOpenError` if a request would be refused now."""
        if self.closed:
            return
        with self._lock:
            if not self._free(self._clock()):
                raise self._refusal()

    def enter(self) -> int | None:
        """Let a request pass: ``None`` through a closed circuit, else the number that makes it a probe. Raises
        `CircuitOpenError`."""
        if self.closed:
            return None
        with self._lock:
            if self.closed:
                return None
            now = self._clock()
            if not self._free(now):
                raise self._refusal()
            if self._probes is None:
                self._probes = []
                self._round += 1
                self._succeeded = 0
                _logger().info("circuit of %s is half open: a request may try", self.name)
            self._probes.append(now)
            return self._round

    # -- the way out -----------------------------------------------------------------------------

    def succeeded(self, probe: int | None) -> float | None:
        """A request went well. The seconds that the circuit had been open, where that closed it."""
        if probe is None:
            if self._clock() - self._half >= self._breaker.window / 2:
                self._turn()
            self._good += 1  # a number that two threads make one of does no harm
            return None
        with self._lock:
            if not self._is_current(probe):
                return None
            self._succeeded += 1
            if self._succeeded < self._breaker.probes:
                self._free_one()
                return None
            open_for = self._clock() - self._since
            self._probes = None
            self._seconds = 0.0
            self._good = self._failed = 0
            self._before = (0, 0)
            self.closed = True
        _logger().info("circuit of %s closed after %.1f s: a request got an answer", self.name, open_for)
        return open_for

    def failed(self, error: ModelError, probe: int | None, *, instead: bool = False) -> None:
        """A request failed; what that means is the judge's to say. ``instead``: it was told to have gone well."""
        verdict = self.judge(error)
        if instead and self._good:
            self._good -= 1
        if verdict == "answered":
            self.succeeded(probe)
        elif verdict == "nothing":
            self.left(probe)
        elif probe is not None:
            with self._lock:
                if self._is_current(probe):
                    self._open(error)
        elif self.closed:
            self._count(error)

    def left(self, probe: int | None) -> None:
        """A request ended without a word on the endpoint, as it was cancelled: another one may try."""
        if probe is None:
            return
        with self._lock:
            if self._is_current(probe):
                self._free_one()

    # -- with the lock ---------------------------------------------------------------------------

    def _count(self, error: ModelError) -> None:
        if self._clock() - self._half >= self._breaker.window / 2:
            self._turn()
        with self._lock:
            if not self.closed:
                return
            self._failed += 1
            failed = self._failed + self._before[1]
            total = failed + self._good + self._before[0]
            if failed >= self._breaker.failures and failed >= self._breaker.failure_ratio * total:
                self._since = self._clock()
                self._open(error, f"{failed} of {total} requests failed")
                self.closed = False

    def _turn(self) -> None:
        """The next half of the window begins."""
        with self._lock:
            now = self._clock()
            passed = now - self._half
            half = self._breaker.window / 2
            if passed < half:
                return
            self._before = (self._good, self._failed) if passed < 2 * half else (0, 0)
            self._good = self._failed = 0
            self._half = now

    def _open(self, error: ModelError, counted: str | None = None) -> None:
        breaker = self._breaker
        self._seconds = max(min(2 * self._seconds, breaker.open_cap), breaker.open_for)
        self._next = self._clock() + self._seconds
        self._probes = None
        # What others are told of the failure holds none of its words: these may be of somebody else's request.
        status = f" with status {error.status}" if error.status else ""
        why = counted or self._opened[1].partition(", the last")[0]
        self._opened = type(error), f"{why}, the last{status} ({error.code})"
        _logger().warning(
            "circuit of %s is %s for %g s, as %s: %s",
            self.name,
            "open" if counted else "open again",
            self._seconds,
            self._opened[1],
            error.message[:_SHOWN],
        )

    def _free(self, now: float) -> bool:
        """Whether a request may try now; of the probes under way, those that were lost are forgotten."""
        if self._probes is None:
            return now >= self._next
        self._probes = [began for began in self._probes if now - began < _PROBE_SECONDS]
        return len(self._probes) + self._succeeded < self._breaker.probes

    def _free_one(self) -> None:
        if self._probes:
            self._probes.pop(0)

    def _is_current(self, probe: int) -> bool:
        """Whether a probe is of this half-open time, and not of an earlier one."""
        return not self.closed and self._probes is not None and probe == self._round

    def _refusal(self) -> CircuitOpenError:
        now = self._clock()
        opened_by, words = self._opened
        if self._probes is None:
            state, wait = "open", max(self._next - now, 0.0)
            step = f"Ask again in {_seconds(wait)}, when one request may try"
        else:
            state, wait = "half_open", 1.0
            step = "Ask again when the request that tries just now has its answer"
        since = now - self._since
        return CircuitOpenError(
            f"nothing is sent to {self.name}: its circuit opened {_seconds(since)} ago, as {words}",
            opened_by=opened_by,
            retry_after=wait,
            next_step=f"{step}; a fallback model would answer in the meantime.",
            details={"endpoint": self.endpoint, "model": self.model, "state": state, "since_seconds": round(since, 3)},
        )


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def _logger() -> logging.Logger:
    return logging.getLogger("agentforge.http")
