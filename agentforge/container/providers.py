"""The plan as providers of `dependency_injector`: the one module that knows it.

One flat container; each singleton has a lock of its own, since the library's is one for the whole process; nothing
here is asynchronous and nothing is closed here, since the library would close in an order of its own. A circle that
only shows while beans are made (a factory that asks the application for another bean) is an error with the way, not
an endless recursion.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
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
    """All beans of a plan; each is made when it is first asked for, after those it needs."""

    def __init__(self, plan: Plan, make: Maker) -> None:
        from dependency_injector import containers

        self._plan = plan
        self._make = make
        self._making: ContextVar[tuple[str, ...]] = ContextVar("agentforge_beans_being_made", default=())
        self._container: Any = containers.DynamicContainer()
        self._providers: dict[str, Any] = {}
        self._order = {bean_id: position for position, bean_id in enumerate(plan.beans)}
        self._complete: set[str] = set()
        for bean in plan.beans.values():  # each after those it needs
            self._providers[bean.id] = provider = self._provider(bean)
            # A prefix, since the container has attributes of its own.
            self._container.set_provider(f"bean__{bean.id}", provider)

    def get(self, bean_id: str) -> object:
        """The bean; what its making raises passes through."""
        if bean_id in self._complete:
            return self._providers[bean_id]()
        before = self._making.get()
        # Inside another bean's making the question is a part of the way that a circle's error shows.
        token = self._making.set((*before, f"app.get({bean_id!r})") if before else ())
        try:
            # One after the other, since a long chain of beans would be deeper than Python's stack.
            for each in self._missing(bean_id):
                if self._plan.beans[each].options.scope == "singleton":
                    self._providers[each]()
                    self._complete.add(each)
            found: object = self._providers[bean_id]()
            self._complete.add(bean_id)
        finally:
            self._making.reset(token)
        return found

    def _missing(self, bean_id: str) -> list[str]:
        """What has to be made before the bean, each after those it needs."""
        found: set[str] = set()
        waiting = [bean_id]
        while waiting:
            current = waiting.pop()
            if current not in found and current not in self._complete:
                found.add(current)
                waiting.extend(self._plan.beans[current].needs)
        return sorted(found - {bean_id}, key=self._order.__getitem__)

    def _provider(self, bean: PlannedBean) -> Any:
        from dependency_injector import providers

        if bean.bean_type is None:
            return providers.Object(bean.given)
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
            return providers.Object(partial(self.get, target.id))
        if isinstance(target, Mapping):
            return providers.Dict({name: self._providers[each] for name, each in target.items()})
        if not target:
            return providers.Factory(list)  # the library's own empty list is a tuple
        return providers.List(*(self._providers[each] for each in target))

    def _guarded(self, bean: PlannedBean) -> Callable[..., object]:
        def make(uses: Mapping[str, Any], arguments: Mapping[str, Any]) -> object:
            before = self._making.get()
            if bean.id in before:
                way = " -> ".join((*before[before.index(bean.id) :], bean.id))
                error = BeanCreationError(
                    f"beans need each other while they are made: {way}",
                    location=str(bean.mark),
                    next_step="Do not ask the application for a bean in a constructor; declare it as a reference.",
                )
                error.code = codes.BEAN_CYCLE
                raise error
            token = self._making.set((*before, bean.id))
            try:
                return self._make(bean, uses, arguments)
            finally:
                self._making.reset(token)

        return cast("Callable[..., object]", make)
