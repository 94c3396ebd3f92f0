"""The bounds and strategies of a service, in one place; each has a default and every one of them is a setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError
from agentforge.model.arguments import ArgumentLimits
from agentforge.tool.declare import is_seconds
from agentforge.tool.error.handler import ToolErrorHandler
from agentforge.tool.error.strategies import Rethrow, ReturnToModel
from agentforge.tool.execution.converter import ToolResultConverter
from agentforge.tool.execution.gate import ToolGate, ToolInterceptor
from agentforge.tool.execution.interceptors import SizeCap, TimeLimit
from agentforge.tool.execution.serial import SerialKeys
from agentforge.tool.execution.threads import ToolThreads

if TYPE_CHECKING:
    from agentforge.tool.execution.clashes import OnClash

__all__ = ("ErrorHandlers", "ToolSettings", "check_count")


@dataclass(slots=True)
class ErrorHandlers:
    """The three strategies. The defaults are seed A's 4.4: arguments and unknown tools end the run, a failed execution
    goes to the model with a warning in the log."""

    arguments: ToolErrorHandler = field(default_factory=Rethrow)
    execution: ToolErrorHandler = field(default_factory=lambda: ReturnToModel(log=True))
    unknown_tool: ToolErrorHandler = field(default_factory=Rethrow)


@dataclass(slots=True)
class ToolSettings:
    """What bounds a service's runs.

    ``max_tool_calling_round_trips`` (100): N allows N continuations. ``max_concurrent_tools`` (8) calls of a batch run
    side by side. ``tool_timeout`` (60 s, ``None``: none) for a tool without its own. ``max_result_bytes`` (256 KiB) of
    a result reach the model. ``abandon_grace`` is how long a call may outlive its time limit before it is abandoned,
    ``cancel_grace`` how long cancelled calls may take to end; both in seconds. ``on_clash``: what is done when two
    sources offer tools of one name, see `OnClash`.
    """

    max_tool_calling_round_trips: int = 100
    max_concurrent_tools: int = 8
    tool_timeout: float | None = 60.0
    max_result_bytes: int = 256 * 1024
    argument_limits: ArgumentLimits = field(default_factory=ArgumentLimits)
    abandon_grace: float = 0.05
    cancel_grace: float = 0.5
    on_clash: OnClash = "error"
    gates: Sequence[ToolGate] = ()
    interceptors: Sequence[ToolInterceptor] = ()
    converters: Sequence[ToolResultConverter] = ()
    threads: ToolThreads = field(default_factory=ToolThreads)
    serial_keys: SerialKeys = field(default_factory=SerialKeys)
    error_handlers: ErrorHandlers = field(default_factory=ErrorHandlers)
    time_limit: TimeLimit = field(init=False)
    size_cap: SizeCap = field(init=False)

    def __post_init__(self) -> None:
        if self.on_clash not in ("error", "prefix"):
            raise ConfigurationError(f"on_clash must be 'error' or 'prefix', not {self.on_clash!r}")
        check_count("max_concurrent_tools", self.max_concurrent_tools, 1)
        check_count("max_result_bytes", self.max_result_bytes, 1)
        check_count("max_tool_calling_round_trips", self.max_tool_calling_round_trips, 0)
        timeout = self.tool_timeout
        if timeout is not None and not is_seconds(timeout):
            raise ConfigurationError(
                f"tool_timeout must be above 0 seconds, not {timeout!r}", next_step="Use None for no limit."
            )
        self.time_limit = TimeLimit(self.tool_timeout)
        self.size_cap = SizeCap(self.max_result_bytes)


def check_count(name: str, value: object, least: int) -> None:
    """Raise `ConfigurationError` unless ``value`` is a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{name} must be a whole number of at least {least}, not {value!r}")
