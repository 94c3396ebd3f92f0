"""The application context: a configuration in, its beans out, started together and closed together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from agentforge.config import ConfigurationFaults, MappingNode, did_you_mean
from agentforge.config.trust import Trust
from agentforge.container.configured import Configured, Origin
from agentforge.container.faults import BeanNotFoundError, ContextStateError
from agentforge.container.lookup import find_bean
from agentforge.container.loops import running_loop
from agentforge.container.plan import Plan
from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from agentforge.config.settings import AgentForgeSettings
    from agentforge.container.block import InvocationBlock
    from agentforge.container.generation import Generation
    from agentforge.container.reloading import Reloading
    from agentforge.plugin import Plugins
    from agentforge.tool.execution.background import BackgroundLoop

__all__ = ("AgentForge",)

_T = TypeVar("_T")
Resolve = Callable[[str | type[Any]], Awaitable[Any]]


class AgentForge:
    """Beans from a configuration: ``async with AgentForge.load("agentforge.yaml") as app: app.get("assistant")``.

    Make one with `load` or `from_mapping`; nothing is read before `check`, `plan` or the start. It is a context manager
    for asynchronous and for synchronous code, once. Beans are made in the order of their needs and closed in reverse.

    >>> beans = {"bot": {"type": "chat_client", "model": {"type": "scripted", "turns": ["Hello."]}}}
    >>> with AgentForge.from_mapping({"beans": beans}) as app:
    ...     app.get("bot").chat_sync("Hi").text
    'Hello.'
    """

    def __init__(self, origin: Origin, *, stop_timeout: float = 10.0, lower: Configured | None = None) -> None:
        self._stop_timeout = stop_timeout
        self._configured = Configured(origin, lower.overrides if lower is not None else {}, lower=lower)
        self._beans: Generation | None = None
        self._stopping: asyncio.Future[None] | None = None
        #: What a reload that failed has read.
        self._tried: tuple[Path, ...] = ()
        self._reloading: Reloading | None = None
        self._loop: BackgroundLoop | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._ended = False

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] = "agentforge.yaml",
        *,
        profiles: Sequence[str] | None = None,
        sets: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        plugins: Plugins | None = None,
        trust: Trust = "code",
        stop_timeout: float = 10.0,
    ) -> Self:
        """The context of a file.

        Args:
            path: The root file.
            profiles: Names of profile files beside it, the later over the earlier; ``None``: ``AGENTFORGE_PROFILES``.
            sets: ``path=value`` texts that go over everything else.
            environment: The variables; ``None``: those of the process.
            plugins: The plugins to use; ``None``: the installed ones, as ``AGENTFORGE_LOAD_PLUGINS`` and
                ``AGENTFORGE_DISABLE_PLUGINS`` allow.
            trust: ``code``: the file is believed like a program. ``data``: it is a stranger's, may name no ``scan`` and
                no file outside its folder.
            stop_timeout: Seconds that the closing of one bean may take.
        """
        if isinstance(path, Mapping):
            step = "Use AgentForge.from_mapping(data)."
            raise ConfigurationError("load takes the path of a file, not a mapping", next_step=step)
        variables = dict(os.environ if environment is None else environment)
        return cls(
            Origin(Path(path), profiles=profiles, sets=sets, environment=variables, plugins=plugins, trust=trust),
            stop_timeout=stop_timeout,
        )

    @classmethod
    def from_mapping(
        cls,
        data: Mapping[str, Any],
        *,
        folder: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        plugins: Plugins | None = None,
        trust: Trust = "code",
        stop_timeout: float = 10.0,
    ) -> Self:
        """The context of a mapping of the file's form, in which beans may also be objects.

        ``folder`` is where relative paths begin, by default the working directory. Placeholders read ``environment``;
        its ``AGENTFORGE_BEANS__…`` do not apply, since the program has said what it wants. See `load` for the rest.
        """
        variables = dict(os.environ if environment is None else environment)
        return cls(
            Origin(
                data,
                folder=None if folder is None else Path(folder),
                environment=variables,
                plugins=plugins,
                trust=trust,
            ),
            stop_timeout=stop_timeout,
        )

    def fresh(self) -> Self:
        """Another context of the same configuration and overrides, not started, with beans of its own."""
        return type(self)(self._configured.origin, stop_timeout=self._stop_timeout, lower=self._configured)

    # -- before the start ------------------------------------------------------------------------

    def override(self, bean_id: str, bean: object) -> Self:
        """Put an object in the place of a declared bean; the program closes it itself.

        Raises `BeanNotFoundError` for a name that is not declared, `ContextStateError` after the start.
        """
        if self._beans is not None or self._ended:
            raise ContextStateError(
                f"the bean '{bean_id}' cannot be overridden: the application has started",
                next_step=f"Use 'app.fresh().override({bean_id!r}, ...)', and start that.",
            )
        beans = self._configured.layers.root.get("beans")
        declared = tuple(beans.entries) if isinstance(beans, MappingNode) else ()
        if bean_id not in declared:
            raise BeanNotFoundError(f"no bean is called '{bean_id}'", next_step=did_you_mean(bean_id, declared))
        self._configured.override(bean_id, bean)
        return self

    def check(self) -> None:
        """Compile the configuration and make nothing. Raises `ConfigurationFaults` with all faults at once."""
        _ = self._configured.plan

    @property
    def plan(self) -> Plan:
        """What is built and in which order; compiles. Raises `ConfigurationFaults`."""
        return self._configured.plan

    @property
    def bean_ids(self) -> tuple[str, ...]:
        """The ids of the declared beans in the order of the file; compiles."""
        return self._configured.plan.declared

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what has no effect, such as a variable that names nothing; reads the configuration. Once it is
        compiled those on plugins are among them."""
        return self._configured.warnings

    @property
    def settings(self) -> AgentForgeSettings:
        """The program's own settings, from the environment and the ``.env`` file. Raises `ConfigurationFaults`."""
        return self._configured.settings

    @property
    def plugins(self) -> Plugins:
        """The plugins of this context."""
        return self._configured.plugins

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the configuration was read from, and ``.env``, whether it is there or not; after a reload that
        failed, those that it read as well."""
        return tuple(dict.fromkeys((*self._configured.files, *self._tried)))

    def as_read(self, path: Path) -> bool:
        """Whether one of `files` still is what the beans were made from: its text, of ``.env`` the time and size.

        Reads it.
        """
        return self._configured.as_read(path)

    # -- beans -----------------------------------------------------------------------------------

    @overload
    def get(self, key: str) -> Any: ...

    @overload
    def get(self, key: Callable[..., _T]) -> _T: ...  # a protocol is no concrete class to a type checker

    def get(self, key: Any) -> Any:
        """A bean by its id or alias, or the one bean of a type: its contract or its class.

        A prototype is made anew and belongs to the caller, who starts and closes it. Raises `BeanNotFoundError` when
        there is none, or several of which none is primary; `ContextStateError` before the start and after the end, and
        within ``async with`` for a lazy bean whose start has to be awaited (see `resolve`).
        """
        while True:
            beans = self._running()
            try:
                found = beans.get(find_bean(beans.plan, key, beans.raw))
            except ContextStateError:
                if not self._left(beans):
                    raise
            else:
                if not self._left(beans):
                    return found

    @overload
    async def resolve(self, key: str) -> Any: ...

    @overload
    async def resolve(self, key: Callable[..., _T]) -> _T: ...

    async def resolve(self, key: Any) -> Any:
        """As `get`, and awaits the start of a lazy bean and of those that are made for it."""
        while True:
            beans = self._running()
            try:
                found = await _resolved(beans, key)
            except ContextStateError:
                if not self._left(beans):
                    raise
            else:
                if not self._left(beans):
                    return found

    def invocation(self) -> InvocationBlock:
        """A run without a conversation, for tests and programs: ``async with app.invocation() as run: ...``.

        Within it (by ``with`` where the application was entered so) the beans of the scope ``invocation`` are there;
        at its end they are closed.
        """
        from agentforge.container.block import InvocationBlock

        return InvocationBlock(self._loop)

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Make and start every bean that is not lazy; ``async with`` does it. After a failure everything is closed."""
        self._expect_new()
        from agentforge.container.reloading import Reloading

        _ = self._configured.plan
        self._home = asyncio.get_running_loop()
        self._beans = beans = self._generation(self._configured)
        try:
            await beans.start()
            self._running()  # and not stopped meanwhile
            self._reloading = Reloading()
            beans.plugins.call_observers("agentforge_context_started", app=self)
        except BaseException:
            self._ended, self._beans = True, None
            await beans.stop()
            raise
        return self

    async def stop(self) -> None:
        """Close every bean in reverse, those of former configurations as well; ``async with`` does it. Safe to call
        twice: who comes while it is stopped waits for that. A start or a reload that is under way is given up.

        Raises an `ExceptionGroup` of all that failed, after everything was closed.
        """
        home = self._home
        if home is not None and home is not asyncio.get_running_loop() and home.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.stop(), home))
            return
        beans, self._beans = self._beans, None
        if beans is None:
            if self._stopping is not None and self._stopping.get_loop() is asyncio.get_running_loop():
                await asyncio.wait((self._stopping,))
            return
        self._ended = True
        self._stopping = stopped = asyncio.get_running_loop().create_future()
        try:
            failures = await (beans.stop() if self._reloading is None else self._reloading.stop(beans))
        finally:
            stopped.set_result(None)
            if self._reloading is not None:  # else it has never been started
                beans.plugins.call_observers("agentforge_context_stopped", app=self)
        if failures:
            raise ExceptionGroup("beans failed while they were closed", failures)

    async def reload(
        self,
        *,
        accept: Callable[[Plan], object] | None = None,
        ready: Callable[[Resolve], Awaitable[object]] | None = None,
    ) -> None:
        """Read the configuration again and go on with new beans; overrides and settings given in Python hold.

        `get` gives the new beans from then on. Conversations that are under way end on the old ones, which are then
        closed. ``accept`` is shown the new plan before anything is made. ``ready`` is awaited when the new beans are
        started, with a function that resolves them by name or type, before they take the place of the old ones. What
        either raises refuses the new beans.

        Raises `ConfigurationFaults` for a configuration with faults, and what a failing start raises; the beans of
        before then stay. Raises `ContextStateError` when the application is not running.
        """
        self._running()
        if self._reloading is None:
            raise ContextStateError("the application is still starting", next_step="Reload it after its start.")
        assert self._home is not None
        if asyncio.get_running_loop() is not self._home:
            again = self.reload(accept=accept, ready=ready)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(again, self._home))
            return
        async with self._reloading.turn:
            self._running()  # while it waited for its turn
            configured = self._configured.again()
            try:
                plan = configured.plan
            except BaseException as error:
                read = error.sources if isinstance(error, ConfigurationFaults) else ()
                self._tried = tuple(dict.fromkeys((*configured.files, *map(Path, read))))
                raise
            self._tried = configured.files
            if accept is not None:
                accept(plan)
            beans = self._generation(configured)
            async with self._reloading.coming(beans):
                await beans.start()
                if ready is not None:
                    await ready(partial(_resolved, beans))
                before = self._running()
                self._configured, self._beans, self._tried = configured, beans, ()
                self._reloading.retire(before)

    def reload_sync(
        self,
        *,
        accept: Callable[[Plan], object] | None = None,
        ready: Callable[[Resolve], Awaitable[object]] | None = None,
    ) -> None:
        """As `reload`, for synchronous code, from any thread but that of the application's own loop."""
        self._running()
        assert self._home is not None
        if running_loop() is self._home:
            raise ContextStateError(
                "a synchronous reload would keep this event loop from doing it", next_step="Use 'await app.reload()'."
            )
        if self._loop is not None:
            self._loop.run(self.reload(accept=accept, ready=ready))
        else:
            asyncio.run_coroutine_threadsafe(self.reload(accept=accept, ready=ready), self._home).result()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        except ExceptionGroup as failures:
            if error is None:
                raise
            from agentforge.container.lifecycle import told

            for failure in failures.exceptions:  # logged as well; what ended the block is the news
                error.add_note(told(failure, self._configured.plan.secrets))

    def __enter__(self) -> Self:
        from agentforge.tool.execution.background import BackgroundLoop

        self._expect_new()
        self._loop = BackgroundLoop()
        try:
            return self._loop.run(self.start())
        except BaseException:
            self._loop.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._loop is not None
        try:
            self._loop.run(self.__aexit__(kind, error, traceback))
        finally:
            self._loop.close()

    def __repr__(self) -> str:
        state = "ended" if self._ended else "started" if self._beans is not None else "not started"
        return f"AgentForge({self._configured.origin}, {state})"

    # -- inside ----------------------------------------------------------------------------------

    def _expect_new(self) -> None:
        if self._beans is not None or self._ended:
            raise ContextStateError("the application was started before", next_step="Use 'app.fresh()' for another.")

    def _running(self) -> Generation:
        if self._beans is not None:
            return self._beans
        if self._ended:
            raise ContextStateError("the application has ended", next_step="Use its beans inside the with block.")
        raise ContextStateError("the application has not started", next_step="Use 'async with app:' or 'with app:'.")

    def _left(self, beans: Generation) -> bool:
        """Whether these beans have ended because a reload went over to others: then it is those that are meant."""
        return beans.ended and beans is not self._beans and not self._ended

    def _generation(self, configured: Configured) -> Generation:
        from agentforge.container.generation import Generation

        assert self._home is not None
        return Generation(configured, stop_timeout=self._stop_timeout, home=self._home, loop=self._loop)


async def _resolved(beans: Generation, key: str | type[Any]) -> Any:
    return await beans.resolve(find_bean(beans.plan, key, beans.raw))
