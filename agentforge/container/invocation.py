"""Beans of the scope ``invocation``: a fresh object for each conversation run, closed when the run is over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from agentforge.container.faults import InvocationError
from agentforge.container.lifecycle import LifeCycle
from agentforge.container.loops import running_loop
from agentforge.container.plan import Plan, PlannedBean
from agentforge.container.stand_in import make_stand_in
from agentforge.container.starting import own_of
from agentforge.tool.execution import Run, RunsUnderWay, current_run, current_run_loop

if TYPE_CHECKING:
    from agentforge.container.generation import Generation

__all__ = ("Invocation", "Invocations")


class Invocations:
    """The objects of all runs that use beans of one generation."""

    def __init__(self, generation: Generation, *, stop_timeout: float) -> None:
        self.generation = generation
        self.stop_timeout = stop_timeout
        self.under_way = RunsUnderWay()
        # By identity: ids may repeat. A run is held here, so that its own stays its own, until it is over.
        self._of_run: dict[int, Invocation] = {}
        self._lock = threading.Lock()

    def current(self, bean_id: str) -> Invocation:
        """The objects of the run at hand. Raises `InvocationError` outside of any."""
        run = current_run()
        if run is None:
            raise InvocationError(
                f"the bean '{bean_id}' is fresh for each conversation run, and no run is under way here",
                next_step="Use it in a tool or gate of a conversation, or inside 'with app.invocation():'.",
            )
        return self.of(run)

    def of(self, run: Run) -> Invocation:
        """The objects of a run. Raises `RunStateError` once it is over."""
        found = self._of_run.get(id(run))
        if found is None:
            with self._lock:
                found = self._of_run.get(id(run))
                if found is None:
                    found = Invocation(self, run, current_run_loop() if run is current_run() else None)
                    run.on_end(found.close)  # raises where the run is over
                    found.hold()
                    self._of_run[id(run)] = found
        return found

    def stand_in(self, bean: PlannedBean) -> object:
        """What a bean that lives longer than a run gets in the place of one that does not."""

        def get(run: Run | None) -> Any:
            return (self.current(bean.id) if run is None else self.of(run)).get(bean)

        async def resolve(run: Run | None) -> Any:
            return await (self.current(bean.id) if run is None else self.of(run)).resolve(bean)

        return make_stand_in(bean.id, bean.provides, get, resolve)

    def forget(self, run: Run) -> None:
        """The run is over."""
        self._of_run.pop(id(run), None)

    async def stop(self) -> list[Exception]:
        """Close the objects of all runs that are still under way."""
        failures: list[Exception] = []
        ended: BaseException | None = None
        while self._of_run:
            try:
                failures += await next(iter(self._of_run.values())).stop()
            except BaseException as error:
                ended = ended or error
        if ended is not None:
            raise ended
        return failures


class Invocation:
    """The objects of one run. ``loop`` is the run's own, on which they are started and closed."""

    def __init__(self, runs: Invocations, run: Run, loop: asyncio.AbstractEventLoop | None) -> None:
        generation = runs.generation
        self._runs = runs
        self._run = run
        self._loop = loop
        self._generation = generation
        self._plan: Plan = generation.plan
        self._values: dict[str, Any] = {}
        # It knows the values and not this object: no circle may outlive the run.
        note = partial(_note_entered, self._values)
        self._life = LifeCycle(self._plan, stop_timeout=runs.stop_timeout, entered=note)
        self._ready: set[str] = set()
        self._making = threading.RLock()
        self._hold = runs.under_way.holding(run)

    def hold(self) -> None:
        """The generation waits for the run from now on."""
        self._hold.__enter__()

    def get(self, bean: PlannedBean) -> Any:
        """The run's object. Raises `InvocationError` when its start has to be awaited here."""
        if bean.id in self._ready:
            return self._values[bean.id]
        for each in self._needed(bean):
            self._generation.bring_plain(each)
            self._make(each, bean.id)
            own = own_of(self._plan, each.id)
            held = self._life.open(own)
            if not any(one.has_to_be_awaited for one in held):
                self._life.start_plain(held)
            elif self._loop is not None and running_loop() is not self._loop:
                asyncio.run_coroutine_threadsafe(self._life.start(held), self._loop).result()
            else:
                raise InvocationError(
                    f"the start of the bean '{bean.id}' has to be awaited in each run",
                    next_step=f"Use 'await app.resolve({bean.id!r})', or one of its asynchronous methods first.",
                )
            self._settle(each, own)
        return self._values[bean.id]

    async def resolve(self, bean: PlannedBean) -> Any:
        """As `get`, and awaits what has to be awaited."""
        if bean.id in self._ready:
            return self._values[bean.id]
        for each in self._needed(bean):
            await self._generation.bring(each)
            self._make(each, bean.id)
            own = own_of(self._plan, each.id)
            await self._on_loop(self._life.start(self._life.open(own)))
            self._settle(each, own)
        return self._values[bean.id]

    async def close(self) -> None:
        """Close what the run has used, in reverse; what fails is logged."""
        await self.stop()

    async def stop(self) -> list[Exception]:
        """As `close`, and returns what failed."""
        try:
            return await self._life.stop()
        finally:
            self._runs.forget(self._run)
            self._hold.__exit__()
            self._values.clear()
            self._ready.clear()

    # -- inside ----------------------------------------------------------------------------------

    def _needed(self, bean: PlannedBean) -> list[PlannedBean]:
        """The beans of this scope that the bean needs itself, in the order of their making, and the bean."""
        beans = self._plan.beans
        found: set[str] = set()
        waiting = [bean.id]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(each for each in beans[current].needs if beans[each].options.scope == "invocation")
        return [beans[each] for each in beans if each in found and each not in self._ready]

    def _make(self, bean: PlannedBean, asked: str) -> None:
        with self._making:
            if bean.id not in self._values:
                made = self._generation.fresh(bean, asked, self._life, self._values.__getitem__)
                self._values.setdefault(bean.id, made)

    def _settle(self, bean: PlannedBean, own: frozenset[str]) -> None:
        """Note that it is ready, unless the caller is a start that it waits for."""
        needs = {each for each in bean.needs if self._plan.beans[each].options.scope == "invocation"}
        if needs <= self._ready and self._life.settled(own):
            self._ready.add(bean.id)

    async def _on_loop(self, starting: Coroutine[Any, Any, None]) -> None:
        if self._loop is None or running_loop() is self._loop:
            await starting
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(starting, self._loop))


def _note_entered(values: dict[str, Any], bean: PlannedBean, value: object) -> None:
    if bean.options.scope == "invocation":
        values[bean.id] = value
