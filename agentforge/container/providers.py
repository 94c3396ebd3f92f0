"""The plan as providers of `dependency_injector`: the one module that knows it.

One flat container; each singleton has a lock of its own, since the library's is one for the whole process; nothing
here is asynchronous and nothing is closed here, since the library would close in an order of its own. A circle that
only shows while beans are made (a factory that asks the application for another bean) is an error with the way, not
an endless recursion.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

from agentforge.container import codes
from agentforge.container.faults import BeanCreationError
from agentforge.container.plan import Plan, PlannedBean, ProviderOf, Target, Uses

__all__ = ("Beans", "Maker")

Maker = Callable[[PlannedBean, "Mapping[str, Any]", "Mapping[str, Any]"], object]
"""Makes a bean of its plan, of the beans for its settings and of those for its constructor."""


class Beans:
    """All beans of a plan; each is made when it is asked for, and must come after those it needs.

    ``ask`` is what a provider of a bean calls, ``stand_in`` gives what stands for a bean that is fresh for each run.
    """

    def __init__(
        self, plan: Plan, make: Maker, ask: Callable[[str], object], stand_in: Callable[[PlannedBean], object]
    ) -> None:
        from dependency_injector import containers

        self._plan = plan
        self._make = make
        self._ask = ask
        self._stand_in = stand_in
        # The way to the bean that is being made, in words for a circle's error.
        self._making: ContextVar[tuple[_Step, ...]] = ContextVar("agentforge_beans_being_made", default=())
        self._container: Any = containers.DynamicContainer()
        self._providers: dict[str, Any] = {}
        self._complete: set[str] = set()
        for bean in plan.beans.values():  # each after those it needs
            self._providers[bean.id] = provider = self._provider(bean)
            # A prefix, since the container has attributes of its own.
            self._container.set_provider(f"bean__{bean.id}", provider)

    def made(self, bean_id: str) -> bool:
        """Whether the singleton is there."""
        return bean_id in self._complete

    def get(self, bean_id: str) -> Any:
        """A bean whose needs are there; what its making raises passes through."""
        return self._providers[bean_id]()

    def make(self, bean_id: str, asked: str) -> object:
        """As `get`, on the way to the bean ``asked``."""
        with self._step(f"app.get({asked!r})", within=True):
            found: object = self._providers[bean_id]()
        if self._plan.beans[bean_id].options.scope == "singleton":
            self._complete.add(bean_id)
        return found

    def make_fresh(self, bean: PlannedBean, asked: str, of_run: Callable[[str], object]) -> object:
        """A new object of a bean of the scope ``invocation``; ``of_run`` gives the run's objects of such beans."""
        with self._step(f"app.get({asked!r})", within=True):
            return self._guarded(bean)(self._values(bean.uses, of_run), self._values(bean.arguments, of_run))

    def replace(self, bean_id: str, value: object) -> None:
        """From now on the bean is what entering its object gave."""
        from dependency_injector import providers

        self._providers[bean_id].override(providers.Object(value))

    # -- inside ----------------------------------------------------------------------------------

    def _provider(self, bean: PlannedBean) -> Any:
        from dependency_injector import providers

        if bean.bean_type is None:
            return providers.Object(bean.given)
        if bean.options.scope == "invocation":
            return providers.Object(self._stand_in(bean))
        uses, arguments = self._injections(bean.uses), self._injections(bean.arguments)
        make = self._guarded(bean)
        if bean.options.scope == "prototype":
            return providers.Factory(make, uses, arguments)
        own = type("BeanSingleton", (providers.ThreadSafeSingleton,), {"storage_lock": threading.RLock()})
        return own(make, uses, arguments)

    def _injections(self, uses: Uses) -> Any:
        from dependency_injector import providers

        return providers.Dict({name: self._injection(target) for name, target in uses.items()})

    def _injection(self, target: Target) -> Any:
        from dependency_injector import providers

        if isinstance(target, str):
            return self._providers[target]
        if isinstance(target, ProviderOf):
            return providers.Object(partial(self._ask, target.id))
        if isinstance(target, Mapping):
            return providers.Dict({name: self._providers[each] for name, each in target.items()})
        if not target:
            return providers.Factory(list)  # the library's own empty list is a tuple
        return providers.List(*(self._providers[each] for each in target))

    def _values(self, uses: Uses, of_run: Callable[[str], object]) -> dict[str, Any]:
        def value(bean_id: str) -> object:
            fresh = self._plan.beans[bean_id].options.scope == "invocation"
            return of_run(bean_id) if fresh else self._providers[bean_id]()

        found: dict[str, Any] = {}
        for name, target in uses.items():
            if isinstance(target, str):
                found[name] = value(target)
            elif isinstance(target, ProviderOf):
                found[name] = partial(self._ask, target.id)
            elif isinstance(target, Mapping):
                found[name] = {key: value(each) for key, each in target.items()}
            else:
                found[name] = [value(each) for each in cast("Collection[str]", target)]
        return found

    def _guarded(self, bean: PlannedBean) -> Callable[..., object]:
        def make(uses: Mapping[str, Any], arguments: Mapping[str, Any]) -> object:
            before = [step.name for step in self._making.get() if not step.over]
            if bean.id in before:
                way = " -> ".join((*before[before.index(bean.id) :], bean.id))
                error = BeanCreationError(
                    f"beans need each other while they are made: {way}",
                    location=str(bean.mark),
                    next_step="Do not ask the application for a bean in a constructor; declare it as a reference.",
                )
                error.code = codes.BEAN_CYCLE
                raise error
            with self._step(bean.id):
                return self._make(bean, uses, arguments)

        return cast("Callable[..., object]", make)

    @contextmanager
    def _step(self, name: str, *, within: bool = False) -> Iterator[None]:
        """A step of the way, as long as the block lasts; with ``within`` only where there is a way already: a question
        inside another bean's making is a part of what a circle's error shows."""
        before = tuple(step for step in self._making.get() if not step.over)
        step = _Step(name)
        token = self._making.set((*before, step) if before or not within else ())
        try:
            yield
        finally:
            step.over = True
            self._making.reset(token)


class _Step:
    """A step of the way to a bean that is being made. A task which a constructor begins has the way in its context for
    as long as it lives, and must not take what is over for a part of its own."""

    __slots__ = ("name", "over")

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = False
