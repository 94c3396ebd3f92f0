"""The connections of the httpx transport: which is taken, how long it is kept, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agentforge.http import httpx_connections
from agentforge.http.httpx_connections import Connection, Connections, Route


@dataclass
class Clock:
    """Stands in for the module `time`."""

    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class House:
    """Connections over transports that do nothing but note that they were closed."""

    connections: Connections
    made: list[Any] = field(default_factory=list)

    def route(self, key: str) -> Route:
        return self.connections.route(key, self._make)

    def _make(self) -> Any:
        number = len(self.made)

        class Transport:
            closed = False

            async def aclose(self) -> None:
                self.closed = True
                if number == 0:
                    raise OSError("what a broken socket says")

        self.made.append(Transport())
        return self.made[-1]

    def used(self, route: Route) -> Connection:
        """One that went out and came back."""
        connection = self.connections.take(route)
        self.connections.give_back(route, connection)
        return connection

    @property
    def closed(self) -> list[bool]:
        return [transport.closed for transport in self.made]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(httpx_connections, "time", clock)
    return clock


async def test_the_one_that_was_used_last_is_taken(clock: Clock) -> None:
    """The others grow old, and a route has its own only."""
    house = House(Connections(9))
    here, there = house.route("a"), house.route("b")
    first, second = house.connections.take(here), house.connections.take(here)
    house.connections.give_back(here, first)
    house.connections.give_back(here, second)
    assert house.connections.take(house.route("a")) is second
    assert house.connections.take(there) not in (first, second)
    assert [first.used, house.connections.new(here).used] == [True, False]
    await house.connections.aclose()


async def test_an_idle_connection_ends_in_its_time(clock: Clock) -> None:
    """After half a minute: one that is due is not taken, and work on any route ends those of all."""
    house = House(Connections(9))
    here, there = house.route("a"), house.route("b")
    old = house.used(here)
    clock.now += 29.0
    assert house.used(here) is old
    clock.now += 30.0
    young = house.used(here)
    assert young is not old
    clock.now += 30.0
    house.used(there)
    await house.connections.discard(house.connections.new(there))
    assert house.closed == [True, True, False, True]
    await house.connections.aclose()
    assert all(house.closed)


async def test_an_idle_connection_makes_room(clock: Clock) -> None:
    """No more are open than the limit says, also over several routes: the oldest goes."""
    house = House(Connections(2))
    for key in "abc":
        house.used(house.route(key))
    await house.connections.discard(house.connections.take(house.route("b")))
    assert house.closed == [True, True, False]
    await house.connections.aclose()


async def test_what_comes_back_after_closing_is_not_kept(clock: Clock) -> None:
    """It has been closed with the others."""
    house = House(Connections(2))
    route = house.route("a")
    connection = house.connections.take(route)
    await house.connections.aclose()
    house.connections.give_back(route, connection)
    assert house.closed == [True]
    assert not route.idle


async def test_many_routes(clock: Clock) -> None:
    """What is kept for each server is bounded; connections of a forgotten one still end."""
    house = House(Connections(200))
    first = house.route("0")
    house.used(first)
    for number in range(1, 70):
        house.route(str(number))
    assert house.route("0") is not first
    clock.now += 31.0
    house.used(house.route("1"))
    await house.connections.aclose()
    assert all(house.closed)
    assert not first.idle
