"""The bean types ``ai_service`` and ``service_method``: an interface of the ``scan`` roots that a model answers, and
how one of its methods asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from agentforge.advisor import Advisor, AdvisorOrderError
from agentforge.client import (
    ChatClient,
    ServiceDeclarationError,
    ServiceMethod,
    ai_service,
    implementation_of,
    service_faults,
)
from agentforge.errors import ConfigurationError, ToolDeclarationError, ToolError
from agentforge.plugin.bean_settings import BeanSettings, Count, CountFromZero, Field, Seconds
from agentforge.plugin.bean_type import BeanContext, BeanType
from agentforge.plugin.builtin_advisors import several_tool_advisors
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.reference import Ref
from agentforge.plugin.request_settings import ParameterSettings
from agentforge.plugin.source_names import known_tool_names
from agentforge.tool import ToolSource
from agentforge.tool.spec import tool_specifications_from

__all__ = ("SERVICE_TYPES", "AiServiceSettings", "ServiceMethodSettings")


class ServiceMethodSettings(BeanSettings):
    """What `service_method` takes. What is unset is as noted on the method, else as the client has it."""

    system: str | None = None
    """The system message, with the method's parameters in braces, as in {shop}; ${file:PATH} reads one."""
    user: str | None = None
    """The user's message, likewise."""
    tools: tuple[Annotated[ToolSource, Ref()], ...] = ()
    """Tools of this method, beside the client's."""
    advisors: tuple[Annotated[Advisor, Ref()], ...] = ()
    """Advisors of this method, each in the place that it asks for."""
    parameters: ParameterSettings = ParameterSettings()
    """Parameters of its requests, over the client's."""
    timeout: Seconds | None = None
    """How long a turn may take."""
    mode: Literal["auto", "native", "tool", "prompt"] | None = None
    """How a value is asked for, see structured_output; unset: auto."""
    max_reprompts: CountFromZero | None = None
    """How often a value that does not fit is asked for again; unset: 2."""


class AiServiceSettings(BeanSettings):
    """What `ai_service` takes."""

    interface: str
    """The bare name of a class in the packages of scan: a protocol with methods without bodies."""
    client: Annotated[ChatClient, Ref()]
    """The client whose model, tools and advisors answer."""
    methods: dict[str, Annotated[ServiceMethod, Ref()]] = Field(default_factory=dict)
    """How methods ask, by their names; for what is not noted on them."""
    max_depth: Count = 5
    """How many runs may hold one another where the service is a tool of another client."""


def _make_method(settings: ServiceMethodSettings) -> ServiceMethod:
    return ServiceMethod(
        system=settings.system,
        user=settings.user,
        tools=settings.tools,
        advisors=settings.advisors,
        parameters=settings.parameters.made(),
        timeout=settings.timeout,
        mode=settings.mode,
        max_reprompts=settings.max_reprompts,
    )


def _make_service(settings: AiServiceSettings, context: BeanContext) -> Any:
    """The service. Raises `ServiceDeclarationError` and `ToolDeclarationError`."""
    interface = context.components.find(settings.interface)
    return ai_service(interface, settings.client, methods=settings.methods, max_depth=settings.max_depth)


def _check_service(settings: AiServiceSettings, context: CheckContext) -> Iterator[Finding]:
    """Methods and prompts that cannot be, and tools that cannot be declared, read from the interface alone."""
    interface = context.components.find(settings.interface)
    methods: dict[str, ServiceMethod] = {}
    unknown: set[str] = set()
    for name, method in settings.methods.items():
        bean = context.bean(method)
        known = bean.settings if bean is not None else None
        methods[name] = ServiceMethod()
        if isinstance(known, ServiceMethodSettings):
            methods[name] = ServiceMethod(system=known.system, user=known.user)
        elif hasattr(interface, name):
            unknown.add(name)  # it may have another prompt, so nothing is said of it yet
    faults = [(name, error) for name, error in service_faults(interface, methods) if name not in unknown]
    yield from (_finding(error, name, methods.get(name)) for name, error in faults)
    try:
        if not faults:
            _own_tools(settings, context)
    except ToolError as error:
        yield Finding(error.message, "interface", error.next_step)
    yield from _clashes(settings, context)
    yield from _tool_advisors(settings, context)


def _tool_advisors(settings: AiServiceSettings, context: CheckContext) -> Iterator[Finding]:
    """Methods whose advisors make a second tool advisor of the client's chain."""
    client = context.bean(settings.client)
    own = tuple(getattr(client.settings, "advisors", ()) if client is not None else ())
    for name, given in settings.methods.items():
        bean = context.bean(given)
        added = tuple(getattr(bean.settings, "advisors", ()) if bean is not None else ())
        several = several_tool_advisors((*own, *added), context) if added else None
        if several is not None and several[0] >= len(own):
            step = "Leave it out of the method's advisors."
            yield Finding(several[1], f"methods.{name}", step, AdvisorOrderError.code)


def _finding(error: ServiceDeclarationError | ToolDeclarationError, name: str, given: ServiceMethod | None) -> Finding:
    """A fault of a method, at the prompt or the method where the file has it, else at the interface."""
    place = f" ({error.location})" if error.location else ""
    path, code = "interface" if given is None else f"methods.{name}", None
    if isinstance(error, ServiceDeclarationError):
        code = error.code
        if given is not None and error.prompt is not None:
            path = "interface" if getattr(given, error.prompt) is None else f"{path}.{error.prompt}"
    return Finding(f"{error.message}{place}", path, error.next_step, code)


def _clashes(settings: AiServiceSettings, context: CheckContext) -> Iterator[Finding]:
    """A method's own tools that have the name of another, as far as the sources are known before they are made."""

    def named(sources: Iterable[Any]) -> Iterator[tuple[str, str]]:
        for bean in map(context.bean, sources):
            if bean is not None:
                yield from ((name, bean.id) for name in known_tool_names(bean, context) or ())

    client = context.bean(settings.client)
    if client is not None and getattr(client.settings, "on_clash", "error") == "prefix":
        return  # then each gets a name of its own
    shared = dict(named(getattr(client.settings, "tools", ()) if client is not None else ()))
    for method, given in settings.methods.items():
        bean = context.bean(given)
        owners = dict(shared)
        for name, owner in named(getattr(bean.settings, "tools", ()) if bean is not None else ()):
            if name in owners:
                message = f"two tools of the method {method!r} are named {name!r}: of '{owners[name]}' and of '{owner}'"
                step = "Give one of the sources a 'prefix', or name it in one place only."
                yield Finding(message, f"methods.{method}", step)
            owners.setdefault(name, owner)


def _own_tools(settings: AiServiceSettings, context: CheckContext) -> tuple[str, ...]:
    """Raises `ToolDeclarationError`."""
    made = implementation_of(context.components.find(settings.interface))
    return tuple(each.name for each in tool_specifications_from(made)) if hasattr(made, "tools") else ()


def _tool_names(settings: AiServiceSettings, context: CheckContext) -> tuple[str, ...] | None:
    """The names of the tools that a service is to other clients; ``None`` where its own check finds something wrong."""
    try:
        return _own_tools(settings, context)
    except (ConfigurationError, ToolError):
        return None


SERVICE_TYPES = (
    BeanType(
        "service_method",
        ServiceMethodSettings,
        _make_method,
        ServiceMethod,
        "How a method of an AI service asks: prompts, tools, advisors, parameters.",
    ),
    BeanType(
        "ai_service",
        AiServiceSettings,
        _make_service,
        object,
        "An interface of the scan roots whose methods a model answers.",
        component="interface",
        implements=implementation_of,
        check=_check_service,
        tool_names=_tool_names,
    ),
)
