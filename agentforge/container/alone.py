"""One bean of a configuration with all that it needs, and nothing else: for who asks one model and wants no server of
tools started for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from agentforge.container.configured import Configured
from agentforge.container.generation import Generation
from agentforge.container.plan import Plan, PlannedBean

if TYPE_CHECKING:
    from agentforge.container.application import AgentForge
    from agentforge.plugin import Plugins

__all__ = ("one_bean_alone",)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a generation reads of a configuration."""

    plan: Plan
    plugins: Plugins


@asynccontextmanager
async def one_bean_alone(
    app: AgentForge,
    bean_id: str,
    *,
    changed: Callable[[PlannedBean], PlannedBean] = lambda bean: bean,
    stop_timeout: float = 10.0,
) -> AsyncIterator[Any]:
    """The bean, made and started for the block with those that it needs, each as ``changed`` gives it; they are closed
    at the end. Whatever its scope, there is one of it. The application need not be started and has no part in it."""
    plan = app.plan
    needed = plan.closure(bean_id)
    beans: dict[str, PlannedBean] = {each.id: changed(each) for each in plan.beans.values() if each.id in needed}
    asked = beans[bean_id]
    beans[bean_id] = replace(asked, options=replace(asked.options, scope="singleton"))
    part = _Part(replace(plan, beans=beans, declared=(bean_id,)), app.plugins)
    generation = Generation(
        cast(Configured, part), stop_timeout=stop_timeout, home=asyncio.get_running_loop(), loop=None
    )
    await generation.start()
    failures: list[Exception] = []
    try:
        yield await generation.resolve(part.plan.beans[bean_id])
    finally:
        failures = await generation.stop()
    if failures:
        raise ExceptionGroup("beans failed while they were closed", failures)
