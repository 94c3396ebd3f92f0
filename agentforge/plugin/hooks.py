"""Every hook a plugin can implement. Registering hooks add bean types and commands; the others only observe.

A hook implementation is a plain function of the same name, marked with `hookimpl`; it may leave out arguments that it
does not need. An observer that raises harms nothing but itself. A module says with ``AGENTFORGE_API = (1, 0)`` for
which version it was written (default: 1.0): the major number must be ours, the minor one at most ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from agentforge.model import ChatModel, ChatRequest, ChatResponse
    from agentforge.plugin.bean_type import BeanType
    from agentforge.plugin.command import Command
    from agentforge.tool.execution import ToolExecution

__all__ = (
    "AGENTFORGE_API",
    "agentforge_bean_created",
    "agentforge_bean_types",
    "agentforge_commands",
    "agentforge_context_started",
    "agentforge_context_stopped",
    "agentforge_model_called",
    "agentforge_tool_called",
    "hookimpl",
)

#: The version of these hooks and of `BeanType`.
AGENTFORGE_API = (1, 0)

hookimpl = pluggy.HookimplMarker("agentforge")
_hookspec = pluggy.HookspecMarker("agentforge")


@_hookspec
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """Register bean types; their names begin with the plugin's name and a dot."""


@_hookspec
def agentforge_commands(register: Callable[[Command], None]) -> None:
    """Register commands, which run as ``agentforge PLUGIN NAME ...``."""


@_hookspec
def agentforge_bean_created(bean_id: str, bean: object) -> None:
    """A bean was made and not yet started."""


@_hookspec
def agentforge_context_started(app: Any) -> None:
    """All beans of the application context are started."""


@_hookspec
def agentforge_context_stopped(app: Any) -> None:
    """All beans of the application context are closed."""


@_hookspec
def agentforge_model_called(
    model: ChatModel, request: ChatRequest, response: ChatResponse | None, error: BaseException | None, seconds: float
) -> None:
    """A model answered, or failed with ``error``, after so many seconds."""


@_hookspec
def agentforge_tool_called(execution: ToolExecution) -> None:
    """A tool call of a run has its outcome."""
