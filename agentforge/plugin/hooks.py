"""Every hook a plugin can implement: registering ones add to the framework, `agentforge_secret` answers, all others
only observe.

A hook implementation is a plain function of the same name, marked with `hookimpl`; it may leave out arguments that it
does not need. With `implements` instead a type checker compares it with its specification. What raises in a hook
harms nothing but its own plugin. A module says with ``AGENTFORGE_API = (1, 0)`` for which version it was written
(default: 1.0): the major number must be ours, the minor one at most ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pluggy

if TYPE_CHECKING:
    from agentforge.model import ChatModel, ChatRequest, ChatResponse, ToolExecutionRequest
    from agentforge.plugin.bean_type import BeanType
    from agentforge.plugin.command import Command
    from agentforge.tool.execution import ToolExecution

__all__ = (
    "AGENTFORGE_API",
    "agentforge_advisor_called",
    "agentforge_bean_created",
    "agentforge_bean_types",
    "agentforge_commands",
    "agentforge_context_started",
    "agentforge_context_stopped",
    "agentforge_model_called",
    "agentforge_model_calling",
    "agentforge_secret",
    "agentforge_tool_called",
    "agentforge_tool_calling",
    "agentforge_vendor_profiles",
    "hookimpl",
    "implements",
)

#: The version of these hooks and of `BeanType`.
AGENTFORGE_API = (1, 0)

hookimpl = pluggy.HookimplMarker("agentforge")
_hookspec = pluggy.HookspecMarker("agentforge")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def implements(specification: Callable[_P, _R]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Mark a function as the implementation of this hook: `hookimpl` for authors who check their types.

    The function may have any name and takes all arguments of the specification.
    """
    return hookimpl(specname=specification.__name__)


# -- what a plugin brings ------------------------------------------------------------------------


@_hookspec
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """Register bean types; their names begin with the plugin's name and a dot."""


@_hookspec
def agentforge_commands(register: Callable[[Command], None]) -> None:
    """Register commands, which run as ``agentforge PLUGIN NAME ...``."""


@_hookspec
def agentforge_vendor_profiles(register: Callable[[str, str, Mapping[str, object]], None]) -> None:
    """Register vendors as data: the family of wires that reads it, the vendor's name, and the fields of its row."""


@_hookspec
def agentforge_secret(name: str) -> str | None:
    """The secret of this name, or ``None`` for one that the plugin does not have."""


# -- what a plugin is told -----------------------------------------------------------------------


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
def agentforge_model_calling(model: ChatModel, request: ChatRequest) -> None:
    """A model is about to be asked."""


@_hookspec
def agentforge_model_called(
    model: ChatModel, request: ChatRequest, response: ChatResponse | None, error: BaseException | None, seconds: float
) -> None:
    """A model answered, or failed with ``error``, after so many seconds."""


@_hookspec
def agentforge_advisor_called(name: str, place: int, seconds: float, error: BaseException | None) -> None:
    """A turn, or inside the tool loop a round, has passed an advisor (``place`` 0 is the outermost), or failed there
    with ``error``; the seconds include all that is further in."""


@_hookspec
def agentforge_tool_calling(request: ToolExecutionRequest) -> None:
    """A tool call that every gate let through is about to run."""


@_hookspec
def agentforge_tool_called(execution: ToolExecution) -> None:
    """A tool call of a run has its outcome; it may have been refused before it ran."""
