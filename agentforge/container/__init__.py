"""From a configuration to running objects: the plan, the providers, the life cycle, the application context."""

from agentforge.container.application import AgentForge
from agentforge.container.faults import BeanCreationError, BeanNotFoundError, ContextStateError, InvocationError
from agentforge.container.plan import Plan, PlannedBean
from agentforge.container.watching import FileWatch, reload_on_change

__all__ = (
    "AgentForge",
    "BeanCreationError",
    "BeanNotFoundError",
    "ContextStateError",
    "FileWatch",
    "InvocationError",
    "Plan",
    "PlannedBean",
    "reload_on_change",
)
