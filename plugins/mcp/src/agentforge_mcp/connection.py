"""A server that is kept: connected when it is needed, watched, and started again when it dies.

Belongs to the event loop that first starts it, and may be used from any: what comes from another loop is handed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from agentforge.masking import Secrets
from agentforge.model import TokenUsage
from agentforge_mcp.definition import DroppedTool, McpPrompt, McpResource, ServerInfo, ToolDefinition
from agentforge_mcp.errors import McpConnectionError, McpLostError
from agentforge_mcp.options import HttpServer, McpOptions, StdioServer

if TYPE_CHECKING:
    from agentforge_mcp.life import Life

__all__ = ("Listener", "McpConnection", "OnLog", "OnProgress", "OnSpent")

_log = logging.getLogger("agentforge.mcp")
_T = TypeVar("_T")
_TRIES = 5  # starts in a row that fail before nobody tries but who needs the server

#: The call that a task works for.
_listener: contextvars.ContextVar[Listener | None] = contextvars.ContextVar("mcp_listener", default=None)

OnProgress = Callable[[float, float | None, str | None], None]
"""Told how far a call is: progress, total, message. Called on the connection's loop."""
OnLog = Callable[[str, str], None]
"""Told what a server logs: level, text. Called on the connection's loop."""
OnSpent = Callable[[TokenUsage, str | None], None]
"""Told what a model wrote for a server: the usage, the model's name. Called on the connection's loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Listener:
    """What a call under way wants to be told."""

    on_progress: OnProgress | None = None
    on_log: OnLog | None = None
    on_spent: OnSpent | None = None


class McpConnection:
    """One server. ``name`` is what errors and the log call it; ``secrets`` are masked in both.

    Use it as an async context manager, or `start` and `aclose` it. A request to a server that is down waits until it
    is started again. What a request raises: `McpConnectionError` (nothing was sent), `McpLostError` (sent, and what
    became of it is not known), `McpRequestError` (the server's own JSON-RPC error).
    """

    def __init__(
        self,
        server: StdioServer | HttpServer,
        options: McpOptions | None = None,
        *,
        name: str = "mcp",
        secrets: Secrets | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.server = server
        self.options = options if options is not None else McpOptions()
        self.secrets = secrets if secrets is not None else Secrets()
        #: Why it is not connected; ``None`` while it is.
        self.last_failure: Exception | None = None
        #: How often it was started again.
        self.restarts = 0
        #: Definitions of the last listing that cannot be offered, and what was odd about the listing.
        self.dropped: tuple[DroppedTool, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.clock = clock
        self._choosing = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._life: Life | None = None
        self._starting: asyncio.Task[None] | None = None
        #: Sessions that the server forgot, until the last request of each is over.
        self._retiring: set[asyncio.Task[None]] = set()
        self._slots: asyncio.Semaphore | None = None
        self._listing: asyncio.Lock | None = None
        self._reading: asyncio.Lock | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._listeners: list[Listener] = []
        self._deaths = 0
        self._born = 0.0
        self._not_before = 0.0
        self._started_once = False
        self._closed = False

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect, unless it is connected. Raises `McpConnectionError`."""
        await self.on_its_loop(self._connected)

    async def aclose(self) -> None:
        """End the server, or the session with it; safe to call twice. It is not started again."""
        self._closed = True
        if self._loop is None or self._loop.is_closed():
            return  # whatever lived on it ended with it
        if self._loop is asyncio.get_running_loop() or self._loop.is_running():
            await self.on_its_loop(self._end)
        elif self._life is not None:
            self._life.kill()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def state(self) -> Literal["new", "connected", "down", "closed"]:
        """Whether it can be spoken to now."""
        if self._closed:
            return "closed"
        if self._life is not None and not self._life.over and self._life.info is not None:
            return "connected"
        return "down" if self._started_once or self.last_failure is not None else "new"

    @property
    def server_info(self) -> ServerInfo | None:
        """What the server said of itself when it was last started; ``None`` before that."""
        return self._life.info if self._life is not None else None

    @property
    def pid(self) -> int | None:
        """The process of a server that is a program, while it runs."""
        return self._life.pid if self._life is not None and not self._life.over else None

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called when the server says that its tools changed, and when it was started again; on the
        connection's loop."""
        self._callbacks.append(callback)

    def may_start(self) -> bool:
        """Whether a server that is down would be tried now, and not only after a pause."""
        return not self._closed and self._starting is None and self.clock() >= self._not_before

    # -- requests --------------------------------------------------------------------------------

    async def list_tools(self) -> tuple[ToolDefinition, ...]:
        """All tools that can be offered, asked now; the others are in `dropped`."""
        from agentforge_mcp.requests import list_tools

        return await self.on_its_loop(lambda: list_tools(self))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        on_log: OnLog | None = None,
        on_spent: OnSpent | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a tool by the server's own name for it; the answer is the SDK's ``CallToolResult``, also with
        ``is_error``. ``timeout`` in seconds; ``None``: `McpOptions.call_timeout`."""
        from agentforge_mcp.requests import call_tool

        given, listener = dict(arguments or {}), Listener(on_progress, on_log, on_spent)
        return await self.on_its_loop(
            lambda: call_tool(self, name, given, timeout=timeout, listener=listener, meta=dict(meta or {}))
        )

    async def list_resources(self) -> Sequence[McpResource]:
        """The server's resources, and the templates of their addresses; none where it has no such thing."""
        from agentforge_mcp.requests import list_resources

        return await self.on_its_loop(lambda: list_resources(self))

    async def read_resource(self, uri: str, *, timeout: float | None = None) -> Any:
        """A resource; the answer is the SDK's ``ReadResourceResult``."""
        from agentforge_mcp.requests import read_resource

        return await self.on_its_loop(lambda: read_resource(self, uri, timeout=timeout))

    async def list_prompts(self) -> Sequence[McpPrompt]:
        """The server's prompts; none where it has no such thing."""
        from agentforge_mcp.requests import list_prompts

        return await self.on_its_loop(lambda: list_prompts(self))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> Any:
        """A prompt with its arguments filled in; the answer is the SDK's ``GetPromptResult``."""
        from agentforge_mcp.requests import get_prompt

        given = dict(arguments or {})
        return await self.on_its_loop(lambda: get_prompt(self, name, given, timeout=timeout))

    def __repr__(self) -> str:
        return f"McpConnection({self.name!r}, {self.state})"

    # -- for this package: on the connection's loop ----------------------------------------------

    @property
    def slots(self) -> asyncio.Semaphore:
        """How many calls run side by side."""
        assert self._slots is not None
        return self._slots

    @property
    def listing(self) -> asyncio.Lock:
        """Held by whoever lists tools: pages of two listings do not mix."""
        assert self._listing is not None
        return self._listing

    @property
    def reading(self) -> asyncio.Lock:
        """Held by whoever makes tools of a listing."""
        assert self._reading is not None
        return self._reading

    @contextlib.contextmanager
    def told(self, listener: Listener) -> Iterator[None]:
        """While a call is under way: what the server logs, and has a model write, may be that call's."""
        self._listeners.append(listener)
        mine = _listener.set(listener)
        try:
            yield
        finally:
            _listener.reset(mine)
            self._listeners.remove(listener)

    async def life(self) -> Life:
        """The server, spoken to; started where it is down. Raises `McpConnectionError`."""
        await self._connected()
        assert self._life is not None
        return self._life

    def renew(self, life: Life) -> None:
        """Have the next request speak in another session, as the server does not know this one any more. Requests
        under way may be answered all the same, so it is ended after the last of them."""
        if self._life is life and not life.over:
            life.over = True
            retiring = asyncio.get_running_loop().create_task(self._retire(life), context=contextvars.Context())
            self._retiring.add(retiring)
            retiring.add_done_callback(self._retiring.discard)

    async def _retire(self, life: Life) -> None:
        try:
            await life.idle()
        finally:
            await life.close()

    def lost(self, life: Life, what: str) -> McpLostError:
        """The error of a request that was sent and never answered."""
        why = life.why() if life.over or life.ended else "closed the connection"
        return McpLostError(
            f"the MCP server {self.name!r} {self.secrets.mask(why)} before it answered {what}",
            last_words=life.last_words(),
            next_step="Whether it acted is not known: look before it is asked again.",
        )

    # -- starting and ending ---------------------------------------------------------------------

    async def on_its_loop(self, make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run it on the loop of this connection, which is the first that used it, as long as that runs."""
        here = asyncio.get_running_loop()
        with self._choosing:  # loops of several threads may come at once
            if self._loop is None or self._loop.is_closed():
                self._life = self._starting = None
                self._slots = asyncio.Semaphore(self.options.max_concurrent_calls)
                self._listing, self._reading = asyncio.Lock(), asyncio.Lock()
                self._loop = here
        if self._loop is here:
            return await make()
        if not self._loop.is_running():
            raise McpConnectionError(
                f"the MCP server {self.name!r} belongs to an event loop that does not run",
                next_step="Keep the loop running that started the application, or close the application there.",
            )
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), self._loop))

    async def _connected(self) -> None:
        if self._closed:
            raise self._gone()
        if self._life is not None and self._life.ended:
            await self._life.gone()
        if self._life is not None and not self._life.over and self._starting is None:
            return
        starting = self._begin(1)
        # One that stops waiting ends the start of no other.
        await asyncio.wait([starting])
        if starting.cancelled():  # by whoever closed the connection, and not by whoever waits here
            raise self._gone()
        starting.result()

    def _gone(self) -> McpConnectionError:
        return McpConnectionError(
            f"the MCP server {self.name!r} is closed", next_step="Use it before the application is closed."
        )

    def _begin(self, tries: int) -> asyncio.Task[None]:
        if self._starting is None:
            # A start belongs to no run, though one began it: not to its context, and not to its cancellation.
            made = asyncio.get_running_loop().create_task(self._start(tries), context=contextvars.Context())
            made.add_done_callback(lambda task: task.cancelled() or task.exception())
            self._starting = made
        return self._starting

    async def _start(self, tries: int) -> None:
        try:
            for left in reversed(range(tries)):
                await asyncio.sleep(max(0.0, self._not_before - self.clock()))
                try:
                    await self._start_once()
                    return
                except McpConnectionError as error:
                    self._failed(error)
                    if not left:
                        raise
        finally:
            self._starting = None

    async def _start_once(self) -> None:
        from agentforge_mcp.life import Life

        life = Life(
            self.server,
            self.options,
            self.name,
            self.secrets,
            on_change=self._tell,
            on_log=self._logged,
            on_spent=self._spent,
            on_end=self._ended,
        )
        try:
            await life.ready()
        except BaseException:
            await life.close()
            raise
        self._life, self._born, self.last_failure = life, self.clock(), None
        if self._started_once:
            self.restarts += 1
            _log.info("the MCP server %r was started again", self.name)
            self._tell()
        self._started_once = True

    async def _end(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        for each in tuple(self._retiring):
            each.cancel()
        if self._retiring:
            await asyncio.wait(tuple(self._retiring))
        if self._life is not None:
            await self._life.close()

    def _failed(self, error: McpConnectionError) -> None:
        policy = self.options.restart
        self._deaths += 1
        self._not_before = self.clock() + min(policy.cap, policy.base * 2 ** min(self._deaths - 1, 20))
        if self.last_failure is None or str(self.last_failure) != str(error):
            _log.log(logging.WARNING if self._started_once else logging.INFO, "%s", error.message)
        self.last_failure = error

    def _ended(self, life: Life) -> None:
        """It died, and nobody wanted it to."""
        if self._closed or self._life is not life:
            return
        if self.clock() - self._born >= self.options.restart.stable:
            self._deaths = 0
        self._failed(
            McpConnectionError(f"the MCP server {self.name!r} {self.secrets.mask(life.why())}{life.last_words()}")
        )
        if isinstance(self.server, StdioServer):
            self._begin(_TRIES)

    def _tell(self) -> None:
        for callback in tuple(self._callbacks):
            callback()

    def _logged(self, level: str, text: str) -> None:
        _log.debug("%s [%s]: %s", self.name, level, text)
        # Which call it belongs to is not said; with one under way there is no question.
        if len(self._listeners) == 1 and (on_log := self._listeners[0].on_log) is not None:
            on_log(level, text)

    def _spent(self, usage: TokenUsage, model: str | None) -> None:
        _log.info("the MCP server %r had a model write: %s", self.name, usage)
        # In the newest version it is said for which call; before, one of those under way pays.
        payer = _listener.get() or next((each for each in self._listeners if each.on_spent is not None), None)
        if payer is not None and payer.on_spent is not None:
            payer.on_spent(usage, model)
