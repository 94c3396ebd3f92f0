"""The beans of one compiled configuration, from their start to their end; a reload makes the next generation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from agentforge.client import ChatClient
from agentforge.container.configured import Configured
from agentforge.container.faults import ContextStateError
from agentforge.container.held import Held
from agentforge.container.invocation import Invocations
from agentforge.container.lifecycle import LifeCycle
from agentforge.container.loops import running_loop
from agentforge.container.making import make_bean
from agentforge.container.plan import PlannedBean
from agentforge.container.providers import Beans
from agentforge.container.starting import own_of, singletons_needed, start_side_by_side
from agentforge.tool.execution import RunsUnderWay, ToolService

if TYPE_CHECKING:
    from agentforge.tool.execution.background import BackgroundLoop

__all__ = ("Generation",)


class Generation:
    """Makes, starts, gives and closes the beans of a plan.

    ``home`` is the loop on which it is started and stopped, ``loop`` the application's own thread in synchronous use.
    """

    def __init__(
        self,
        configured: Configured,
        *,
        stop_timeout: float,
        home: asyncio.AbstractEventLoop,
        loop: BackgroundLoop | None,
    ) -> None:
        self.plan = plan = configured.plan
        self.plugins = configured.plugins
        self.ended = False
        #: Done as soon as a start that is under way is to be given up; the second one when it is over.
        self._starting: tuple[asyncio.Future[None], asyncio.Future[None]] | None = None
        self._home = home
        self._loop = loop
        self._life = LifeCycle(plan, stop_timeout=stop_timeout, entered=self._entered)
        #: What the beans have in common, see `BeanContext.shared`.
        self._common: dict[type, Any] = {}
        self._runs = Invocations(self, stop_timeout=stop_timeout)
        self._beans = Beans(plan, self._make, self.ask, self._runs.stand_in)
        #: The singletons that are started, with all that they need.
        self._ready: set[str] = set()
        #: The beans of other scopes whose needs are all ready.
        self._supplied: set[str] = set()
        self._order = {bean_id: position for position, bean_id in enumerate(plan.beans)}
        # The bean that the caller of `get` asks for, and whose life what is made for a bean shares.
        self._asked: ContextVar[str | None] = ContextVar("agentforge_bean_asked_for", default=None)
        self._owner: ContextVar[LifeCycle | None] = ContextVar("agentforge_bean_owner", default=None)

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Make and start every bean that is not lazy. After a failure everything is closed."""
        plan = self.plan
        eager = [each for each in plan.declared if not plan.beans[each].lazy]
        wanted = [each for each in eager if plan.beans[each].options.scope == "singleton"]
        needs = singletons_needed(plan, wanted, self._order)
        loop = asyncio.get_running_loop()
        self._starting = given_up, over = loop.create_future(), loop.create_future()
        try:
            await start_side_by_side(needs, self._made_for_start, self._life, given_up)
            self._ready.update(needs)
        except BaseException:
            self.ended = True
            await self._close()
            raise
        finally:
            self._starting = None
            over.set_result(None)

    async def stop(self) -> list[Exception]:
        """Close the objects of runs, then every bean in reverse; returns what failed.

        A start that is under way is given up, and closes what it has made itself.
        """
        self.ended = True
        if self._starting is None:
            return await self._close()
        given_up, over = self._starting
        if not given_up.done():
            given_up.set_result(None)
        await asyncio.wait((over,))
        return []

    async def _close(self) -> list[Exception]:
        failures: list[Exception] = []
        ended: BaseException | None = None
        for step in (self._runs.stop, self._life.stop):
            try:
                failures += await step()
            except BaseException as error:
                ended = ended or error
        if ended is not None:
            raise ended
        return failures

    async def idle(self) -> None:
        """Wait until no run is under way on any of its services, nor holds one of its beans."""
        while busy := [runs for runs in self._under_way() if len(runs)]:
            event = asyncio.Event()
            busy[0].when_idle(partial(_set, asyncio.get_running_loop(), event))
            await event.wait()

    # -- beans -----------------------------------------------------------------------------------

    def ask(self, bean_id: str) -> Any:
        """What a provider of a bean gives: the bean, as `get`."""
        self._expect_open("the beans of this provider have ended")
        return self.get(self.plan.beans[bean_id])

    def get(self, bean: PlannedBean) -> Any:
        """The bean, made and started with all that it needs. Raises `ContextStateError` when that has to be awaited."""
        bean_id = bean.id
        if bean_id in self._ready:
            return self._beans.get(bean_id)
        if bean.options.scope == "invocation":
            return self._runs.current(bean_id).get(bean)
        self.bring_plain(bean)
        made, held = self._last(bean)
        self._start_now(held, bean_id)
        return made

    async def resolve(self, bean: PlannedBean) -> Any:
        """As `get`, and awaits what has to be awaited."""
        bean_id = bean.id
        if bean_id in self._ready:
            return self._beans.get(bean_id)
        if bean.options.scope == "invocation":
            return await self._runs.current(bean_id).resolve(bean)
        await self.bring(bean)
        made, held = self._last(bean)
        await self._on_home(held)
        return made

    def bring_plain(self, bean: PlannedBean) -> None:
        """Make and start the singletons that the bean needs, itself as well; see `get`."""
        for each, needs in self._missing(bean):
            self._bring(each, bean.id)
            own = own_of(self.plan, each)
            self._start_now(self._life.open(own), bean.id)
            self._settle(each, own, needs)

    async def bring(self, bean: PlannedBean) -> None:
        """As `bring_plain`, and awaits what has to be awaited."""
        for each, needs in self._missing(bean):
            self._bring(each, bean.id)
            own = own_of(self.plan, each)
            await self._on_home(self._life.open(own))
            self._settle(each, own, needs)

    def fresh(self, bean: PlannedBean, asked: str, life: LifeCycle, of_run: Callable[[str], object]) -> object:
        """A new object of a bean of the scope ``invocation``, whose needs are there; it belongs to ``life``."""
        owner, before = self._owner.set(life), self._asked.set(None)
        try:
            return self._beans.make_fresh(bean, asked, of_run)
        finally:
            self._owner.reset(owner)
            self._asked.reset(before)

    def raw(self, bean: PlannedBean) -> Any:
        """A bean whose needs are there, started or not: to look at its class."""
        return self._beans.get(bean.id)

    # -- inside ----------------------------------------------------------------------------------

    def _expect_open(self, message: str = "the application has ended, or these beans have") -> None:
        if self.ended:  # what came after the closing would never be closed
            raise ContextStateError(message, next_step="Use it inside the with block.")

    def _make(self, bean: PlannedBean, uses: Mapping[str, Any], arguments: Mapping[str, Any]) -> object:
        made = make_bean(bean, self.plan, self.plugins, uses, arguments, self._common)
        if bean.options.scope == "singleton":
            self._life.add(bean, made)
        elif self._asked.get() != bean.id:  # a prototype that the program asked for is the program's
            (self._owner.get() or self._life).add(bean, made)
        self.plugins.call_observers("agentforge_bean_created", bean_id=bean.id, bean=made)
        return made

    def _made_for_start(self, bean_id: str) -> list[Held]:
        before = self._life.count
        self._bring(bean_id, bean_id)
        return self._life.since(before)

    def _missing(self, bean: PlannedBean) -> Iterator[tuple[str, set[str]]]:
        """The singletons that are missing for the bean, in the order of their making, each with those it needs."""
        if bean.id in self._supplied:
            return
        missing = singletons_needed(self.plan, [bean.id], self._order)
        for each, needs in missing.items():
            if each not in self._ready:
                yield each, needs
        if missing.keys() <= self._ready:
            self._supplied.add(bean.id)

    def _bring(self, bean_id: str, asked: str) -> None:
        """Make a singleton, if it is not there; what is made for it is the application's."""
        if self._beans.made(bean_id):
            return
        self._expect_open()
        owner, before = self._owner.set(None), self._asked.set(None)
        try:
            self._beans.make(bean_id, asked)
        finally:
            self._owner.reset(owner)
            self._asked.reset(before)

    def _start_now(self, held: Sequence[Held], asked: str) -> None:
        if not any(each.has_to_be_awaited for each in held):
            self._life.start_plain(held)
        elif self._loop is not None and running_loop() is not self._home:
            self._loop.run(self._life.start(held))
        else:
            raise ContextStateError(
                f"the start of the lazy bean '{asked}' has to be awaited",
                next_step=f"Use 'await app.resolve({asked!r})'.",
            )

    async def _on_home(self, held: Sequence[Held]) -> None:
        """Start on the application's own thread where there is one, which nothing ever blocks; else here."""
        if self._loop is None or running_loop() is self._home:
            await self._life.start(held)
        elif held:
            starting = asyncio.run_coroutine_threadsafe(self._life.start(held), self._home)
            await asyncio.wrap_future(starting)

    def _settle(self, bean_id: str, own: frozenset[str], needs: set[str]) -> None:
        """Note that it is ready, unless the caller is a start that it waits for."""
        if needs <= self._ready and self._life.settled(own):
            self._ready.add(bean_id)

    def _last(self, bean: PlannedBean) -> tuple[Any, list[Held]]:
        """The bean, whose needs are there; a prototype is made now, with what is made for it and is to be started."""
        if bean.options.scope == "singleton":
            return self._beans.get(bean.id), []
        self._expect_open()
        before = self._life.count
        asked = self._asked.set(bean.id)
        try:
            made = self._beans.make(bean.id, bean.id)
        finally:
            self._asked.reset(asked)
        return made, self._life.since(before)

    def _entered(self, bean: PlannedBean, value: object) -> None:
        if bean.options.scope == "singleton":
            self._beans.replace(bean.id, value)

    def _under_way(self) -> Iterator[RunsUnderWay]:
        """The runs of its services, and those that hold beans of their own."""
        yield self._runs.under_way
        for made in self._life.objects:
            service = made.service if isinstance(made, ChatClient) else made
            if isinstance(service, ToolService):
                yield service.runs


def _set(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(event.set)
