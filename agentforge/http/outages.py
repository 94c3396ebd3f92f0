"""What is known of outages: the circuits and retry budgets of endpoints, for all models that share one object.

No state of the process: the models of an application context share one that the context owns, a model made in Python
has its own, and programs pass one object to the models that are to learn from each other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from agentforge.errors import ConfigurationError
from agentforge.http.circuit import Circuit, CircuitBreaker, CircuitState, of_the_answer, of_the_way
from agentforge.http.passage import Gate
from agentforge.http.rate_limit import RateLimiter
from agentforge.http.retry_budget import RetryBudget, RetryTally

__all__ = ("Outages",)

_MAX_MODELS = 1000  # of an endpoint that have a circuit of their own

PolicyT = TypeVar("PolicyT")


class Outages:
    """Circuits and retry budgets by endpoint: origin and base path, the way there, and the settings; who differs in one
    of these shares nothing. ``clock`` gives monotonic seconds.

    An endpoint has one circuit for whether it can be connected to, and one for each model that is asked there: an
    overloaded model does not keep another one of the same provider from answering in its place. May be used from
    several threads and loops.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._circuits: dict[Hashable, dict[str | None, Circuit]] = {}
        self._tallies: dict[Hashable, RetryTally] = {}

    def gate(
        self,
        base_url: str,
        *,
        way: Hashable = None,
        circuit_breaker: CircuitBreaker | bool = True,
        retry_budget: RetryBudget | bool = True,
        limiter: RateLimiter | None = None,
    ) -> Gate:
        """The gate of a model to the endpoint at ``base_url``; ``way`` is what else decides whether it can be reached,
        such as a proxy. ``True`` stands for the defaults, ``False`` for none. Raises `ConfigurationError`."""
        breaker = _policy(circuit_breaker, CircuitBreaker, "circuit_breaker")
        budget = _policy(retry_budget, RetryBudget, "retry_budget")
        endpoint = _endpoint_of(base_url)
        with self._lock:
            tally = None
            if budget is not None:
                tally = self._tallies.setdefault((endpoint, way, budget), RetryTally(budget, self._clock))
            known = self._circuits.setdefault((endpoint, way, breaker), {}) if breaker is not None else {}
        pairs: dict[str, Sequence[Circuit]] = {}

        def circuits(model: str) -> Sequence[Circuit]:
            found = pairs.get(model)
            if found is None:
                found = () if breaker is None else self._both(known, endpoint, model, breaker)
                if len(pairs) < _MAX_MODELS:
                    pairs[model] = found
            return found

        return Gate(circuits, tally, limiter)

    def states(self) -> tuple[CircuitState, ...]:
        """How every circuit is now, for a report on health; those of models come after their endpoint's."""
        with self._lock:
            found = [circuit for known in self._circuits.values() for circuit in known.values()]
        return tuple(circuit.state() for circuit in found)

    def _both(
        self, known: dict[str | None, Circuit], endpoint: str, model: str, breaker: CircuitBreaker
    ) -> Sequence[Circuit]:
        """The circuits of the endpoint and of the model there."""
        with self._lock:
            way = known.get(None)
            if way is None:
                way = known[None] = Circuit(breaker, endpoint, None, of_the_way, self._clock)
            if model not in known and len(known) > _MAX_MODELS:
                return (way,)  # names without end come from elsewhere: what is kept for them must have one
            return way, known.setdefault(model, Circuit(breaker, endpoint, model, of_the_answer, self._clock))


def _policy(given: PolicyT | bool, kind: type[PolicyT], name: str) -> PolicyT | None:
    if given is False:
        return None
    if given is True:
        return kind()
    if not isinstance(given, kind):
        raise ConfigurationError(
            f"{name} must be a {kind.__name__}, True or False, not {given!r}",
            next_step=f"Give {kind.__name__}(...), or False for none.",
        )
    return given


def _endpoint_of(base_url: str) -> str:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
