"""A model's own limits of requests and tokens a minute: who is over them waits, in the order of coming.

Each request gets its time when it comes: the first at which the minute before it has room, and never before the one
that came earlier. So nobody is overtaken, a wait is known before it begins, and threads and event loops need to agree
on nothing but a list.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from agentforge.errors import ConfigurationError, LocalRateLimitError

__all__ = ("RateLimit", "RateLimiter", "Reservation", "limiter_of")

_MINUTE = 60.0
_APART = 1e-6  # seconds between two that are due together, as a loop keeps no order among those of one time
_LATE = 1e-5  # seconds that are not worth another timer
_TINY = 1e-6  # of a token, as sums of guesses are not exact
_BYTES_A_TOKEN = 4.0  # until a first reply tells
_OUTPUT_TOKENS = 500.0
_WEIGHT = 0.3  # of the newest reply in what is expected of the next


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most so many requests, and so many tokens in and out, within any minute; ``None``: no limit. A request that
    would wait longer than ``max_wait`` seconds fails at once. Raises `ConfigurationError` for values that cannot be."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_wait: float | None = None

    def __post_init__(self) -> None:
        for name, kinds in (("requests_per_minute", (int,)), ("tokens_per_minute", (int, float))):
            value = getattr(self, name)
            if value is not None and (type(value) not in kinds or not value >= 1):
                raise ConfigurationError(
                    f"'{name}' of the rate limit cannot be {value!r}", next_step="Give 1 or more, or leave it unset."
                )
        if self.max_wait is not None and not self.max_wait >= 0:
            raise ConfigurationError(
                f"'max_wait' of the rate limit cannot be {self.max_wait!r}", next_step="Give seconds from 0."
            )
        if self.requests_per_minute is None and self.tokens_per_minute is None:
            raise ConfigurationError(
                "a rate limit without a limit", next_step="Give requests_per_minute, tokens_per_minute or both."
            )


class Reservation:
    """A request's place in the minute: when it may go, and the tokens that it is thought to cost."""

    __slots__ = ("_armed", "_gone", "_limiter", "_wake", "due", "size", "tokens")

    def __init__(self, limiter: RateLimiter, size: int, tokens: float) -> None:
        self._limiter = limiter
        self.size = size
        self.tokens = tokens
        #: When it may go, by the limiter's clock; may be moved while others are before it.
        self.due = 0.0
        self._gone = False
        # For when its timer is set, and how to tell it of an earlier time.
        self._armed = 0.0
        self._wake: Callable[[], None] | None = None

    async def wait(self, clock: Callable[[], float]) -> None:
        """Until it is due, which may be moved meanwhile."""
        loop = asyncio.get_running_loop()
        while True:
            woken = loop.create_future()

            def wake(woken: asyncio.Future[None] = woken) -> None:
                with suppress(RuntimeError):  # that loop has ended
                    loop.call_soon_threadsafe(_done, woken)

            seconds = self._limiter.armed(self, wake)
            if seconds <= 0:
                return
            timer = loop.call_later(seconds, _done, woken)
            try:
                await woken
            finally:
                timer.cancel()
                self._wake = None


class _Minute:
    """Places in the order of their times, of one minute or a little more, and the sum of their tokens."""

    __slots__ = ("_most", "_requests", "places", "tokens")

    def __init__(self, limit: RateLimit, places: Iterable[Reservation] = (), tokens: float = 0.0) -> None:
        self._requests = limit.requests_per_minute
        self._most = limit.tokens_per_minute
        self.places = deque(places)
        self.tokens = tokens

    def first(self, tokens: float, due: float) -> float:
        """The first time from ``due`` at which the minute before has room for one of so many tokens."""
        count, total = len(self.places), self.tokens
        requests, most = self._requests, self._most
        if most is not None:
            tokens = min(tokens, most)
        for place in self.places:
            if place.due + _MINUTE > due:
                if (requests is None or count < requests) and (most is None or total + tokens <= most + _TINY):
                    break
                due = place.due + _MINUTE
            count -= 1
            total -= place.tokens
        return due

    def forget(self, now: float) -> None:
        """Let go of those that are a minute old."""
        places = self.places
        while places and places[0].due + _MINUTE <= now:
            self.tokens -= places.popleft().tokens
        if not places:
            self.tokens = 0.0

    def add(self, place: Reservation) -> None:
        """The next one."""
        self.forget(place.due)
        self.places.append(place)
        self.tokens += place.tokens


class RateLimiter:
    """Keeps to a `RateLimit`; one a model, or one that several share. May be used from several threads and loops.

    What a request will cost is guessed from its size and from what the replies before it reported, and set right when
    its own reply reports. ``clock`` gives monotonic seconds.

    Only the time of the first who waits is always exact: what changes moves that one alone, and who goes sees to the
    next. The times of the others are planned anew when one is asked for. Nobody hangs on another's event loop: each
    has a timer of its own.
    """

    def __init__(self, limit: RateLimit, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.clock = clock
        self._lock = threading.Lock()
        self._gone = _Minute(limit)
        self._waiting: deque[Reservation] = deque()
        # Before this the first who waits does not go: when the last one went, or something changed.
        self._from = 0.0
        # The minute before the last who waits is due, while the plan holds.
        self._plan: _Minute | None = None
        self._tokens_a_byte = 1 / _BYTES_A_TOKEN
        self._output = _OUTPUT_TOKENS

    def reserve(self, size: int, patience: float | None = None) -> Reservation:
        """A place for a request of ``size`` bytes, to be waited for. ``patience``: the longest wait that there is time
        for. Raises `LocalRateLimitError` where the wait would be longer, or longer than ``max_wait``."""
        with self._lock:
            now = self.clock()
            self._go_on(now)
            place = Reservation(self, size, self._guess(size))
            if self._waiting:
                before = self._planned()
                due = before.first(place.tokens, self._waiting[-1].due + _APART)
            else:
                before = self._gone
                due = before.first(place.tokens, now)
                self._from, self._plan = now, None
            self._check(due - now, patience)
            place.due = due
            if due <= now:
                self._goes(place)
                return place
            if before is not self._gone:
                before.add(place)
            self._waiting.append(place)
            return place

    def armed(self, place: Reservation, wake: Callable[[], None]) -> float:
        """The seconds until this one may go, for which its timer is set now; ``wake`` is called if that moves."""
        with self._lock:
            now = self.clock()
            self._go_on(now)
            if place._gone:
                return 0.0
            if place.due <= now:
                self._planned()  # since it was planned, those before it turned out to cost more
            place._armed = place.due
            place._wake = wake
            return max(place.due - now, _APART)

    def give_back(self, place: Reservation) -> None:
        """The request was never sent: as if it had never come."""
        with self._lock, suppress(ValueError):
            if place._gone:
                self._gone.places.remove(place)
                self._gone.tokens -= place.tokens
                place._gone = False
            else:
                self._waiting.remove(place)
            self._change()

    def failed(self, place: Reservation) -> None:
        """The request was refused or broke off: it counts as a request without tokens."""
        self._cost(place, 0.0)

    def settle(self, place: Reservation, input_tokens: int, output_tokens: int) -> None:
        """What the reply reported; for one that reports nothing the guess stands."""
        if place.size:
            share = input_tokens / place.size
            self._tokens_a_byte += _WEIGHT * (share - self._tokens_a_byte)
        self._output += _WEIGHT * (output_tokens - self._output)
        self._cost(place, float(input_tokens + output_tokens))

    # -- with the lock ---------------------------------------------------------------------------

    def _cost(self, place: Reservation, tokens: float) -> None:
        if self.limit.tokens_per_minute is None:
            return
        with self._lock:
            gone = self._gone
            if place._gone and gone.places and gone.places[0].due <= place.due:
                gone.tokens += tokens - place.tokens
            place.tokens = tokens
            self._change()

    def _guess(self, size: int) -> float:
        most = self.limit.tokens_per_minute
        if most is None:
            return 0.0
        return min(self._tokens_a_byte * size + self._output, float(most))

    def _check(self, wait: float, patience: float | None) -> None:
        for bound, words, step in (
            (self.limit.max_wait, "its max_wait is", "Ask again later, ask less often, or raise rate_limit.max_wait."),
            (patience, "its time is over in", "Ask again later, ask less often, or raise timeouts.total."),
        ):
            if bound is not None and wait > bound:
                raise LocalRateLimitError(
                    f"the model's own rate limit ({self._words()}) would have this request wait {wait:.1f} s, and "
                    f"{words} {bound:.1f} s",
                    retry_after=wait,
                    next_step=step,
                )

    def _goes(self, place: Reservation) -> None:
        self._gone.add(place)
        place._gone = True

    def _change(self) -> None:
        """Those who wait may go earlier, or have to go later: the first one is told, the others are planned anew."""
        now = self.clock()
        self._plan = None
        if self._waiting:
            self._from = now
            self._waiting[0].due = self._gone.first(self._waiting[0].tokens, now)
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """Who is due now has gone, also where its event loop has ended; the first who is not has its exact time."""
        self._gone.forget(min(now, self._from) if self._waiting else now)
        while self._waiting:
            first = self._waiting[0]
            if first.due <= now:
                self._waiting.popleft()
                self._goes(first)
                self._from = first.due + _APART
                if self._waiting:
                    after = self._waiting[0]
                    after.due = self._gone.first(after.tokens, self._from)
            if first._armed > first.due + _LATE and (wake := first._wake) is not None:
                first._armed = first.due
                wake()
            if first.due > now:
                break

    def _planned(self) -> _Minute:
        """The minute before the last who waits is due, with the times of all up to that one."""
        if self._plan is None:
            self._plan = _Minute(self.limit, self._gone.places, self._gone.tokens)
            due = self._from
            for place in self._waiting:
                place.due = self._plan.first(place.tokens, due)
                self._plan.add(place)
                due = place.due + _APART
        return self._plan

    def _words(self) -> str:
        limit = self.limit
        found = []
        if limit.requests_per_minute is not None:
            found.append(f"{limit.requests_per_minute} requests a minute")
        if limit.tokens_per_minute is not None:
            found.append(f"{limit.tokens_per_minute} tokens a minute")
        return " and ".join(found)


def limiter_of(given: RateLimit | RateLimiter | None) -> RateLimiter | None:
    """The limiter of a model. Raises `ConfigurationError` for what is none."""
    if given is None or isinstance(given, RateLimiter):
        return given
    if not isinstance(given, RateLimit):
        raise ConfigurationError(
            f"rate_limit must be a RateLimit, not {type(given).__name__}",
            next_step="Give RateLimit(requests_per_minute=...), or a RateLimiter that several models share.",
        )
    return RateLimiter(given)


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
