"""One bean from its plan: the settings get their beans, the factory is called, a failure says which bean it was."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agentforge.config import ConfigurationFaults
from agentforge.container.cancellation import called
from agentforge.container.faults import BeanCreationError
from agentforge.container.filling import filled
from agentforge.container.plan import Plan, PlannedBean
from agentforge.errors import AgentForgeError

if TYPE_CHECKING:
    from agentforge.plugin import Plugins

__all__ = ("located", "make_bean")


def make_bean(
    bean: PlannedBean,
    plan: Plan,
    plugins: Plugins,
    uses: Mapping[str, Any],
    arguments: Mapping[str, Any],
    common: dict[type, Any],
) -> object:
    """The bean. Our own errors pass with its place added, any other is the cause of a `BeanCreationError`."""
    from agentforge.plugin import BeanContext

    assert bean.bean_type is not None
    assert bean.settings is not None
    context = BeanContext(
        bean_id=bean.id,
        folder=bean.folder,
        components=plan.components,
        secrets=plan.secrets,
        arguments=arguments,
        plugins=plugins,
        environment=plan.environment,
        lazy=bean.lazy,
        trusted=plan.trust == "code",
        common=common,
    )
    try:
        return called(partial(bean.bean_type.create, filled(bean.settings, uses), context))
    except Exception as error:
        found = located(error, bean, "could not be made", plan)
        if found is error:  # with the cause it has
            raise
        raise found from error


def located(error: Exception, bean: PlannedBean, what: str, plan: Plan) -> AgentForgeError:
    """The error as one that names the bean and its place."""
    if isinstance(error, AgentForgeError):
        if error.location is None and not isinstance(error, ConfigurationFaults):
            error.location = f"bean '{bean.id}', {bean.mark}"
        return error
    text = plan.secrets.mask(str(error).strip())
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return BeanCreationError(
        f"the bean '{bean.id}' ({bean.type_name}) {what}: {words}",
        location=str(bean.mark),
        next_step="Its traceback is the cause of this error; the program shows it with --debug.",
    )
