"""The calls of a client, told to the plugins that observe them."""

from __future__ import annotations

from agentforge.client import ChatObserver
from agentforge.model import ChatModel, ChatRequest, ChatResponse
from agentforge.plugin.manager import Plugins
from agentforge.tool.execution import ToolExecution

__all__ = ("PluginObserver", "observer_of")


class PluginObserver:
    """A `ChatObserver` that hands everything on to the hooks of the active plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

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

    def tool_called(self, execution: ToolExecution) -> None:
        """See the hook ``agentforge_tool_called``."""
        self._plugins.call_observers("agentforge_tool_called", execution=execution)


def observer_of(plugins: Plugins | None) -> ChatObserver | None:
    """An observer for the plugins; ``None`` when none of them listens, so that it costs nothing."""
    if plugins is None:
        return None
    listens = plugins.observes("agentforge_model_called") or plugins.observes("agentforge_tool_called")
    return PluginObserver(plugins) if listens else None
