"""The bean types ``tool_service`` and ``chat_client``: the same tools, limits and strategies, without and with a
model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from agentforge.advisor import Advisor
from agentforge.client import ChatClient
from agentforge.model import ArgumentLimits, ChatModel, ToolChoice
from agentforge.plugin.bean_settings import BeanSettings, Count, CountFromZero, Field, Seconds
from agentforge.plugin.bean_type import BeanContext
from agentforge.plugin.builtin_advisors import check_advisors
from agentforge.plugin.builtin_search import check_searches
from agentforge.plugin.builtin_tools import PythonTools
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.observing import interceptors_of, observer_of
from agentforge.plugin.reference import Ref
from agentforge.plugin.refused import judge_of, refused_parameters
from agentforge.plugin.request_settings import MessageSettings, ParameterSettings, ToolChoiceSetting, tool_choice_of
from agentforge.plugin.source_names import known_tool_names
from agentforge.tool import ToolSource
from agentforge.tool.error import ToolErrorHandler
from agentforge.tool.execution import ToolGate, ToolInterceptor, ToolResultConverter, ToolService

__all__ = (
    "ArgumentLimitSettings",
    "ChatClientSettings",
    "ErrorHandlerSettings",
    "ToolServiceSettings",
    "check_chat_client",
    "check_tool_service",
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
    on_clash: Literal["error", "prefix"] = "error"
    """When two sources offer tools of one name: refuse, or put the name of the source in front of it."""
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
    converters: tuple[Annotated[ToolResultConverter, Ref()], ...] = ()
    """Converters of what tools return, asked in this order before the usual conversion."""


class ChatClientSettings(ToolServiceSettings):
    """What `chat_client` takes: all of `tool_service`, a model, a prompt and a chain of advisors."""

    model: Annotated[ChatModel, Ref()]
    """The model that answers."""
    system: str | None = None
    """The system message of conversations that have none."""
    tool_choice: ToolChoiceSetting | None = None
    """auto, none, required, the name of the tool to call, a list of the tools that may be called, or {allowed: [first,
    second], required: true}; a call is asked for in the first round of each turn; unset: that of parameters."""
    advisors: tuple[Annotated[Advisor, Ref()], ...] = ()
    """The chain around the model, the first outermost; the tool advisor is innermost where it is not listed."""
    tool_calling: bool = True
    """Whether there is a tool advisor where none is listed; else replies with calls are handed back."""
    tool_context: dict[str, Any] = Field(default_factory=dict)
    """Values for tools and advisors in every turn, never sent to a model."""
    parameters: ParameterSettings = ParameterSettings()
    """Parameters of every request that does not set its own, over the model's defaults."""
    messages: tuple[MessageSettings, ...] = ()
    """Messages in front of every request, such as examples: {user: …} and {assistant: …} in turn."""
    memory_id: str | None = None
    """The conversation of turns that name none."""
    tenant: str | None = None
    """The tenant of turns that name none."""
    roles: tuple[str, ...] = ()
    """Roles that every turn has."""


def make_tool_service(settings: ToolServiceSettings, context: BeanContext) -> ToolService:
    """The service, with the configuration's secrets to mask. Raises `DuplicateToolError`."""
    return _service(settings, context, ())


def _service(
    settings: ToolServiceSettings, context: BeanContext, outermost: tuple[ToolInterceptor, ...]
) -> ToolService:
    handlers, limits = settings.error_handlers, settings.argument_limits
    return ToolService(
        # Tools that never change are registered one by one: two of one name are then found at once.
        *(
            source.bound if isinstance(source, PythonTools) and settings.on_clash == "error" else source
            for source in settings.tools
        ),
        max_tool_calling_round_trips=settings.max_tool_calling_round_trips,
        max_concurrent_tools=settings.max_concurrent_tools,
        tool_timeout=settings.tool_timeout,
        max_result_bytes=settings.max_result_bytes,
        argument_limits=ArgumentLimits(limits.max_bytes, limits.max_depth, limits.max_members),
        arguments_error_handler=handlers.arguments,
        execution_error_handler=handlers.execution,
        unknown_tool_strategy=handlers.unknown_tool,
        gates=settings.gates,
        interceptors=(*outermost, *settings.interceptors),
        converters=settings.converters,
        max_threads=settings.max_threads,
        max_abandoned_threads=settings.max_abandoned_threads,
        on_clash=settings.on_clash,
        secrets=context.secrets,
    )


def make_chat_client(settings: ChatClientSettings, context: BeanContext) -> ChatClient:
    """The client; the service it makes is its own and closed with it."""
    return ChatClient(
        settings.model,
        service=_service(settings, context, interceptors_of(context.plugins)),
        system=settings.system,
        tool_choice=tool_choice_of(settings.tool_choice),
        advisors=settings.advisors,
        tool_calling=settings.tool_calling,
        tool_context=settings.tool_context,
        parameters=settings.parameters.made(),
        messages=[each.made() for each in settings.messages],
        memory_id=settings.memory_id,
        tenant=settings.tenant,
        roles=settings.roles,
        owns_service=True,
        observer=observer_of(context.plugins),
    )


def check_tool_service(settings: ToolServiceSettings, context: CheckContext) -> Iterator[Finding]:
    """Two tools of one name, as far as the sources are known before they are made."""
    yield from _known_tools(settings, context)[2]


def check_chat_client(settings: ChatClientSettings, context: CheckContext) -> Iterator[Finding]:
    """As `check_tool_service`; advisors that cannot stand in one chain; parameters that the model always refuses; and a
    ``tool_choice`` that names no tool, where all sources are known."""
    known, all_known, findings = _known_tools(settings, context)
    names = known if all_known else None
    yield from findings
    yield from check_advisors(settings.advisors, context, tool_calling=settings.tool_calling)
    yield from check_searches(settings.advisors, known, context, all_known=all_known)
    yield from _refused_by_the_model(settings, context, names)
    if settings.advisors:
        return  # which may offer tools of their own
    path, given = "tool_choice", settings.tool_choice
    if given is None:
        path, given = "parameters.tool_choice", settings.parameters.tool_choice
    choice = tool_choice_of(given) or ToolChoice.AUTO
    wanted = [name for name in choice.names if names is not None and name not in names]
    step = "Name sources of tools in 'tools', or leave 'tool_choice' out."
    if wanted:
        from agentforge.config import did_you_mean

        near = did_you_mean(wanted[0], names) if names else step
        yield Finding(f"'tool_choice' names {wanted[0]!r}, and no tool of this client has that name", path, near)
    elif choice.forces_a_call and names == {}:
        yield Finding("'tool_choice' asks for a call, and this client has no tools", path, step)


def _refused_by_the_model(
    settings: ChatClientSettings, context: CheckContext, names: Mapping[str, str] | None
) -> Iterator[Finding]:
    """What the model refuses of the parameters in every request."""
    choice = tool_choice_of(settings.tool_choice)
    judge = None
    if choice is not None or settings.parameters != ParameterSettings():
        judge = judge_of(context.bean(settings.model), context)
    if judge is not None:
        offers = None if settings.advisors or names is None else bool(names)  # advisors may take tools away
        yield from refused_parameters(judge, settings.parameters, at="parameters", with_tools=offers, choice=choice)


def _known_tools(settings: ToolServiceSettings, context: CheckContext) -> tuple[dict[str, str], bool, list[Finding]]:
    """The tools by name, each with the bean that brings it; whether these are all, as a source may offer any; and what
    is wrong between them."""
    owners: dict[str, str] = {}
    prefixed = settings.on_clash == "prefix"
    findings: list[Finding] = []
    all_known = True
    for number, source in enumerate(settings.tools):
        bean = context.bean(source)
        names = known_tool_names(bean, context)
        if bean is None or names is None:
            all_known = False
            continue
        for name in names:
            if name in owners and prefixed:
                all_known = False  # it gets another name
            elif name in owners:
                findings.append(
                    Finding(
                        f"two tools are named {name!r}: of '{owners[name]}' and of '{bean.id}'",
                        f"tools.{number}",
                        "Give one of the sources a 'prefix', or leave the tool out with 'without'.",
                    )
                )
            owners.setdefault(name, bean.id)
    return owners, all_known, findings
