"""The bean types ``tool_service`` and ``chat_client``: the same tools, limits and strategies, without and with a
model."""

from __future__ import annotations

from typing import Annotated

from agentforge.client import ChatClient
from agentforge.model import ArgumentLimits, ChatModel
from agentforge.plugin.bean_settings import BeanSettings, Count, CountFromZero, Seconds
from agentforge.plugin.bean_type import BeanContext
from agentforge.plugin.builtin_tools import PythonTools
from agentforge.plugin.observing import observer_of
from agentforge.plugin.reference import Ref
from agentforge.tool import ToolSource
from agentforge.tool.error import ToolErrorHandler
from agentforge.tool.execution import ToolGate, ToolInterceptor, ToolService

__all__ = (
    "ArgumentLimitSettings",
    "ChatClientSettings",
    "ErrorHandlerSettings",
    "ToolServiceSettings",
    "make_chat_client",
    "make_tool_service",
)


class ErrorHandlerSettings(BeanSettings):
    """What answers each kind of error: the name of a strategy, or a bean."""

    arguments: Annotated[ToolErrorHandler, Ref(or_type=True)] | None = None
    """When arguments do not fit the tool; unset: rethrow."""
    execution: Annotated[ToolErrorHandler, Ref(or_type=True)] | None = None
    """When a tool fails; unset: return_to_model, with a warning in the log."""
    unknown_tool: Annotated[ToolErrorHandler, Ref(or_type=True)] | None = None
    """When the model names a tool that was not offered; unset: rethrow."""


class ArgumentLimitSettings(BeanSettings):
    """Bounds of one argument text."""

    max_bytes: Count = 256 * 1024
    """Bytes of UTF-8 text."""
    max_depth: Count = 64
    """How deep objects and lists may be nested."""
    max_members: Count = 10_000
    """Members of all objects and lists together."""


class ToolServiceSettings(BeanSettings):
    """What `tool_service` takes; the defaults are those of `ToolService`."""

    tools: tuple[Annotated[ToolSource, Ref()], ...] = ()
    """The tools to offer: beans that are sources of tools."""
    error_handlers: ErrorHandlerSettings = ErrorHandlerSettings()
    """What the model is told, or whether the run ends, when a call goes wrong."""
    max_tool_calling_round_trips: CountFromZero = 100
    """How often the model may be called again with results; one more ends the run with an error."""
    max_concurrent_tools: Count = 8
    """How many calls of one reply run side by side."""
    tool_timeout: Seconds | None = 60.0
    """How long a tool may take, for tools without a limit of their own; null: no limit."""
    max_result_bytes: Count = 256 * 1024
    """How much of a result reaches the model, in bytes of UTF-8; the rest is cut with a mark."""
    argument_limits: ArgumentLimitSettings = ArgumentLimitSettings()
    """How large and deep the arguments of a call may be."""
    max_threads: Count = 32
    """How many worker threads run synchronous tools."""
    max_abandoned_threads: CountFromZero = 64
    """How many threads of tools that never returned are replaced before calls are refused."""
    gates: tuple[Annotated[ToolGate, Ref()], ...] = ()
    """Gates that judge every batch of calls, in this order."""
    interceptors: tuple[Annotated[ToolInterceptor, Ref()], ...] = ()
    """Interceptors around every admitted call, the first outermost."""


class ChatClientSettings(ToolServiceSettings):
    """What `chat_client` takes: all of `tool_service`, a model and a prompt."""

    model: Annotated[ChatModel, Ref()]
    """The model that answers."""
    system: str | None = None
    """The system message of conversations that have none."""
    tool_choice: str | None = None
    """auto, required, or the name of the tool to call, for the first round of each turn; unset: the model's default."""


def make_tool_service(settings: ToolServiceSettings, context: BeanContext) -> ToolService:
    """The service, with the configuration's secrets to mask. Raises `DuplicateToolError`."""
    handlers, limits = settings.error_handlers, settings.argument_limits
    return ToolService(
        # Tools that never change are registered one by one: two of one name are then found at once.
        *(source.bound if isinstance(source, PythonTools) else source for source in settings.tools),
        max_tool_calling_round_trips=settings.max_tool_calling_round_trips,
        max_concurrent_tools=settings.max_concurrent_tools,
        tool_timeout=settings.tool_timeout,
        max_result_bytes=settings.max_result_bytes,
        argument_limits=ArgumentLimits(limits.max_bytes, limits.max_depth, limits.max_members),
        arguments_error_handler=handlers.arguments,
        execution_error_handler=handlers.execution,
        unknown_tool_strategy=handlers.unknown_tool,
        gates=settings.gates,
        interceptors=settings.interceptors,
        max_threads=settings.max_threads,
        max_abandoned_threads=settings.max_abandoned_threads,
        secrets=context.secrets,
    )


def make_chat_client(settings: ChatClientSettings, context: BeanContext) -> ChatClient:
    """The client; the service it makes is its own and closed with it."""
    return ChatClient(
        make_tool_service(settings, context),
        settings.model,
        system=settings.system,
        tool_choice=settings.tool_choice,
        owns_service=True,
        observer=observer_of(context.plugins),
    )
