"""The connections of the httpx transport: each is an httpx transport of its own that holds one connection.

The pool below httpx looks through all its connections and waiting requests for each request, and a request that is
cancelled at the wrong moment leaves a connection in it that is neither used nor free ever again. A pool of one has
nothing to look through, and one that ended badly is closed and thrown away whole.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

__all__ = ("Connection", "Connections", "Route")

_KEEP_ALIVE = 30.0  # seconds an idle connection is kept
_MAX_ROUTES = 64


class Connection:
    """One connection, in use or idle; ``used`` once an answer has been read to its end on it."""

    __slots__ = ("_socket", "transport", "used")

    def __init__(self, transport: httpx.AsyncHTTPTransport) -> None:
        self.transport = transport
        self.used = False
        self._socket: Any = None

    async def trace(self, name: str, info: dict[str, Any]) -> None:
        """httpx's trace hook, for the request that connects: a handshake that is cancelled forgets its socket."""
        if name == "connection.connect_tcp.complete":
            self._socket = info["return_value"]

    async def aclose(self) -> None:
        """Close it in whatever state it is; what a broken socket still says helps nobody."""
        with suppress(Exception):
            await self.transport.aclose()
        if self._socket is not None:
            with suppress(Exception):
                await self._socket.aclose()


class Route:
    """A way to one server: ``make`` gives a transport for it, ``idle`` are its free connections, oldest first."""

    __slots__ = ("idle", "make")

    def __init__(self, make: Callable[[], httpx.AsyncHTTPTransport]) -> None:
        self.make = make
        self.idle: deque[Connection] = deque()


class Connections:
    """All connections of one transport, open ones bounded by ``limit`` as long as no more are taken at once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._routes: dict[Hashable, Route] = {}
        self._open: set[Connection] = set()
        self._idle: dict[Connection, tuple[Route, float]] = {}  # since when, oldest first
        self._closing: set[asyncio.Task[None]] = set()

    def route(self, key: Hashable, make: Callable[[], httpx.AsyncHTTPTransport]) -> Route:
        """The route of this key."""
        route = self._routes.get(key)
        if route is None:
            if len(self._routes) >= _MAX_ROUTES:
                del self._routes[next(iter(self._routes))]  # its idle connections end in their time
            route = self._routes[key] = Route(make)
        return route

    def take(self, route: Route) -> Connection:
        """The connection that was used last, else a new one."""
        if route.idle:
            connection = route.idle.pop()
            _, since = self._idle.pop(connection)
            if time.monotonic() - since < _KEEP_ALIVE:
                return connection
            self._close_soon(connection)
        return self.new(route)

    def new(self, route: Route) -> Connection:
        """A connection that was never used; an idle one makes room for it where the limit is reached."""
        if self._idle:
            self._close_idle(len(self._open) >= self._limit)
        connection = Connection(route.make())
        self._open.add(connection)
        return connection

    def give_back(self, route: Route, connection: Connection) -> None:
        """Keep a connection whose answer was read to its end."""
        if connection not in self._open:
            return  # closed in between
        connection.used = True
        route.idle.append(connection)
        self._idle[connection] = route, time.monotonic()
        self._close_idle(False)

    async def discard(self, connection: Connection) -> None:
        """Close a connection that is not to be used again; a second cancellation does not keep it open."""
        await asyncio.shield(self._close_soon(connection))

    async def aclose(self) -> None:
        """Close all, those in use too."""
        for connection in list(self._open):
            self._close_soon(connection)
        for route, _ in self._idle.values():
            route.idle.clear()
        self._idle.clear()
        self._routes.clear()
        while self._closing:
            await asyncio.wait(self._closing)

    def _close_idle(self, one: bool) -> None:
        """Close the connections that have been idle for too long, and ``one`` at least."""
        while self._idle:
            oldest = next(iter(self._idle))
            route, since = self._idle[oldest]
            if not one and time.monotonic() - since < _KEEP_ALIVE:
                return
            one = False
            del self._idle[oldest]
            route.idle.remove(oldest)
            self._close_soon(oldest)

    def _close_soon(self, connection: Connection) -> asyncio.Task[None]:
        self._open.discard(connection)
        task = asyncio.ensure_future(connection.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task
