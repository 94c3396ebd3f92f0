"""Starting beans after they are made and closing them in reverse, so that one failure keeps nothing else open."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Collection
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.container.faults import BeanCreationError, ContextStateError
from agentforge.container.making import located
from agentforge.container.plan import Plan, PlannedBean
from agentforge.masking import Secrets
from agentforge.plugin.life import method_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("LifeCycle", "told")

_log = logging.getLogger("agentforge.container")


@dataclass(eq=False, slots=True)
class _Made:
    """An object and whether it was started; the locks let everybody who wants it wait for the one who starts it."""

    bean: PlannedBean
    object: Any
    started: bool = False
    thread_lock: threading.RLock = field(default_factory=threading.RLock)
    task_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class LifeCycle:
    """The objects of one application context in the order in which they were made.

    ``stop_timeout`` bounds the closing of each bean, in seconds. A start that failed is tried again by the next use.
    """

    def __init__(self, plan: Plan, *, stop_timeout: float) -> None:
        self._plan = plan
        self._stop_timeout = stop_timeout
        self._made: list[_Made] = []
        self._unstarted: list[_Made] = []
        # A start that asks the application for a bean which needs its own must not wait for itself.
        self._starting: ContextVar[tuple[_Made, ...]] = ContextVar("agentforge_beans_being_started", default=())

    def add(self, bean: PlannedBean, made: object) -> None:
        """Note an object that was made; `start` starts it and `stop` closes it."""
        entry = _Made(bean, made)
        self._made.append(entry)
        self._unstarted.append(entry)

    @property
    def complete(self) -> bool:
        """Whether everything that was made is started."""
        return not self._unstarted

    def waits(self, wanted: Collection[str]) -> bool:
        """Whether an object of the beans ``wanted`` has a start that has to be awaited."""
        return any(inspect.iscoroutinefunction(_begin(each)) for each in self._open(wanted))

    async def start(self, wanted: Collection[str]) -> None:
        """Start the objects of the beans ``wanted`` that are not, in the order in which they were made. Raises what a
        start raises, with the bean's place."""
        for each in self._open(wanted):
            async with each.task_lock:
                with each.thread_lock, self._beginning(each) as begin:
                    waiting = begin()
                    if inspect.isawaitable(waiting):
                        await waiting

    def start_plain(self, wanted: Collection[str]) -> None:
        """As `start`, for objects whose start need not be awaited."""
        for each in self._open(wanted):
            with each.thread_lock, self._beginning(each) as begin:
                waiting = begin()
                if inspect.isawaitable(waiting):
                    if inspect.iscoroutine(waiting):
                        waiting.close()
                    raise ContextStateError(
                        f"the start of the bean '{each.bean.id}' gave something to await",
                        next_step=f"Use 'await app.resolve({each.bean.id!r})'.",
                    )

    async def stop(self) -> list[Exception]:
        """Close everything in reverse; returns what failed, each with a note that names the bean.

        A cancellation, or whatever else is no ordinary failure, is raised when all are closed.
        """
        failures: list[Exception] = []
        ended: BaseException | None = None
        while self._made:
            each = self._made.pop()
            try:
                await self._close(each)
            except Exception as error:
                failures.append(error)
            except BaseException as error:
                ended = ended or error
        self._unstarted.clear()
        for failure in failures:
            _log.warning("%s", told(failure, self._plan.secrets))
        if ended is not None:
            raise ended
        return failures

    # -- inside ----------------------------------------------------------------------------------

    def _open(self, wanted: Collection[str]) -> list[_Made]:
        under_way = self._starting.get()
        return [each for each in tuple(self._unstarted) if each.bean.id in wanted and each not in under_way]

    @contextmanager
    def _beginning(self, each: _Made) -> Iterator[Callable[[], Any]]:
        """What starts the object, nothing if another was faster; afterwards it is started, or the failure located."""
        begin = None if each.started else _begin(each)
        token = self._starting.set((*self._starting.get(), each))
        try:
            yield begin or _nothing
        except Exception as error:
            found = located(error, each.bean, "could not be started", self._plan)
            if found is error:
                raise
            raise found from error
        finally:
            self._starting.reset(token)
        if not each.started:
            each.started = True
            self._unstarted.remove(each)

    async def _close(self, each: _Made) -> None:
        place = f"the bean '{each.bean.id}' ({each.bean.mark})"
        limit = asyncio.timeout(self._stop_timeout)
        try:
            end = _named(each.bean, each.object, each.bean.options.destroy) or method_of(each.object, "aclose", "close")
            waiting = end() if end is not None else None
            if inspect.isawaitable(waiting):
                async with limit:
                    await waiting
        except BaseException as error:
            late = isinstance(error, TimeoutError) and limit.expired()
            error.add_note(f"{place} was not closed within {self._stop_timeout:g} s" if late else f"closing {place}")
            raise


def _nothing() -> None:
    return None


def _begin(each: _Made) -> Callable[[], Any] | None:
    _named(each.bean, each.object, each.bean.options.destroy)  # a wrong name is found now and not at the end
    return _named(each.bean, each.object, each.bean.options.init) or method_of(each.object, "start")


def _named(bean: PlannedBean, made: object, name: str | None) -> Callable[[], Any] | None:
    """The method that ``init`` or ``destroy`` names."""
    if name is None:
        return None
    method = getattr(made, name, None)
    if not callable(method):
        public = ", ".join(each for each in dir(made) if not each.startswith("_") and callable(getattr(made, each)))
        raise BeanCreationError(
            f"the bean '{bean.id}' ({bean.type_name}) has no method '{name}'",
            location=str(bean.mark),
            next_step=f"It has {public or 'none'}.",
        )
    found: Callable[[], Any] = method
    return found


def told(failure: Exception, secrets: Secrets) -> str:
    """What failed in closing, in words for a log or a note."""
    return secrets.mask(f"{type(failure).__name__}: {'; '.join([str(failure), *failure.__notes__])}")
