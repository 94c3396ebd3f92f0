"""The calls of a client, told to the plugins that observe them."""

from __future__ import annotations

from agentforge.advisor import Advised
from agentforge.client import CallObserver, ChatObserver
from agentforge.model import ChatModel, ChatRequest, ChatResponse, ToolExecutionRequest
from agentforge.plugin.manager import Plugins
from agentforge.tool.execution import Run, ToolExecution, ToolInterceptor

__all__ = ("PluginObserver", "interceptors_of", "observer_of")

_TOLD_BY_CLIENT = ("agentforge_model_calling", "agentforge_model_called", "agentforge_tool_called")


class PluginObserver:
    """A `ChatObserver` that hands everything on to the hooks of the active plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def model_calling(self, model: ChatModel, request: ChatRequest) -> None:
        """See the hook ``agentforge_model_calling``."""
        self._plugins.call_observers("agentforge_model_calling", model=model, request=request)

    def model_called(
        self,
        model: ChatModel,
        request: ChatRequest,
        response: ChatResponse | None,
        error: BaseException | None,
        seconds: float,
    ) -> None:
        """See the hook ``agentforge_model_called``."""
        self._plugins.call_observers(
            "agentforge_model_called", model=model, request=request, response=response, error=error, seconds=seconds
        )

    def tool_calling(self, request: ToolExecutionRequest) -> None:
        """See the hook ``agentforge_tool_calling``."""
        self._plugins.call_observers("agentforge_tool_calling", request=request)

    def tool_called(self, execution: ToolExecution) -> None:
        """See the hook ``agentforge_tool_called``."""
        self._plugins.call_observers("agentforge_tool_called", execution=execution)


class _WithAdvisors(PluginObserver):
    """One that hears of passes through advisors, too."""

    def advisor_called(
        self, name: str, place: int, run: Run, advised: Advised | None, error: BaseException | None, seconds: float
    ) -> None:
        """See the hook ``agentforge_advisor_called``."""
        self._plugins.call_observers("agentforge_advisor_called", name=name, place=place, seconds=seconds, error=error)


def observer_of(plugins: Plugins | None) -> ChatObserver | None:
    """An observer for the plugins; ``None`` when none of them listens to a client, so that it costs nothing."""
    if plugins is None:
        return None
    if plugins.observes("agentforge_advisor_called"):
        return _WithAdvisors(plugins)
    return PluginObserver(plugins) if any(map(plugins.observes, _TOLD_BY_CLIENT)) else None


def interceptors_of(plugins: Plugins | None) -> tuple[ToolInterceptor, ...]:
    """What tells the plugins of a tool call before it runs, to stand outermost; nothing when none of them listens."""
    if plugins is None or not plugins.observes("agentforge_tool_calling"):
        return ()
    return (CallObserver(PluginObserver(plugins)),)
