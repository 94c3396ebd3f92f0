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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from agentforge.errors import ConfigurationError, LocalRateLimitError

__all__ = ("RateLimit", "RateLimiter", "Reservation", "limiter_of")

_MINUTE = 60.0
_APART = 1e-6  # seconds between two that are due together, as a loop keeps no order among those of one time
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
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
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

    __slots__ = ("_wake", "due", "size", "tokens")

    def __init__(self, size: int, tokens: float, due: float) -> None:
        self.size = size
        self.tokens = tokens
        #: When it may go, by the limiter's clock.
        self.due = due
        self._wake: Callable[[], None] | None = None

    async def wait(self, clock: Callable[[], float]) -> None:
        """Until it is due, which may be moved meanwhile."""
        loop = asyncio.get_running_loop()
        while (seconds := self.due - clock()) > 0:
            woken = loop.create_future()

            def wake(woken: asyncio.Future[None] = woken) -> None:
                with suppress(RuntimeError):  # that loop has ended
                    loop.call_soon_threadsafe(_done, woken)

            self._wake = wake
            timer = loop.call_later(seconds, _done, woken)
            try:
                await woken
            finally:
                timer.cancel()
                self._wake = None

    def move(self, due: float) -> None:
        """Another time; who waits for the old one is told."""
        if due != self.due:
            self.due = due
            if (wake := self._wake) is not None:
                wake()


class RateLimiter:
    """Keeps to a `RateLimit`; one a model, or one that several share. May be used from several threads and loops.

    What a request will cost is guessed from its size and from what the replies before it reported, and set right when
    its own reply reports. ``clock`` gives monotonic seconds.
    """

    def __init__(self, limit: RateLimit, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.clock = clock
        self._lock = threading.Lock()
        # Those of the last minute and those that wait, in the order of their times.
        self._places: deque[Reservation] = deque()
        self._tokens_a_byte = 1 / _BYTES_A_TOKEN
        self._output = _OUTPUT_TOKENS

    def reserve(self, size: int, patience: float | None = None) -> Reservation:
        """A place for a request of ``size`` bytes, to be waited for. ``patience``: the longest wait that there is time
        for. Raises `LocalRateLimitError` where the wait would be longer, or longer than ``max_wait``."""
        with self._lock:
            now = self.clock()
            self._forget(now)
            tokens = self._guess(size)
            due = self._due(self._places, tokens, now)
            wait = due - now
            longest = self.limit.max_wait
            for bound, words, step in (
                (longest, "its max_wait is", "Ask again later, ask less often, or raise rate_limit.max_wait."),
                (patience, "its time is over in", "Ask again later, ask less often, or raise timeouts.total."),
            ):
                if bound is not None and wait > bound:
                    raise LocalRateLimitError(
                        f"the model's own rate limit ({self._words()}) would have this request wait {wait:.1f} s, and "
                        f"{words} {bound:.1f} s",
                        retry_after=wait,
                        next_step=step,
                    )
            place = Reservation(size, tokens, due)
            self._places.append(place)
            return place

    def give_back(self, place: Reservation) -> None:
        """The request was never sent: as if it had never come."""
        with self._lock:
            with suppress(ValueError):
                self._places.remove(place)
            self._plan()

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
            place.tokens = tokens
            self._plan()

    def _guess(self, size: int) -> float:
        most = self.limit.tokens_per_minute
        if most is None:
            return 0.0
        return min(self._tokens_a_byte * size + self._output, float(most))

    def _due(self, places: deque[Reservation], tokens: float, now: float) -> float:
        """The first time from ``now``, and not before the last place, at which the minute before has room."""
        due = now
        if places and places[-1].due > now:
            due = places[-1].due + _APART
        requests, most = self.limit.requests_per_minute, self.limit.tokens_per_minute
        if requests is not None and len(places) >= requests:
            due = max(due, places[-requests].due + _MINUTE)
        if most is not None:
            left = most - tokens
            for place in reversed(places):
                if place.due + _MINUTE <= due:
                    break
                left -= place.tokens
                if left < 0:
                    due = max(due, place.due + _MINUTE)
                    break
        return due

    def _plan(self) -> None:
        """Those who wait may go earlier, or have to go later."""
        now = self.clock()
        if not self._places or self._places[-1].due <= now:
            return
        planned: deque[Reservation] = deque()
        for place in self._places:
            if place.due > now:
                place.move(self._due(planned, min(place.tokens, self.limit.tokens_per_minute or place.tokens), now))
            planned.append(place)
        self._places = planned

    def _forget(self, now: float) -> None:
        while self._places and self._places[0].due + _MINUTE <= now:
            self._places.popleft()

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
