"""The application context: a configuration in, its beans out, started together and closed together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from agentforge.config import Layers, MappingNode, Reporter, did_you_mean, load_layers, load_mapping
from agentforge.container.faults import BeanNotFoundError, ContextStateError
from agentforge.container.lifecycle import LifeCycle, told
from agentforge.container.lookup import find_bean
from agentforge.container.making import make_bean
from agentforge.container.plan import Plan, PlannedBean
from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from agentforge.config.settings import AgentForgeSettings
    from agentforge.container.providers import Beans
    from agentforge.plugin import Plugins
    from agentforge.tool.execution.background import BackgroundLoop

__all__ = ("AgentForge",)

_T = TypeVar("_T")


class AgentForge:
    """Beans from a configuration: ``async with AgentForge.load("agentforge.yaml") as app: app.get("assistant")``.

    Make one with `load` or `from_mapping`; nothing is read before `check`, `plan` or the start. It is a context manager
    for asynchronous and for synchronous code, once. Beans are made in the order of their needs and closed in reverse.

    >>> beans = {"bot": {"type": "chat_client", "model": {"type": "scripted", "turns": ["Hello."]}}}
    >>> with AgentForge.from_mapping({"beans": beans}) as app:
    ...     app.get("bot").chat_sync("Hi").text
    'Hello.'
    """

    def __init__(
        self,
        source: Path | Mapping[str, Any],
        *,
        profiles: Sequence[str] | None = None,
        sets: Sequence[str] = (),
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        plugins: Plugins | None = None,
        stop_timeout: float = 10.0,
    ) -> None:
        _check_source(source)
        for name, given in (("profiles", profiles), ("sets", sets)):
            if isinstance(given, str):
                raise ConfigurationError(f"{name} is a list of texts, not a text", next_step=f"Give [{given!r}].")
        self._source = source
        self._profiles = profiles
        self._sets = tuple(sets)
        self._folder = folder
        self._environment = dict(os.environ if environment is None else environment)
        self._given_plugins = plugins
        self._stop_timeout = stop_timeout
        self._overrides: dict[str, object] = {}
        self._layers: Layers | None = None
        self._settings: AgentForgeSettings | None = None
        self._plugins: Plugins | None = None
        self._plan: Plan | None = None
        self._beans: Beans | None = None
        self._life: LifeCycle | None = None
        self._loop: BackgroundLoop | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        # The bean that the caller of `get` asks for, in this thread or task.
        self._asked: ContextVar[str | None] = ContextVar("agentforge_bean_asked_for", default=None)
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
            stop_timeout: Seconds that the closing of one bean may take.
        """
        if isinstance(path, Mapping):
            step = "Use AgentForge.from_mapping(data)."
            raise ConfigurationError("load takes the path of a file, not a mapping", next_step=step)
        return cls(
            Path(path),
            profiles=profiles,
            sets=sets,
            environment=environment,
            plugins=plugins,
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
        stop_timeout: float = 10.0,
    ) -> Self:
        """The context of a mapping of the file's form, in which beans may also be objects.

        ``folder`` is where relative paths begin, by default the working directory. Placeholders read ``environment``;
        its ``AGENTFORGE_BEANS__…`` do not apply, since the program has said what it wants. See `load` for the rest.
        """
        return cls(
            data,
            folder=None if folder is None else Path(folder),
            environment=environment,
            plugins=plugins,
            stop_timeout=stop_timeout,
        )

    # -- before the start ------------------------------------------------------------------------

    def override(self, bean_id: str, bean: object) -> Self:
        """Put an object in the place of a declared bean; the program closes it itself.

        Raises `BeanNotFoundError` for a name that is not declared, `ContextStateError` after the start.
        """
        if self._life is not None or self._ended:
            raise ContextStateError(
                f"the bean '{bean_id}' cannot be overridden: the application has started",
                next_step="Override before 'async with'; for other beans make another AgentForge.",
            )
        beans = self._read().root.get("beans")
        declared = tuple(beans.entries) if isinstance(beans, MappingNode) else ()
        if bean_id not in declared:
            raise BeanNotFoundError(f"no bean is called '{bean_id}'", next_step=did_you_mean(bean_id, declared))
        self._overrides[bean_id] = bean
        self._plan = None
        return self

    def check(self) -> None:
        """Compile the configuration and make nothing. Raises `ConfigurationFaults` with all faults at once."""
        self._compiled()

    @property
    def plan(self) -> Plan:
        """What is built and in which order; compiles. Raises `ConfigurationFaults`."""
        return self._compiled()

    @property
    def bean_ids(self) -> tuple[str, ...]:
        """The ids of the declared beans in the order of the file; compiles."""
        return self._compiled().declared

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what has no effect, such as a variable that names nothing; reads the configuration."""
        return self._read().warnings

    @property
    def settings(self) -> AgentForgeSettings:
        """The program's own settings, from the environment and the ``.env`` file. Raises `ConfigurationFaults`."""
        if self._settings is None:
            from agentforge.config.settings import AgentForgeSettings

            self._settings = AgentForgeSettings.read(self._read().environment)
        return self._settings

    @property
    def plugins(self) -> Plugins:
        """The plugins of this context."""
        if self._plugins is None:
            from agentforge.plugin import Plugins

            settings = self.settings
            self._plugins = self._given_plugins or Plugins(settings.load_plugins, settings.disable_plugins)
        return self._plugins

    # -- beans -----------------------------------------------------------------------------------

    @overload
    def get(self, key: str) -> Any: ...

    @overload
    def get(self, key: type[_T]) -> _T: ...

    def get(self, key: str | type[Any]) -> Any:
        """A bean by its id or alias, or the one bean of a type: its contract or its class.

        A prototype is made anew and belongs to the caller, who starts and closes it. Raises `BeanNotFoundError` when
        there is none, or several of which none is primary; `ContextStateError` before the start and after the end, and
        within ``async with`` for a lazy bean whose start has to be awaited (see `resolve`).
        """
        bean = self._found(key)
        made = self._made(bean)
        life = self._life
        if life is not None and not life.complete:
            wanted = self._compiled().closure(bean.id)
            if not life.waits(wanted):
                life.start_plain(wanted)
            elif self._loop is not None and _running_loop() is not self._home:
                self._loop.run(life.start(wanted))
            else:
                raise ContextStateError(
                    f"the start of the lazy bean '{bean.id}' has to be awaited",
                    next_step=f"Use 'await app.resolve({bean.id!r})'.",
                )
        return made

    @overload
    async def resolve(self, key: str) -> Any: ...

    @overload
    async def resolve(self, key: type[_T]) -> _T: ...

    async def resolve(self, key: str | type[Any]) -> Any:
        """As `get`, and awaits the start of a lazy bean and of those that are made for it."""
        bean = self._found(key)
        made = self._made(bean)
        if self._life is not None and not self._life.complete:
            await self._life.start(self._compiled().closure(bean.id))
        return made

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Make and start every bean that is not lazy; ``async with`` does it. After a failure everything is closed."""
        if self._life is not None or self._ended:
            raise ContextStateError(
                "the application was started before", next_step="Make another AgentForge from the same configuration."
            )
        from agentforge.container.providers import Beans

        plan = self._compiled()
        plugins = self.plugins
        self._home = asyncio.get_running_loop()
        self._life = life = LifeCycle(plan, stop_timeout=self._stop_timeout)

        def make(bean: PlannedBean, uses: Mapping[str, Any], arguments: Mapping[str, Any]) -> object:
            made = make_bean(bean, plan, plugins, uses, arguments)
            if not (bean.options.scope == "prototype" and self._asked.get() == bean.id):
                life.add(bean, made)
            plugins.call_observers("agentforge_bean_created", bean_id=bean.id, bean=made)
            return made

        self._beans = Beans(plan, make)
        eager = [bean_id for bean_id in plan.declared if not plan.beans[bean_id].lazy]
        needed = plan.closure(*(each for each in eager if plan.beans[each].options.scope == "singleton"))
        try:
            for bean in plan.beans.values():
                if bean.id in needed and bean.options.scope == "singleton":
                    self._beans.get(bean.id)
                    await life.start(needed)
            plugins.call_observers("agentforge_context_started", app=self)
        except BaseException:
            await self._stop()
            raise
        return self

    async def stop(self) -> None:
        """Close every bean in reverse; ``async with`` does it. Safe to call twice.

        Raises an `ExceptionGroup` of all that failed, after everything was closed.
        """
        if self._life is None:
            return
        try:
            failures = await self._stop()
        finally:
            self.plugins.call_observers("agentforge_context_stopped", app=self)
        if failures:
            raise ExceptionGroup("beans failed while they were closed", failures)

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
            for failure in failures.exceptions:  # logged as well; what ended the block is the news
                error.add_note(told(failure, self._compiled().secrets))

    def __enter__(self) -> Self:
        from agentforge.tool.execution.background import BackgroundLoop

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
        source = str(self._source) if isinstance(self._source, Path) else "a mapping"
        state = "ended" if self._ended else "started" if self._life is not None else "not started"
        return f"AgentForge({source}, {state})"

    # -- inside ----------------------------------------------------------------------------------

    def _read(self) -> Layers:
        if self._layers is None:
            if isinstance(self._source, Path):
                self._layers = load_layers(
                    self._source,
                    profiles=self._profile_names(),
                    sets=self._sets,
                    environment=self._environment,
                )
            else:
                folder = self._folder or Path.cwd()
                self._layers = load_mapping(self._source, folder=folder, environment=self._environment)
        return self._layers

    def _profile_names(self) -> Sequence[str]:
        if self._profiles is not None:
            return self._profiles
        from agentforge.config.dotenv_file import read_dotenv

        assert isinstance(self._source, Path)
        # What is wrong with the file is reported when it is read as a layer.
        lower = read_dotenv(self._source.parent / ".env", Reporter())
        environment = {name: found.value for name, found in lower.items()} | self._environment
        if "AGENTFORGE_PROFILES" not in environment:
            return ()
        from agentforge.config.settings import AgentForgeSettings

        return AgentForgeSettings.read(environment).profiles

    def _compiled(self) -> Plan:
        if self._plan is None:
            from agentforge.container.compiler import compile_plan
            from agentforge.plugin import Catalogue, PluginError

            layers = self._read()
            plugins = self.plugins
            if self.settings.strict_plugins:
                plugins.load_all()
                broken = [state for state in plugins.states() if not state.usable and state.state != "blocked"]
                if broken:
                    raise PluginError(
                        "; ".join(map(str, broken)), next_step="Correct, remove or block it, or do not be strict."
                    )
            self._plan = compile_plan(
                layers,
                catalogue=Catalogue(plugins),
                overrides=self._overrides,
                secrets_dir=self.settings.secrets_dir,
            )
        return self._plan

    def _found(self, key: str | type[Any]) -> PlannedBean:
        if self._life is None or self._beans is None:
            if self._ended:
                raise ContextStateError("the application has ended", next_step="Use its beans inside the with block.")
            raise ContextStateError(
                "the application has not started", next_step="Use 'async with app:' or 'with app:'."
            )
        return find_bean(self._compiled(), key, self._made)

    def _made(self, bean: PlannedBean) -> Any:
        assert self._beans is not None
        token = self._asked.set(bean.id)
        try:
            return self._beans.get(bean.id)
        finally:
            self._asked.reset(token)

    async def _stop(self) -> list[Exception]:
        life, self._life, self._beans = self._life, None, None
        if life is None:
            return []
        self._ended = True
        return await life.stop()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _check_source(source: object) -> None:
    if isinstance(source, (Path, Mapping)):
        return
    step = "Use AgentForge.load(path) for a file."
    raise ConfigurationError(f"a configuration is a mapping or a file, not {type(source).__name__}", next_step=step)
