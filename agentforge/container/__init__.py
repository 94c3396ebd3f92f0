"""From a configuration to running objects: the plan, the providers, the life cycle, the application context."""

from agentforge.container.application import AgentForge
from agentforge.container.faults import BeanCreationError, BeanNotFoundError, ContextStateError
from agentforge.container.plan import Plan, PlannedBean

__all__ = ("AgentForge", "BeanCreationError", "BeanNotFoundError", "ContextStateError", "Plan", "PlannedBean")
