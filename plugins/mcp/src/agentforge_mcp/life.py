"""One life of a server: from its start to its end, whoever ends it.

The SDK's scopes have to be entered and left by one task. So each life has a task of its own, and all that others do is
to ask it to begin and to end; requests may come from any task of its loop.
Loaded when a server starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.client.subscriptions import ToolsListChanged, listen
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agentforge.masking import Secrets
from agentforge.model import TokenUsage
from agentforge_mcp.answers import Answers
from agentforge_mcp.definition import ServerInfo
from agentforge_mcp.errors import McpConnectionError
from agentforge_mcp.options import HttpServer, McpOptions, StdioServer
from agentforge_mcp.server_log import shown
from agentforge_mcp.session import McpDispatcher, McpSession, negotiate
from agentforge_mcp.start_faults import start_fault

__all__ = ("Life",)

_log = logging.getLogger("agentforge.mcp")
_GOODBYE = 1.0  # seconds beyond the time for the end
_RELISTEN = 1.0  # seconds before a subscription that was lost is asked for again


class Life:
    """A server from start to end. ``on_change`` is called when it says that its tools changed, ``on_log`` with what it
    logs, ``on_spent`` with what it had a model write, ``on_end`` once when it is over, unless `close` ended it."""

    def __init__(
        self,
        server: StdioServer | HttpServer,
        options: McpOptions,
        name: str,
        secrets: Secrets,
        *,
        on_change: Callable[[], None],
        on_log: Callable[[str, str], None],
        on_spent: Callable[[TokenUsage, str | None], None],
        on_end: Callable[[Life], None],
    ) -> None:
        self._server = server
        self._options = options
        self._name = name
        self._secrets = secrets
        self._on_change = on_change
        self._on_log = on_log
        self._on_spent = on_spent
        self._on_end = on_end
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: Any = None
        self.session: McpSession | None = None
        self.dispatcher: McpDispatcher | None = None
        self.info: ServerInfo | None = None
        self.over = False
        self._users = 0
        self._unused = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._live(), name=f"mcp {name}")

    async def ready(self) -> None:
        """Wait until it is spoken to. Raises `McpConnectionError`."""
        await asyncio.shield(self._ready)

    async def close(self) -> None:
        """End it, and wait for the end."""
        self._stop.set()
        # A transport bounds its own end; a server behind an address may not even answer the goodbye.
        done, _ = await asyncio.wait([self._task], timeout=self._options.close_timeout + _GOODBYE)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_GOODBYE)

    def kill(self) -> None:
        """End it from outside of its loop, which does not run."""
        kill = getattr(self._transport, "kill", None)
        if kill is not None:
            kill()

    def why(self) -> str:
        """How it ended, in words."""
        why = getattr(self._transport, "why", None)
        return str(why()) if why is not None else "closed the connection"

    def last_words(self) -> str:
        """The last lines that a program wrote to standard error, as the end of a message."""
        words = getattr(self._transport, "last_words", None)
        return str(words()) if words is not None else ""

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """While a request is under way."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._unused.set()

    async def idle(self) -> None:
        """Wait until no request is under way, or it is over by itself."""
        while self._users and not self._task.done():
            self._unused.clear()
            waiting = asyncio.ensure_future(self._unused.wait())
            try:
                await asyncio.wait([self._task, waiting], return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()

    async def gone(self) -> None:
        """Wait for its end, when it has said its last word."""
        await asyncio.wait([self._task])

    @property
    def ended(self) -> bool:
        """Whether it has said its last word, though its end may not be over."""
        return any(each.is_set() for each in self._ends())

    @property
    def pid(self) -> int | None:
        """The process of a server that is a program."""
        return getattr(self._transport, "pid", None)

    # -- the task --------------------------------------------------------------------------------

    async def _live(self) -> None:
        error: BaseException | None = None
        try:
            await self._spoken_to()
        except BaseException as raised:
            error = raised
        self.over = True
        if not self._ready.done():
            self._ready.set_exception(self._failure(error))
            self._ready.exception()  # whoever waits is told; nobody need wait
        elif not self._stop.is_set() and not isinstance(error, asyncio.CancelledError):
            self._on_end(self)  # cancelled it is by a loop that ends, on which nothing is to be started again
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error

    async def _spoken_to(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            try:
                session = await self._begun(stack)
            except Exception as error:
                # Said now: once the transport is left nobody knows how it was.
                raise self._failure(error) from None
            self.info = _info_of(session)
            self._ready.set_result(None)
            listening = asyncio.ensure_future(self._listen(session))
            try:
                await self._end()
            finally:
                listening.cancel()
                await asyncio.wait([listening])

    async def _begun(self, stack: contextlib.AsyncExitStack) -> McpSession:
        limit = self._options.start_timeout
        self._transport = self._made()
        async with asyncio.timeout(limit):
            read, write = await stack.enter_async_context(self._transport)
        self.dispatcher = McpDispatcher(read, write)
        self.session = session = McpSession(
            dispatcher=self.dispatcher,
            client_info=types.Implementation(name="agentforge", version=_version()),
            message_handler=self._told,
            logging_callback=self._logged,
            log_level="info",
            **Answers(self._name, self._options, self._on_spent, lambda: self._users > 0).callbacks(),
        )
        await stack.enter_async_context(session)
        negotiating = asyncio.ensure_future(negotiate(session, self._options.protocol, self._name, limit))
        try:
            await self._until(negotiating, limit)
        finally:
            negotiating.cancel()
        self.dispatcher.modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
        return session

    def _made(self) -> Any:
        options = self._options
        if isinstance(self._server, StdioServer):
            from agentforge_mcp.stdio import StdioTransport

            return StdioTransport(
                self._server,
                name=self._name,
                secrets=self._secrets,
                max_message_bytes=options.max_message_bytes,
                close_timeout=options.close_timeout,
            )
        from agentforge_mcp.streamable_http import HttpTransport

        return HttpTransport(
            self._server, name=self._name, secrets=self._secrets, max_message_bytes=options.max_message_bytes
        )

    async def _until(self, negotiating: asyncio.Future[None], limit: float) -> None:
        """Wait for the handshake, for the end of the server, of our patience or of our wish, whichever comes first."""
        stop = asyncio.ensure_future(self._stop.wait())
        ended = asyncio.ensure_future(self._transport.ended.wait())
        try:
            await asyncio.wait({negotiating, stop, ended}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and not negotiating.done():
                await asyncio.sleep(0)  # the SDK says what it knows, which may be more
        finally:
            stop.cancel()
            ended.cancel()
        if not negotiating.done():
            if self._transport.ended.is_set() or self._stop.is_set():
                raise EOFError
            raise TimeoutError
        negotiating.result()

    def _ends(self) -> list[asyncio.Event]:
        """What can end it from its own side."""
        transport = [self._transport.ended] if self._transport is not None else []
        return transport + ([self.dispatcher.over] if self.dispatcher is not None else [])

    async def _end(self) -> None:
        waiting = [asyncio.ensure_future(each.wait()) for each in (self._stop, *self._ends())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    def _failure(self, error: BaseException | None) -> McpConnectionError:
        return start_fault(
            error,
            name=self._name,
            server=self._server,
            transport=self._transport,
            secrets=self._secrets,
            seconds=self._options.start_timeout,
        )

    # -- what the server says of itself ----------------------------------------------------------

    async def _told(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._on_change()

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self._on_log(str(params.level), shown(self._secrets.mask(_log_text(params.data))))

    async def _listen(self, session: McpSession) -> None:
        """In the newest version changes are told to those only who asked for them."""
        tools = session.server_capabilities.tools if session.server_capabilities else None
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with listen(session, tools_list_changed=True) as changes:
                    self._on_change()  # what happened before is not known
                    async for change in changes:
                        if isinstance(change, ToolsListChanged):
                            self._on_change()
            except MCPError as error:
                if error.code in (types.METHOD_NOT_FOUND, types.INVALID_REQUEST, types.INVALID_PARAMS):
                    return
            except Exception as error:
                _log.debug("the MCP server %r ended its notices: %r", self._name, error)
            await asyncio.sleep(_RELISTEN)


def _info_of(session: McpSession) -> ServerInfo:
    info, capabilities = session.server_info, session.server_capabilities
    return ServerInfo(
        shown(info.name, 100) if info is not None else "?",
        shown(info.version, 60) if info is not None else None,
        shown(info.title, 100) if info is not None and info.title else None,
        session.protocol_version,
        session.instructions,
        capabilities.model_dump(by_alias=True, mode="json", exclude_none=True) if capabilities is not None else {},
    )


def _log_text(data: Any) -> str:
    """What a server logs, as text: the message where there is one, any other value as JSON."""
    if isinstance(data, Mapping):
        said = next((data[key] for key in ("message", "msg") if isinstance(data.get(key), str)), None)
        if said is not None:
            return str(said)
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("agentforge-plugin-mcp")
    except PackageNotFoundError:
        return "0"
