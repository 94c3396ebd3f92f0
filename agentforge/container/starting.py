"""Starting the beans of a plan side by side: each as soon as all that it needs is started."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentforge.container.faults import ContextStateError
from agentforge.container.held import Held
from agentforge.container.lifecycle import LifeCycle
from agentforge.container.plan import Plan

__all__ = ("own_of", "singletons_needed", "start_side_by_side")


def own_of(plan: Plan, bean_id: str) -> frozenset[str]:
    """The bean and the prototypes that are made for it alone."""
    found = {bean_id}
    waiting = [bean_id]
    while waiting:
        for each in plan.beans[waiting.pop()].needs:
            if each not in found and plan.beans[each].options.scope == "prototype":
                found.add(each)
                waiting.append(each)
    return frozenset(found)


def singletons_needed(plan: Plan, wanted: Sequence[str], order: Mapping[str, int]) -> dict[str, set[str]]:
    """The singletons without which ``wanted`` cannot be, in the order of their making, each with those that it needs
    itself; what stands between two of them, such as a prototype, is left out. ``order`` is each bean's place in the
    plan."""
    within = sorted(plan.closure(*wanted), key=order.__getitem__)
    reached: dict[str, set[str]] = {}
    for bean_id in within:  # each after those it needs
        found: set[str] = set()
        for each in plan.beans[bean_id].needs:
            found |= {each} if plan.beans[each].options.scope == "singleton" else reached[each]
        reached[bean_id] = found
    return {each: reached[each] for each in within if plan.beans[each].options.scope == "singleton"}


async def start_side_by_side(
    needs: Mapping[str, set[str]],
    make: Callable[[str], Sequence[Held]],
    life: LifeCycle,
    given_up: asyncio.Future[None],
) -> None:
    """Make and start beans; ``make`` makes one and gives what is to be started for it, in order.

    The first failure is raised when the starts beside it, which are cancelled, have ended. So it is with
    `ContextStateError` as soon as ``given_up`` is done.
    """
    order = list(needs)
    position = {bean_id: number for number, bean_id in enumerate(order)}
    open_needs = {bean_id: len(found) for bean_id, found in needs.items()}
    users: dict[str, list[str]] = {bean_id: [] for bean_id in order}
    for bean_id, found in needs.items():
        for each in found:
            users[each].append(bean_id)
    ready = [position[bean_id] for bean_id in order if not open_needs[bean_id]]
    starting: dict[asyncio.Task[BaseException | None], str] = {}

    def done(bean_id: str) -> None:
        for user in users[bean_id]:
            open_needs[user] -= 1
            if not open_needs[user]:
                heapq.heappush(ready, position[user])

    def take(ended: set[asyncio.Task[BaseException | None]]) -> None:
        failed = [error for task in starting if task in ended and (error := task.result()) is not None]
        for task in ended:
            done(starting.pop(task))
        if failed:
            raise failed[0]

    try:
        while ready or starting:
            while ready:
                if given_up.done():
                    raise _ended()
                bean_id = order[heapq.heappop(ready)]
                held = make(bean_id)
                if not any(each.has_to_be_awaited for each in held):
                    await life.start(held)
                    done(bean_id)
                    continue
                task = asyncio.ensure_future(_outcome(life, held))
                starting[task] = bean_id
            if starting:
                waiting: list[asyncio.Future[Any]] = [*starting, given_up]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if given_up.done():
                    raise _ended()
                take({task for task in starting if task.done()})
        await asyncio.sleep(0)  # a cancellation that came while nothing was awaited
    finally:
        await _cancelled(list(starting))


def _ended() -> ContextStateError:
    return ContextStateError("the application has ended", next_step="Use its beans inside the with block.")


async def _outcome(life: LifeCycle, held: Sequence[Held]) -> BaseException | None:
    """What starting raised: an interrupt that a task raises would end the loop before all is closed."""
    try:
        await life.start(held)
    except BaseException as error:
        return error
    return None


async def _cancelled(tasks: Sequence[asyncio.Task[BaseException | None]]) -> None:
    """Cancel and wait for the end of all; the caller's own cancellation passes on then."""
    ended: asyncio.CancelledError | None = None
    for task in tasks:
        task.cancel()
    while any(not task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            ended = error
            for task in tasks:
                task.cancel()
    if ended is not None:
        raise ended
