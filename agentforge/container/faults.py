"""What can go wrong with an application context after its plan was found good."""

from __future__ import annotations

from agentforge.errors import ConfigurationError

__all__ = ("BeanCreationError", "BeanNotFoundError", "ContextStateError", "InvocationError")


class BeanCreationError(ConfigurationError):
    """A bean's factory or its start raised; ``__cause__`` is what it raised, ``location`` where the bean stands."""

    code = "AF204"


class BeanNotFoundError(ConfigurationError, LookupError):
    """`AgentForge.get` or `override` named a bean that is not there, or a type that none or several beans have."""

    code = "AF205"


class ContextStateError(ConfigurationError, RuntimeError):
    """The application context is used before its start or after its end."""

    code = "AF206"


class InvocationError(ContextStateError, AttributeError):
    """A bean of the scope ``invocation`` is used outside of any run, or before its start was awaited.

    It is an `AttributeError`, so that who only looks whether an object has an attribute is told that it has none.
    """

    code = "AF207"
