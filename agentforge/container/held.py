"""One object of a context: how it is started and how it is closed, by one rule for every bean.

The first that holds: the methods that ``init`` and ``destroy`` name; a method ``start``; being an asynchronous context
manager; being a plain one. An object with ``aclose`` or a plain ``close`` needs no entering and is only closed; one
with ``acquire`` is left to its users, who enter it. What is started with an ``await``, or entered with one, is closed
in the same task.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any

from agentforge.container.cancellation import called
from agentforge.container.faults import BeanCreationError, ContextStateError
from agentforge.container.own_task import OwnTask
from agentforge.container.plan import PlannedBean
from agentforge.plugin.life import method_of

__all__ = ("Held",)


class Held:
    """An object that was made for a bean. ``value`` is what others get: the object, or what entering it gave."""

    __slots__ = (
        "_entered",
        "_found",
        "_lock",
        "_task",
        "_under_way",
        "awaited",
        "bean",
        "closed",
        "object",
        "started",
        "value",
        "waits_for",
    )

    def __init__(self, bean: PlannedBean, made: object) -> None:
        self.bean = bean
        self.object = made
        self.value = made
        self.started = False
        #: Whether it is closed, and so not started any more.
        self.closed = False
        #: Whether its start is being awaited.
        self.awaited = False
        #: Whose starts this one's start waits for.
        self.waits_for: list[Held] = []
        self._lock = threading.Lock()
        self._under_way: Future[None] | None = None
        self._task: OwnTask | None = None
        self._entered = False
        self._found: tuple[Callable[[], Any] | None, str | None] | None = None

    @property
    def name(self) -> str:
        """The bean and its place, in words."""
        return f"the bean '{self.bean.id}' ({self.bean.mark})"

    # -- whose turn it is ------------------------------------------------------------------------

    def claim(self) -> Future[None] | None:
        """``None`` for the one who is to start it and then calls `release`; others get what they may wait for."""
        with self._lock:
            if self._under_way is None:
                self._under_way = Future()
                return None
            return self._under_way

    def release(self) -> None:
        """Whoever had the turn is done, well or not."""
        with self._lock:
            done, self._under_way = self._under_way, None
        if done is not None:
            done.set_result(None)

    # -- how -------------------------------------------------------------------------------------

    @property
    def has_to_be_awaited(self) -> bool:
        """Whether its start can only be awaited; also while somebody awaits it."""
        if self.awaited:
            return True
        begin, manager = self._how()
        return inspect.iscoroutinefunction(begin) if begin is not None else manager == "async"

    def start_plain(self) -> None:
        """Start it. Raises `ContextStateError` when that gave something to await, and once it is closed."""
        self._expect_open()
        begin, manager = self._how()
        if begin is not None:
            waiting = called(begin)
            if inspect.isawaitable(waiting):
                if inspect.iscoroutine(waiting):
                    waiting.close()
                raise ContextStateError(
                    f"the start of the bean '{self.bean.id}' gave something to await",
                    next_step=f"Use 'await app.resolve({self.bean.id!r})'.",
                )
        elif manager == "plain":
            self._enter(called(self._subject.__enter__))
        self.started = True

    async def start(self) -> None:
        """Start it; what has to be awaited runs in a task of the object's own, in which it is closed as well.

        Raises `ContextStateError` once it is closed.
        """
        self._expect_open()
        begin, manager = self._how()
        if begin is not None and not inspect.iscoroutinefunction(begin):
            waiting = called(begin)
            if inspect.isawaitable(waiting):
                await self._in_own_task(_Methods(lambda: waiting, self._end()))
        elif begin is not None:
            await self._in_own_task(_Methods(begin, self._end()))
        elif manager == "async":
            self._enter(await self._in_own_task(self._subject))
        elif manager == "plain":
            self._enter(called(self._subject.__enter__))
        self.started = True

    def close(self) -> Awaitable[object] | None:
        """Close it, or begin to: what is returned has to be awaited."""
        self.closed = True
        task, self._task = self._task, None
        if task is not None:
            return self._leave(task)
        if self._entered:
            self._entered = False
            self._subject.__exit__(None, None, None)
            return None
        end = self._end()
        waiting = end() if end is not None else None
        return waiting if inspect.isawaitable(waiting) else None

    # -- inside ----------------------------------------------------------------------------------

    def _expect_open(self) -> None:
        if self.closed:
            raise ContextStateError(
                f"the bean '{self.bean.id}' was closed before its start was over",
                next_step="Use beans inside the with block.",
            )

    @property
    def _subject(self) -> Any:
        """The object whose methods count: behind a source of tools the object that has them."""
        from agentforge.plugin.builtin_tools import PythonTools

        return self.object.target if isinstance(self.object, PythonTools) else self.object

    def _how(self) -> tuple[Callable[[], Any] | None, str | None]:
        """The method that starts it, or whether it is an ``async`` or a ``plain`` context manager to be entered."""
        if self._found is None:
            named = self.bean.options
            self._named(named.destroy)  # a wrong name is found now and not at the end
            begin = self._named(named.init) or method_of(self._subject, "start")
            self._found = begin, None if begin is not None else self._manager()
        return self._found

    def _end(self) -> Callable[[], Any] | None:
        return self._named(self.bean.options.destroy) or method_of(self._subject, "aclose", "close")

    def _named(self, name: str | None) -> Callable[[], Any] | None:
        """The method that ``init`` or ``destroy`` names."""
        if name is None:
            return None
        subject = self._subject
        found: Callable[[], Any] | None = getattr(subject, name, None)
        if not callable(found):
            names = (each for each in dir(subject) if not each.startswith("_") and callable(getattr(subject, each)))
            raise BeanCreationError(
                f"the bean '{self.bean.id}' ({self.bean.type_name}) has no method '{name}'",
                location=str(self.bean.mark),
                next_step=f"It has {', '.join(names) or 'none'}.",
            )
        return found

    def _manager(self) -> str | None:
        subject, options = self._subject, self.bean.options
        kind = type(subject)
        if isinstance(subject, type) or inspect.isfunction(subject) or options.destroy or hasattr(kind, "acquire"):
            return None
        if hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__"):
            close = method_of(subject, "close")
            needs_it = close is None or inspect.iscoroutinefunction(close)
            return "async" if needs_it and method_of(subject, "aclose") is None else None
        if hasattr(kind, "__enter__") and hasattr(kind, "__exit__"):
            return "plain" if method_of(subject, "aclose", "close") is None else None
        return None

    async def _leave(self, task: OwnTask) -> None:
        """Leave the task; an object whose start failed meanwhile is closed as any that was not started."""
        await task.leave()
        if not task.entered:
            end = self._end()
            waiting = called(end) if end is not None else None
            if inspect.isawaitable(waiting):
                await waiting

    async def _in_own_task(self, manager: AbstractAsyncContextManager[object]) -> object:
        self._task = task = OwnTask(manager, self.name)
        self.awaited = True
        try:
            return await task.enter()
        finally:
            self.awaited = False
            if not task.entered:
                self._task = None

    def _enter(self, entered: object) -> None:
        self._entered = self._task is None
        if entered is None or self._subject is not self.object:
            return
        self.value = entered
        if entered is not self.object and self.bean.options.scope == "prototype":
            raise BeanCreationError(
                f"the bean '{self.bean.id}' ({self.bean.type_name}) gives another object when it is entered, "
                "and others have the one before",
                location=str(self.bean.mark),
                next_step="Return self from __aenter__ or __enter__, or do not make it a prototype.",
            )


class _Methods:
    """A start and an end as a context manager."""

    def __init__(self, begin: Callable[[], Any], end: Callable[[], Any] | None) -> None:
        self._begin = begin
        self._end = end

    async def __aenter__(self) -> None:
        await self._begin()

    async def __aexit__(self, *_: object) -> None:
        waiting = self._end() if self._end is not None else None
        if inspect.isawaitable(waiting):
            await waiting
