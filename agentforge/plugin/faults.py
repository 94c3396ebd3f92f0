"""What can be wrong with a plugin, a bean type or a component: configuration errors with codes of their own (AF2xx)."""

from __future__ import annotations

from agentforge.errors import ConfigurationError

__all__ = ("BeanTypeError", "ComponentError", "PluginError")


class PluginError(ConfigurationError):
    """A plugin that was asked for cannot be used: missing, blocked, incompatible, or it failed while loading."""

    code = "AF201"


class BeanTypeError(ConfigurationError):
    """A bean type that is declared wrongly, or whose factory did not give a bean."""

    code = "AF202"


class ComponentError(ConfigurationError):
    """A component that the ``scan`` roots do not hold, or that cannot be made."""

    code = "AF203"
