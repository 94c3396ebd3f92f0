"""A server's tools as a `ToolSource`: listed once, again when they change, offered as the file says."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from agentforge.errors import AgentForgeError, ToolExecutionError
from agentforge.model import Notice
from agentforge.tool import BoundTool, Effect
from agentforge.tool.execution import Run
from agentforge_mcp.binding import Binding, bound_tools
from agentforge_mcp.connection import McpConnection
from agentforge_mcp.definition import DroppedTool, ServerInfo, ToolDefinition
from agentforge_mcp.errors import McpConnectionError
from agentforge_mcp.pins import changes_from, pins_of

__all__ = ("McpTools", "SourceOptions", "ToolFilter")

_log = logging.getLogger("agentforge.mcp")
_AGAIN = 5.0  # seconds after which a list that could not be read is asked for again
_FETCHES = 3  # times a list is read when it changes while it is read

ToolFilter = Callable[[ToolDefinition, ServerInfo], bool]
"""Whether to offer a tool: its definition, and what its server says of itself (seed B's McpToolFilter)."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What is made of a server's tools.

    ``view`` leaves out, renames and prefixes; ``left_out`` says of an own name whether it leaves that out, so that
    nothing is said about such a tool. ``filter`` says of each whether to offer it. ``effects`` are own names
    or patterns of them, the last that fits decides: what a server says of its tools is never enough. ``serial`` are
    patterns of tools that never run side by side. ``pins`` are the digests of tools that somebody looked at, by own
    name; without any, those of the first listing count. ``on_change`` says what becomes of a tool that is not as it was
    pinned: reported, or held back. ``required``: whether the program is not to start without the server; ``lazy``:
    whether it is started at the first use. ``resources`` and ``prompts`` are offered as tools where asked for.
    ``send_context`` names what the server is told of a run; ``timeout`` is the time of a call in seconds, ``None``: the
    connection's.
    """

    view: Callable[[Sequence[BoundTool]], Sequence[BoundTool]] | None = None
    left_out: Callable[[str], bool] | None = None
    filter: ToolFilter | None = None
    effects: Mapping[str, Effect] = field(default_factory=dict)
    serial: tuple[str, ...] = ()
    pins: Mapping[str, str] | None = None
    on_change: Literal["report", "block"] = "report"
    trust: Literal["trusted", "untrusted"] = "untrusted"
    required: bool = True
    lazy: bool = False
    resources: bool = False
    prompts: bool = False
    send_context: tuple[str, ...] = ()
    timeout: float | None = None


class McpTools:
    """The tools of one server. `start` and `aclose` start and end the server with it.

    A list that changed is read again before it is next asked for; while that fails the last good one stays. As long as
    the tools are the same, so is the sequence object.
    """

    def __init__(self, connection: McpConnection, options: SourceOptions | None = None) -> None:
        self.connection = connection
        self.options = options if options is not None else SourceOptions()
        #: The tools of the last listing, by their own names, before any choice.
        self.definitions: tuple[ToolDefinition, ...] = ()
        #: Own names of tools that are held back, because they are not as they were pinned.
        self.held_back: tuple[str, ...] = ()
        #: Why the server or its list is not there; ``None`` where it is.
        self.last_failure: AgentForgeError | None = None
        self._pins = self.options.pins
        self._binding = Binding(self)
        #: The tools that resources and prompts are offered by, once made.
        self.extras: dict[str, BoundTool] = {}
        self._offered: Sequence[BoundTool] | None = None
        self._shape: object = None
        self._changes = 0
        self._read_at = -1
        self._not_before = float("-inf")
        self._loading: asyncio.Task[None] | None = None
        self._told: set[str] = set()
        self._notices: list[Notice] = []
        connection.on_change(self._changed)

    @property
    def dropped(self) -> tuple[DroppedTool, ...]:
        """Definitions that cannot be offered, and why."""
        return self.connection.dropped

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the server and read its tools, unless it is lazy. Raises `McpConnectionError` for one that is required;
        any other is reported and tried again later."""
        if self.options.lazy:
            return
        try:
            await self._load()
        except ToolExecutionError as error:
            if self.options.required:
                raise
            self._say(f"{error.message}; the program goes on without its tools", error)

    async def aclose(self) -> None:
        """End the server; safe to call twice."""
        await self.connection.aclose()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.aclose()  # the server may run, though its list is none
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        held = "not listed" if self._offered is None else f"tools={len(self._offered)}"
        return f"McpTools({self.connection.name!r}, {held})"

    # -- tools -----------------------------------------------------------------------------------

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """What is offered now. Raises `McpConnectionError` where a required server was never there."""
        if self._offered is None:
            await self._first()
        elif self._read_at != self._changes and self._may_look():
            await self._again()
        while self._notices:
            run.note(self._notices.pop(0))
        return self._offered if self._offered is not None else ()

    def known_tools(self) -> Sequence[BoundTool] | None:
        """What was last listed; ``None`` before that."""
        return self._offered

    def why_held_back(self, name: str) -> str | None:
        """Why the tool of this own name is held back; ``None`` where it is not."""
        if name not in self.held_back:
            return None
        return "is not as it was pinned" if name in (self._pins or {}) else "is new"

    @property
    def accepting(self) -> str:
        """How to accept the tools as they are now, as a sentence."""
        return f"{self._accepting()}."

    def warn(self, text: str) -> None:
        """Say something about the tools in the log, once."""
        self._say(text)

    async def refresh(self) -> bool:
        """Read the list now; whether that changed what is offered. Raises what went wrong; then the last one stays."""
        before = self._offered
        self._changes += 1
        await self._load()
        return self._offered is not before

    async def expect(self, definition: ToolDefinition, *, look: bool = False) -> None:
        """Make sure that the server's tool is the one that was offered; with ``look`` its list is read for that.

        Raises `ToolExecutionError` where it is another one by now, or gone.
        """
        if look or self._read_at != self._changes:
            try:
                await self.refresh()
            except AgentForgeError:
                if look:
                    return  # it is not known; the server's own answer stands
        now = next((each for each in self.definitions if each.name == definition.name), None)
        if now is not None and now.digest == definition.digest:
            return
        name, server = definition.name, self.connection.name
        what = "does not offer it any more" if now is None else "changed it since it was offered"
        raise ToolExecutionError(
            f"the tool {name!r} was not called: the MCP server {server!r} {what}",
            tool=name,
            next_step="The next request offers the tools as they are now.",
        )

    # -- reading the list ------------------------------------------------------------------------

    async def _first(self) -> None:
        optional = not self.options.required
        if optional and self.last_failure is not None:
            # It was away: try it beside the run, which does not wait for what it may never get.
            if self.connection.may_start() and self._loading is None:
                task = asyncio.get_running_loop().create_task(self._load(), context=contextvars.Context())
                task.add_done_callback(self._tried)
                self._loading = task
            return
        try:
            await self._load()
        except ToolExecutionError as error:
            if not optional:
                raise
            self._say(f"{error.message}; the program goes on without its tools", error)

    def _tried(self, task: asyncio.Task[None]) -> None:
        self._loading = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AgentForgeError):
            self.last_failure = error

    def _may_look(self) -> bool:
        """Not while the server is down: the last list stays, and a run does not wait for what comes back by itself or
        with the next call."""
        return self.connection.state == "connected" and self._now() >= self._not_before

    async def _again(self) -> None:
        try:
            await self._load()
        except AgentForgeError as error:
            self._not_before = self._now() + _AGAIN
            self._say(f"{error.message}; the last list of its tools stays", error)

    async def _load(self) -> None:
        try:
            await self.connection.on_its_loop(self._read)
        except AgentForgeError as error:
            self.last_failure = error
            raise
        self.last_failure = None

    async def _read(self) -> None:
        """Read the list until it did not change while it was read."""
        wanted = self._changes
        async with self.connection.reading:
            if self._offered is not None and self._read_at >= wanted:
                return  # somebody else did meanwhile
            for _ in range(_FETCHES):
                seen = self._changes
                definitions = await self.connection.list_tools()
                if seen == self._changes:
                    break
            self._take(definitions)
            self._read_at = seen

    def _take(self, definitions: tuple[ToolDefinition, ...]) -> None:
        info = self.connection.server_info
        if info is None:
            raise McpConnectionError(f"the MCP server {self.connection.name!r} went away while its tools were listed")
        for bad in self.connection.dropped:
            if self._left_out(bad.name):
                continue
            self._say(f"the tool {bad.name!r} of the MCP server {self.connection.name!r} is left out: {bad.reason}")
        for warning in self.connection.warnings:
            self._say(f"the tool list of the MCP server {self.connection.name!r}: {warning}")
        self._compare(definitions)
        kept = [each for each in definitions if each.name not in self.held_back and self._wanted(each, info)]
        self.definitions = definitions
        shape = (info.name, info.version, tuple((each.name, each.digest) for each in kept))
        if self._offered is None or shape != self._shape:
            self._offered = bound_tools(self._binding, kept, info)
            self._shape = shape
        offered = {each.origin.name for each in self._offered if each.origin is not None}
        for each in kept:
            for flag in each.flags if each.name in offered else ():
                self._say(f"the tool {each.name!r} of the MCP server {self.connection.name!r}: {flag}")

    def _compare(self, definitions: tuple[ToolDefinition, ...]) -> None:
        """With the pins; what is not as it was is reported, or held back."""
        if self._pins is None:
            self._pins = pins_of(definitions)
            return
        found = changes_from(self._pins, definitions)
        block = self.options.on_change == "block"
        self.held_back = (*found.changed, *found.new) if block else ()
        accepting = self._accepting()
        done = f"it is held back; {accepting}" if block else f"it is offered all the same; {accepting}"
        for names, what in ((found.changed, "is not as it was pinned"), (found.new, "is new")):
            for name in names:
                digest = next(each.digest for each in definitions if each.name == name)
                text = f"the tool {name!r} of the MCP server {self.connection.name!r} {what}; {done}"
                details = {"server": self.connection.name, "tool": name, "digest": digest, "held_back": block}
                if self._say(text, key=f"{text} {digest}"):
                    self._notices.append(Notice("mcp_tool_changed", text, details))

    def _left_out(self, name: str) -> bool:
        return self.options.left_out is not None and self.options.left_out(name)

    def _wanted(self, definition: ToolDefinition, info: ServerInfo) -> bool:
        if self.options.filter is None:
            return True
        try:
            return bool(self.options.filter(definition, info))
        except Exception as error:
            name = self.connection.name
            self._say(f"the filter of {name!r} failed for {definition.name!r}, which is left out: {error!r}")
            return False

    # -- small things ----------------------------------------------------------------------------

    def _accepting(self) -> str:
        return f"'agentforge mcp inspect {self.connection.name} --pin FILE' accepts it"

    def _changed(self) -> None:
        self._changes += 1

    def _now(self) -> float:
        return self.connection.clock()

    def _say(self, text: str, error: BaseException | None = None, *, key: str | None = None) -> bool:
        """Log it as a warning, once; whether that is the first time."""
        key = key if key is not None else text
        if key in self._told:
            return False
        if len(self._told) >= 1_000:
            self._told.clear()
        self._told.add(key)
        _log.warning("%s", self.connection.secrets.mask(text))
        return True
