"""Starting beans after they are made and closing them in reverse, so that one failure keeps nothing else open."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from agentforge.container.cancellation import as_failure, called
from agentforge.container.held import Held
from agentforge.container.making import located
from agentforge.container.plan import Plan, PlannedBean
from agentforge.masking import Secrets

__all__ = ("LifeCycle", "told")

_log = logging.getLogger("agentforge.container")

#: How long a bean that was told to give up its closing may take to do so, at most.
_GRACE = 1.0

# A start that asks the application for a bean which needs its own must not wait for itself.
_starting: ContextVar[tuple[Held, ...]] = ContextVar("agentforge_beans_being_started", default=())


class LifeCycle:
    """The objects of one application context, or of one run, in the order in which they were made.

    ``stop_timeout`` bounds the closing of each bean, in seconds. ``entered`` is told of each bean whose value is not
    the object that was made. A start that failed is tried again by the next use.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        stop_timeout: float,
        entered: Callable[[PlannedBean, object], object] = lambda bean, value: None,
    ) -> None:
        self._plan = plan
        self._stop_timeout = stop_timeout
        self._tell_entered = entered
        self._made: list[Held] = []
        self._unstarted: list[Held] = []
        self._closing: Future[None] | None = None
        self._lock = threading.Lock()

    def add(self, bean: PlannedBean, made: object) -> None:
        """Note an object that was made; `start` starts it and `stop` closes it."""
        held = Held(bean, made)
        self._made.append(held)
        self._unstarted.append(held)

    @property
    def objects(self) -> list[object]:
        """All that was made, as others get it."""
        return [held.value for held in tuple(self._made)]

    @property
    def count(self) -> int:
        """How many objects there are."""
        return len(self._made)

    def since(self, count: int) -> list[Held]:
        """The objects that came after the first ``count``."""
        return self._made[count:]

    def open(self, wanted: Collection[str]) -> list[Held]:
        """The objects of the beans ``wanted`` that are not started, nor being started by the caller."""
        under_way = _starting.get()
        return [each for each in tuple(self._unstarted) if each.bean.id in wanted and each not in under_way]

    def settled(self, wanted: Collection[str]) -> bool:
        """Whether all objects of the beans ``wanted`` that were made are started."""
        return not any(each.bean.id in wanted for each in tuple(self._unstarted))

    async def start(self, held: Sequence[Held]) -> None:
        """Start these objects, one after the other. Raises what a start raises, with the bean's place."""
        for each in held:
            while not each.started:
                under_way = each.claim()
                if under_way is None:
                    with self._beginning(each):
                        await each.start()
                elif self._may_wait(each):
                    try:
                        # Shielded: the turn is another's, who is not to be disturbed.
                        await asyncio.shield(asyncio.wrap_future(under_way))
                    finally:
                        self._waited(each)
                else:
                    break

    def start_plain(self, held: Sequence[Held]) -> None:
        """As `start`, for objects whose start need not be awaited. Raises `ContextStateError` for others."""
        for each in held:
            while not each.started:
                under_way = each.claim()
                if under_way is None:
                    with self._beginning(each):
                        each.start_plain()
                elif self._may_wait(each):
                    try:
                        under_way.result()
                    finally:
                        self._waited(each)
                else:
                    break

    async def stop(self) -> list[Exception]:
        """Close everything in reverse; returns what failed, each with a note that names the bean.

        A cancellation of this, or whatever else is no ordinary failure, is raised when all are closed; one that a bean
        raises itself, such as that of a task which it ends, is a failure of this bean. Who comes while another closes
        waits for that one.
        """
        with self._lock:
            under_way = self._closing
            if under_way is None:
                self._closing = done = Future[None]()
        if under_way is not None:
            await asyncio.shield(asyncio.wrap_future(under_way))
            return []
        try:
            return await self._close_all()
        finally:
            self._closing = None
            done.set_result(None)

    async def _close_all(self) -> list[Exception]:
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

    # -- starting --------------------------------------------------------------------------------

    @contextmanager
    def _beginning(self, each: Held) -> Iterator[None]:
        """The block starts the object, whose turn the caller has; a failure gets the bean's place."""
        token = _starting.set((*_starting.get(), each))
        try:
            yield
        except Exception as error:
            found = located(error, each.bean, "could not be started", self._plan)
            if found is error:
                raise
            raise found from error
        else:
            if each.value is not each.object:
                self._tell_entered(each.bean, each.value)
            with suppress(ValueError):  # closed meanwhile
                self._unstarted.remove(each)
        finally:
            _starting.reset(token)
            each.release()

    def _may_wait(self, each: Held) -> bool:
        """Note that the start at hand waits for that of ``each``; not where that one waits for this one."""
        mine = _starting.get()
        if not mine:
            return True
        with self._lock:
            seen: list[Held] = []
            ahead = [each]
            while ahead:
                current = ahead.pop()
                if current in mine:
                    return False
                if current not in seen:
                    seen.append(current)
                    ahead.extend(current.waits_for)
            mine[-1].waits_for.append(each)
            return True

    def _waited(self, each: Held) -> None:
        mine = _starting.get()
        if mine:
            with self._lock:
                mine[-1].waits_for.remove(each)

    # -- closing ---------------------------------------------------------------------------------

    async def _close(self, each: Held) -> None:
        late: str | None = None
        try:
            waiting = called(each.close)
            if waiting is not None:
                late = await self._within_time(waiting)
        except BaseException as error:
            error.add_note(f"closing {each.name}")
            raise
        if late is not None:
            failure = TimeoutError()
            failure.add_note(f"{each.name} was not closed within {self._stop_timeout:g} s{late}")
            raise failure

    async def _within_time(self, waiting: Awaitable[object]) -> str | None:
        """Await a closing for its time, then for a moment after it was cancelled; ``None`` when it has ended, else what
        there is to say about its being late.

        A task of its own, since a closing that swallows its cancellation would keep all others open.
        """
        task = asyncio.ensure_future(_outcome(waiting))
        cancelled = await _waited(task, self._stop_timeout)
        in_time = task.done()
        if not in_time:
            if cancelled is not None:
                cancelled = await _waited(task, 0) or cancelled  # its first step is its right
            task.cancel()
            cancelled = await _waited(task, min(_GRACE, self._stop_timeout)) or cancelled
        if cancelled is not None:
            raise cancelled
        if not task.done():
            return "; it goes on though it was cancelled, and is left behind"
        error = task.result()
        if error is None:
            return None
        if isinstance(error, asyncio.CancelledError):
            if not in_time:
                return ""
            raise as_failure() from error
        raise error


async def _outcome(waiting: Awaitable[object]) -> BaseException | None:
    """What it raised: an interrupt that a task raises would end the loop before all is closed."""
    try:
        await waiting
    except BaseException as error:
        return error
    return None


async def _waited(task: asyncio.Task[BaseException | None], timeout: float) -> asyncio.CancelledError | None:
    """Wait for the task that long; returns the caller's own cancellation."""
    try:
        await asyncio.wait((task,), timeout=timeout)
    except asyncio.CancelledError as error:
        return error
    return None


def told(failure: Exception, secrets: Secrets) -> str:
    """What failed in closing, in words for a log or a note."""
    return secrets.mask(f"{type(failure).__name__}: {'; '.join([str(failure), *failure.__notes__])}")
