"""AI services: a typed interface in, an object that asks a model out."""

from agentforge.client.services.answer import Result
from agentforge.client.services.declare import ServiceMethod, service_method, system, user
from agentforge.client.services.faults import ServiceDeclarationError, ServiceSuspendedError
from agentforge.client.services.implementation import (
    ai_service,
    asks_a_model,
    implementation_of,
    resuming,
    service_faults,
)
from agentforge.client.services.template import PromptTemplate

__all__ = (
    "PromptTemplate",
    "Result",
    "ServiceDeclarationError",
    "ServiceMethod",
    "ServiceSuspendedError",
    "ai_service",
    "asks_a_model",
    "implementation_of",
    "resuming",
    "service_faults",
    "service_method",
    "system",
    "user",
)
