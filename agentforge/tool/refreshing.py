"""Tools that are data and change while the program runs: loaded again every so often, the last good set stays.

What declares the tools (a table, an address) is somebody else's and may be away or wrong at any time. So a run waits
for the first load only; a later one goes on beside the runs, and what it gives is offered when all of it fits.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import inspect
import itertools
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from agentforge.errors import AgentForgeError, ConfigurationError, ToolLimitedError
from agentforge.masking import Secrets
from agentforge.model.specification import ToolSpecification
from agentforge.tool.declare import is_seconds
from agentforge.tool.declared import DeclaredTool
from agentforge.tool.execution.calling import function_behind
from agentforge.tool.execution.own_executor import bound_tool_from
from agentforge.tool.execution.run import Run
from agentforge.tool.execution.schema_validator import SchemaValidator
from agentforge.tool.execution.threads import ToolThreads
from agentforge.tool.source import BoundTool
from agentforge.tool.spec.specifications import validate_specifications

__all__ = ("LoadTools", "RefreshingTools")

_log = logging.getLogger("agentforge.tool")
_SHOWN = 500  # characters of what went wrong
_TOLD = 100  # failures that are known to have been told
_PATIENCE = 5.0  # seconds for a load that was cancelled


LoadTools: TypeAlias = Callable[
    [], Iterable[ToolSpecification | DeclaredTool] | Awaitable[Iterable[ToolSpecification | DeclaredTool]]
]
"""Gives all tools that are to be offered: specifications, or declared tools where more is to be said of them."""


@dataclass(slots=True, eq=False)
class _Load:
    """A load under way: the task that does it, on whose loop, and what those wait for who need its end."""

    loop: asyncio.AbstractEventLoop
    done: concurrent.futures.Future[None]
    task: asyncio.Task[None] | None = None


class RefreshingTools:
    """A `ToolSource` whose tools are loaded when they are first asked for, and again every ``interval`` seconds.

    ``load`` gives all declarations, see `LoadTools`; one that is not async is called on a thread. ``executor`` runs all
    of them, as in `bound_tool_from`. A run waits for the first load; from then on, the first that asks after the
    interval begins a refresh and, like all others, gets the last good set until the new one is there. While nobody
    asks, nothing is loaded. A set is compared by content: as long as the tools and what is said of them are equal, in
    whatever order, the same sequence object is returned.

    A refresh that fails keeps the last good set; each different failure is logged once as a warning, and the next
    refresh begins after the interval. It fails as a whole: when ``load`` raises or takes longer than ``timeout``
    seconds, for a declaration that does not fit, two tools of one name, more than ``max_tools``, and for none at all
    unless ``allow_empty``. ``secrets`` are masked in what is told. ``clock`` is for tests.

    `aclose` ends a refresh that is under way, and calls the ``aclose`` of ``load`` where it has one; the source is an
    async context manager, too. May be used from several event loops.

    Raises `ConfigurationError` for settings that cannot be honoured, `ToolDeclarationError` for an executor that cannot
    be called.

    >>> async def look() -> str:
    ...     tools = RefreshingTools(lambda: [ToolSpecification("ping")], lambda request: "pong")
    ...     async with tools:
    ...         return repr(tools)
    >>> asyncio.run(look())
    "RefreshingTools('data', tools=1)"
    """

    def __init__(
        self,
        load: LoadTools,
        executor: Any,
        *,
        interval: float = 60.0,
        timeout: float = 30.0,
        allow_empty: bool = False,
        max_tools: int = 1_000,
        source_name: str = "data",
        secrets: Secrets | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not callable(load):
            raise ConfigurationError(
                f"load must be a callable that gives tool specifications, not {type(load).__name__}",
                next_step="Tools that never change are a StaticTools.",
            )
        for name, seconds in (("interval", interval), ("timeout", timeout)):
            if not is_seconds(seconds) or not math.isfinite(seconds):
                raise ConfigurationError(f"{name} must be seconds above 0, not {seconds!r}")
        if not isinstance(max_tools, int) or isinstance(max_tools, bool) or max_tools < 1:
            raise ConfigurationError(f"max_tools must be a whole number from 1, not {max_tools!r}")
        self.interval = float(interval)
        self.source_name = source_name
        #: Why the last load failed; ``None`` when it did not.
        self.last_failure: ConfigurationError | None = None
        self._load = load
        self._is_async = inspect.iscoroutinefunction(function_behind(load))
        self._executor = executor
        bound_tool_from(ToolSpecification(source_name), executor)  # raises for one that cannot be called
        self._timeout = timeout
        self._allow_empty = allow_empty
        self._max_tools = max_tools
        self._secrets = secrets if secrets is not None else Secrets()
        self._clock = clock
        #: One at a time: a load that does not return holds up the next one, not a further thread.
        self._threads = ToolThreads(1, 0)
        self._changing = threading.RLock()
        self._under_way: _Load | None = None
        self._offered: tuple[BoundTool, ...] | None = None
        self._known: dict[str, tuple[str, BoundTool]] = {}
        self._due = -math.inf
        self._told: set[str] = set()
        self._closed = False

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The last good set. Raises `ConfigurationError` where there is none, because the first load failed."""
        if self._offered is None:
            await self.start()
        elif not self._closed and self._clock() >= self._due:
            self._begin()
        assert self._offered is not None
        return self._offered

    def known_tools(self) -> Sequence[BoundTool] | None:
        """The last good set; ``None`` where nothing was loaded yet."""
        return self._offered

    async def start(self) -> None:
        """Load for the first time, unless that is done. Raises `ConfigurationError`, whose cause is what went wrong."""
        if self._offered is None:
            await self._ended(self._begin())

    async def refresh(self) -> bool:
        """Load now; whether that changed what is offered. Raises `ConfigurationError`, whose cause is what went wrong;
        then the last good set stays.

        What is under way began before, so that its end is waited for first.
        """
        before = self._offered
        await self.settled()
        await self._ended(self._begin())
        return self._offered is not before

    async def settled(self) -> None:
        """Wait for the end of the load that is under way, if there is one, however it ends."""
        under_way = self._under_way
        if under_way is not None and not under_way.loop.is_closed():
            with contextlib.suppress(ConfigurationError):
                await self._ended(under_way)

    async def aclose(self) -> None:
        """End a load that is under way, and begin none any more; the last good set stays. Safe to call twice."""
        with self._changing:
            self._closed = True
            under_way = self._under_way
        if under_way is not None and under_way.task is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended, and it with it
                under_way.loop.call_soon_threadsafe(under_way.task.cancel)
                await asyncio.wait([_end_of(under_way)], timeout=_PATIENCE)
        self._threads.close()
        close = getattr(self._load, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        held = "not loaded" if self._offered is None else f"tools={len(self._offered)}"
        return f"RefreshingTools({self.source_name!r}, {held})"

    # -- one load --------------------------------------------------------------------------------

    def _begin(self) -> _Load:
        """The load under way, which all share, or a new one."""
        loop = asyncio.get_running_loop()
        with self._changing:
            now = self._under_way
            if now is not None and not now.loop.is_closed():
                return now
            if self._closed:
                raise self._failure("the source is closed", "Use it before aclose().")
            self._under_way = made = _Load(loop, concurrent.futures.Future())
            # A load belongs to no run, though one began it: not to its context, and not to its cancellation.
            made.task = loop.create_task(self._refresh(), context=contextvars.Context())
            made.task.add_done_callback(lambda task: self._hand_over(made, task))
        if now is not None:
            now.done.set_exception(self._failure("its event loop ended", "Try again."))
        return made

    def _hand_over(self, load: _Load, task: asyncio.Task[None]) -> None:
        with self._changing:
            self._under_way = None
        error = self._failure("the load was ended", "Try again.") if task.cancelled() else task.exception()
        if error is None:
            load.done.set_result(None)
        else:
            load.done.set_exception(error)

    async def _ended(self, load: _Load) -> None:
        # One that stops waiting ends the load of no other.
        await asyncio.shield(_end_of(load))

    async def _refresh(self) -> None:
        try:
            self._take(await self._loaded())
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # from outside; any other is the load's own
            self.last_failure = failure = self._read(error)
            self._tell(failure)
            raise failure from error
        finally:
            self._due = self._clock() + self.interval
        self.last_failure = None
        if self._told:
            self._told.clear()
            _log.info("the tools of %r are refreshed again", self.source_name)

    async def _loaded(self) -> dict[str, tuple[str, BoundTool]]:
        try:
            async with asyncio.timeout(self._timeout) as limit:
                found = self._load() if self._is_async else await self._threads.run(self._drawn)
                listed = self._listed(await found if inspect.isawaitable(found) else found)
                # A thousand schemas take half a second, in which the loop does something else.
                known: dict[str, tuple[str, BoundTool]] = await self._threads.run(lambda: self._made(listed))
                return known
        except TimeoutError as error:
            if isinstance(error, AgentForgeError) or not limit.expired():
                raise
            raise ConfigurationError(f"they did not come within {self._timeout:g} s") from None
        except ToolLimitedError:
            raise ConfigurationError("the load before has not returned yet") from None

    def _drawn(self) -> Any:
        """What a plain ``load`` gives; its items are drawn here, on the thread, too."""
        found = self._load()
        return found if inspect.isawaitable(found) else self._listed(found)

    def _listed(self, found: Any) -> list[Any]:
        if not isinstance(found, Iterable) or isinstance(found, (str, bytes, Mapping)):
            raise ConfigurationError(f"load gave {type(found).__name__}, not a series of tool specifications")
        return list(itertools.islice(found, self._max_tools + 1))

    def _made(self, found: Sequence[ToolSpecification | DeclaredTool]) -> dict[str, tuple[str, BoundTool]]:
        """The tools by name, with what is said of each; one that is as it was stays the same object."""
        if not found and not self._allow_empty:
            raise ConfigurationError("there are none", next_step="Declare one, or set allow_empty.")
        if len(found) > self._max_tools:
            raise ConfigurationError(
                f"there are more than {self._max_tools}", next_step="Declare fewer, or raise max_tools."
            )
        declared = [_declared_tool(each) for each in found]
        validate_specifications(each.specification for each in declared)
        known: dict[str, tuple[str, BoundTool]] = {}
        for each in declared:
            name, content = each.specification.name, each.content
            before = self._known.get(name)
            if before is None or before[0] != content:
                tool = each.bound(self._executor, self.source_name)
                assert isinstance(tool.bind, SchemaValidator)
                tool.bind.prepare()  # a schema that is none is found before anybody is offered the tool
                before = content, tool
            known[name] = before
        return known

    def _take(self, known: dict[str, tuple[str, BoundTool]]) -> None:
        """Offer these from now on."""
        if self._offered is not None and known == self._known:
            return
        if self._offered is not None:
            _log.info("the tools of %r changed: there are %d now", self.source_name, len(known))
        self._known = known
        self._offered = tuple(tool for _, tool in known.values())

    # -- what is told ----------------------------------------------------------------------------

    def _tell(self, failure: ConfigurationError) -> None:
        if self._offered is None or failure.message in self._told:
            return  # whoever waits is told, or everybody was
        if len(self._told) >= _TOLD:
            self._told.clear()
        self._told.add(failure.message)
        _log.warning("%s; the last good set stays, of size %d", failure.message, len(self._offered))

    def _read(self, error: BaseException) -> ConfigurationError:
        """What went wrong as one kind of error, without secrets."""
        if isinstance(error, AgentForgeError):
            place = f" ({error.location})" if error.location else ""
            return self._failure(f"{error.message}{place}", error.next_step)
        text = str(error).strip()
        return self._failure(f"{type(error).__name__}: {text}" if text else type(error).__name__, None)

    def _failure(self, reason: str, step: str | None) -> ConfigurationError:
        mask = self._secrets.mask
        text = " ".join(mask(reason).split())
        return ConfigurationError(
            f"the tools of {self.source_name!r} could not be loaded: "
            + (text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"),
            next_step=mask(step) if step else "See that what declares them can be reached, and that all of it fits.",
        )


def _end_of(load: _Load) -> asyncio.Future[None]:
    """The end of a load for the running loop; its failure counts as told, though nobody may wait any more."""
    ended = asyncio.wrap_future(load.done)
    ended.add_done_callback(lambda done: done.cancelled() or done.exception())
    return ended


def _declared_tool(each: object) -> DeclaredTool:
    if isinstance(each, DeclaredTool):
        return each
    if isinstance(each, ToolSpecification):
        return DeclaredTool(each)
    raise ConfigurationError(
        f"load gave {type(each).__name__} among the tools",
        next_step="Give each as a ToolSpecification, or as a DeclaredTool.",
    )
