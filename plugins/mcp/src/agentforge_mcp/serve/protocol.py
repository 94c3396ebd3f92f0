"""The protocol's side of serving: the SDK's low-level server over `ServedTools`. Loads the SDK.

The SDK speaks all versions of the protocol that it knows, 2026-07-28 and the earlier ones with a handshake; what is
here is the same for all of them but for how a changed list is told.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from agentforge.errors import AgentForgeError, ConfigurationError, RunCancelledError, UnknownToolError
from agentforge.model import Notice
from agentforge.tool import BoundTool
from agentforge.tool.execution import Run, ToolExecutionResult
from agentforge_mcp.serve.content import progress_of, result_of, tool_of
from agentforge_mcp.serve.offer import ServedTools

__all__ = ("ToolProtocol",)

_log = logging.getLogger("agentforge.mcp.serve")

_Context = ServerRequestContext[Any, Any]
_MOST_SESSIONS = 1_000
_ENDING = 5.0
_TELLING = 2.0


class ToolProtocol:
    """Answers the protocol's requests about tools; ``server`` is what a transport drives.

    ``async with ToolProtocol(...) as protocol`` lists the tools, and raises what goes wrong with that; it watches for
    changes of the list meanwhile, every ``watch_interval`` seconds, and ends all calls at its end.
    """

    def __init__(
        self,
        served: ServedTools,
        *,
        name: str,
        version: str = "",
        instructions: str | None = None,
        page_size: int = 200,
        watch_interval: float = 5.0,
    ) -> None:
        self._served = served
        self._page_size = page_size
        self._interval = watch_interval
        self._calls: dict[asyncio.Task[ToolExecutionResult], Run] = {}
        self._pages: tuple[Sequence[BoundTool], list[types.Tool], str] = ((), [], "")
        self._announced: Sequence[BoundTool] | None = None
        #: Clients of the handshake's time, which are told without asking; the oldest is forgotten first.
        self._sessions: dict[int, ServerSession] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._look = asyncio.Event()
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        watched = served.may_change
        self.server = _Server(
            name,
            version=version,
            instructions=instructions,
            get_tool_input_schema=self._schema_of,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listening if watched else None,
        )
        self.server.tells_changes = watched
        self.server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)

    async def __aenter__(self) -> ToolProtocol:
        try:
            tools = await self._served.listing()
        except AgentForgeError:
            raise
        except Exception as error:  # somebody's code
            text = self._served.secrets.mask(f"{type(error).__name__}: {error}")
            raise ConfigurationError(f"the tools could not be listed: {text}") from error
        if not tools:
            _log.warning("no tools are offered")
        await self._paged(tools)
        if self._served.may_change:
            self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.end()

    async def end(self) -> None:
        """End all calls, and the streams of those who listen for changes."""
        if self._watcher is not None:
            self._watcher.cancel()
        self._listening.close()
        for run in self._calls.values():
            run.cancel("the server ends")
        if self._calls:
            await asyncio.wait(list(self._calls), timeout=_ENDING)

    @property
    def offered(self) -> int:
        """How many tools there were when they were last listed."""
        return len(self._pages[1])

    # -- requests --------------------------------------------------------------------------------

    async def _list_tools(self, ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        made, mark = await self._listed()
        start = _start_of(params.cursor if params is not None else None, mark, len(made))
        end = start + self._page_size
        following = _cursor(mark, end) if end < len(made) else None
        return types.ListToolsResult(tools=made[start:end], next_cursor=following)

    async def _listed(self) -> tuple[list[types.Tool], str]:
        """All tools in the protocol's form, and a mark of this list."""
        try:
            tools = await self._served.listing()
        except AgentForgeError as error:
            text = self._served.secrets.mask(error.message)
            _log.warning("the tools could not be listed: %s", text)
            raise MCPError(types.INTERNAL_ERROR, f"The tools could not be listed: {text}") from None
        except Exception as error:  # somebody's code: its words are for our log alone
            _log.exception("the tools could not be listed")
            raise MCPError(types.INTERNAL_ERROR, f"The tools could not be listed: {type(error).__name__}") from None
        return await self._paged(tools)

    async def _paged(self, tools: Sequence[BoundTool]) -> tuple[list[types.Tool], str]:
        if self._pages[0] is not tools:
            made = [tool_of(tool) for tool in tools]
            mark = hashlib.sha256("\n".join(tool.name for tool in tools).encode()).hexdigest()[:12]
            self._pages = tools, made, mark
        await self._announce(tools)
        return self._pages[1], self._pages[2]

    def _schema_of(self, name: str) -> Mapping[str, Any] | None:
        """For the SDK, which compares headers with arguments where a schema says that they go together."""
        return next((tool.input_schema for tool in self._pages[1] if tool.name == name), None)

    async def _call_tool(self, ctx: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        run = self._served.run()
        tell = _Progress(ctx.session).tell
        # A task of its own: the SDK cancels a request's task again and again until it ends, and a call that is
        # cancelled gets a moment to end in its own way.
        task = asyncio.create_task(self._served.call(run, params.name, params.arguments or {}, tell))
        self._calls[task] = run
        task.add_done_callback(self._ended)
        try:
            result = await asyncio.shield(task)
        except asyncio.CancelledError:
            run.cancel("the client does not wait for it any more")
            raise
        except UnknownToolError:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}") from None
        except RunCancelledError:
            return types.CallToolResult(content=[types.TextContent(text="The call was cancelled.")], is_error=True)
        return result_of(result)

    def _ended(self, task: asyncio.Task[ToolExecutionResult]) -> None:
        self._calls.pop(task, None)
        self._look.set()  # a tool may have changed what there is
        if not task.cancelled():
            task.exception()  # read here, as nobody may wait for it any more

    # -- a list that changes ---------------------------------------------------------------------

    async def _initialized(self, ctx: _Context, params: types.NotificationParams | None) -> None:
        self._sessions[id(ctx.session)] = ctx.session
        if len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    async def _announce(self, tools: Sequence[BoundTool]) -> None:
        """Tell everybody who wants to know that the list is another one than the last that was seen."""
        before, self._announced = self._announced, tools
        if before is None or before is tools:
            return
        await self._bus.publish(ToolsListChanged())
        for key, session in list(self._sessions.items()):
            try:
                await asyncio.wait_for(session.send_tool_list_changed(), _TELLING)
            except Exception as error:
                self._sessions.pop(key, None)
                _log.debug("a client could not be told that the tools changed: %r", error)

    async def _watch(self) -> None:
        while True:
            self._look.clear()
            with contextlib.suppress(MCPError):
                await self._listed()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), self._interval)


class _Server(Server[Any]):
    """Says in the handshake that changes are told, which the SDK's own HTTP manager would not."""

    tells_changes = False

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        told = notification_options or NotificationOptions(tools_changed=self.tells_changes)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


class _Progress:
    """Notices of a call as the protocol's progress, whose number must grow."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._last = -1.0

    async def tell(self, notice: Notice) -> None:
        """Send one, where the client asked for progress."""
        progress, total = progress_of(notice.details)
        if progress is None or progress <= self._last:
            progress, total = max(1.0, self._last + 1), None
        self._last = progress
        try:
            await self._session.report_progress(progress, total, notice.message)
        except Exception as error:  # the client is gone; the call need not know
            _log.debug("progress could not be told: %r", error)


def _cursor(mark: str, start: int) -> str:
    return base64.urlsafe_b64encode(f"{mark}:{start}".encode()).decode()


def _start_of(cursor: str | None, mark: str, count: int) -> int:
    """Where a page begins. Raises `MCPError` for a cursor that is none, or one of another list."""
    if cursor is None:
        return 0
    try:
        of, _, start = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        at = int(start)
    except ValueError:
        raise MCPError(types.INVALID_PARAMS, "Invalid cursor") from None
    if of != mark:
        raise MCPError(types.INVALID_PARAMS, "Invalid cursor: the list has changed since; begin anew without one")
    if not 0 < at < count:
        raise MCPError(types.INVALID_PARAMS, "Invalid cursor")
    return at
