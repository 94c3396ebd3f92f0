"""An interface in, an object that fulfils it out: each method without a body becomes a question to a model."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from agentforge.client.chat_client import ChatClient
from agentforge.client.services.core import ServiceCore
from agentforge.client.services.declare import ServiceMethod, beside, noted_on
from agentforge.client.services.faults import ServiceDeclarationError
from agentforge.client.services.signature import ServiceSignature, expect_tool, read_method
from agentforge.errors import RunArgumentError, ToolDeclarationError
from agentforge.tool import BoundTool, declaration_of
from agentforge.tool.execution import Run, ToolLoopState

__all__ = ("ai_service", "asks_a_model", "implementation_of", "resuming", "service_faults")

T = TypeVar("T")
A = ParamSpec("A")
R = TypeVar("R")
_CORE = "_agentforge_core"
_NO_BODY = {"RESUME", "RETURN_GENERATOR", "POP_TOP", "NOP", "COPY_FREE_VARS", "MAKE_CELL", "LOAD_CONST"}
#: Where an interface keeps the class of its services; under such a name it is no member of a protocol (Python 3.11).
_MADE = "_abc_agentforge_implementation"


def ai_service(
    interface: Callable[..., T],
    client: ChatClient,
    *,
    methods: Mapping[str, ServiceMethod] | None = None,
    max_depth: int = 5,
) -> T:
    """An object of the class ``interface``, whose methods ask a model: a `Protocol`, or another class with methods
    without bodies.

    Of a method's parameters one is the user's message, others are the values of its prompts (`system`, `user`), parts
    of the message (`ImageContent` …), the memory id (`MemoryId`), values for tools and advisors alone (`Hidden`), or
    the `Run` itself. What it gives is read from its return type: ``str``; a number, ``bool``, enum, ``Literal``,
    dataclass, model of pydantic, or a list of these, checked; ``Result[T]``, with all that led to it; an iterator of
    texts or of events; `ToolChatResult`; ``None``. Async methods are awaited, others wait themselves. Methods with a
    body stay what they are.

    ``methods`` says by name how methods ask, over what is noted on them. Methods that are declared with ``@tool`` make
    the service a source of tools for another client: each call is then a run of its own with this client's model and
    memory, at most ``max_depth`` runs deep. Safe to share. The client is the caller's to close.

    Raises `ServiceDeclarationError` for an interface that cannot be implemented, and `ToolDeclarationError`,
    `AdvisorOrderError` for tools and advisors that cannot be.

    >>> from typing import Literal, Protocol
    >>> from agentforge import ChatClient, ScriptedChatModel
    >>> class Desk(Protocol):
    ...     def classify(self, message: str) -> Literal["order", "booking", "other"]: ...
    >>> with ChatClient(ScriptedChatModel(['{"value": "order"}'])) as client:
    ...     ai_service(Desk, client).classify("Where is my parcel?")
    'order'
    """
    # Declared as a callable, because a type checker takes a protocol for no concrete class.
    kind: Any = interface
    made = implementation_of(kind)
    if not isinstance(client, ChatClient):
        raise ServiceDeclarationError(
            f"a service asks a ChatClient, not {type(client).__name__}",
            next_step="Write ai_service(Interface, ChatClient(model)).",
        )
    if not isinstance(max_depth, int) or isinstance(max_depth, bool) or max_depth < 1:
        raise ServiceDeclarationError(f"max_depth is a whole number from 1, not {max_depth!r}")
    service: Any = _instance_of(made, kind)
    service.__dict__[_CORE] = ServiceCore(made.__name__, client, _methods(kind, methods), max_depth)
    if _declares_tools(kind):
        from agentforge.client.services.tools import tools_of

        service.__dict__["_agentforge_tools"] = tools_of(service, service.__dict__[_CORE], kind)
    found: T = service
    return found


def implementation_of(interface: type[T]) -> type[T]:
    """The class of an interface's services, made once: a subclass of it. Raises `ServiceDeclarationError`."""
    _check(interface)
    made = vars(interface).get(_MADE)
    if made is None:
        functions = _asked(interface)
        body: dict[str, Any] = {name: _method(name, function) for name, function in functions.items()}
        body["__module__"], body["__doc__"] = interface.__module__, interface.__doc__
        body["__repr__"] = lambda self: f"ai_service({self.__dict__.get(_CORE)!r})"
        if _declares_tools(interface):
            body["tools"] = _tools
        made = _derived(interface, body)
        setattr(interface, _MADE, made)
    found: type[T] = made
    return found


def service_faults(
    interface: type, methods: Mapping[str, ServiceMethod]
) -> Iterator[tuple[str, ServiceDeclarationError | ToolDeclarationError]]:
    """All that is wrong with the methods of an interface, each with the method's name."""
    functions = _asked(interface)
    for name in dict.fromkeys((*functions, *methods)):
        try:
            _read(interface, functions, name, methods.get(name))
        except (ServiceDeclarationError, ToolDeclarationError) as error:
            yield name, error


def _methods(
    interface: type, methods: Mapping[str, ServiceMethod] | None
) -> dict[str, tuple[ServiceSignature, ServiceMethod]]:
    """What each method is, and how it asks."""
    if methods is not None and not isinstance(methods, Mapping):
        raise ServiceDeclarationError(
            f"methods is a mapping of names to ServiceMethod, not {type(methods).__name__}",
            next_step='Write methods={"chat": ServiceMethod(...)}.',
        )
    functions, given = _asked(interface), dict(methods or {})
    return {name: _read(interface, functions, name, given.get(name)) for name in (*functions, *given)}


def _read(
    interface: type, functions: Mapping[str, Any], name: str, given: ServiceMethod | None
) -> tuple[ServiceSignature, ServiceMethod]:
    """A method as it is given, else as noted on it, else on the classes that it stands in."""
    function = functions.get(name)
    if function is None:
        import difflib

        near = difflib.get_close_matches(name, functions, n=1)
        raise ServiceDeclarationError(
            f"{interface.__name__!r} has no method {name!r} that asks a model",
            next_step=f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(functions)}.",
        )
    if given is not None and not isinstance(given, ServiceMethod):
        raise ServiceDeclarationError(f"{name!r} in methods is a ServiceMethod, not {type(given).__name__}")
    how = beside(noted_on(function), _home_of(interface, name))
    for each in reversed(_classes_of(interface)):
        how = how.over(beside(noted_on(each), each))
    if given is not None:
        how = beside(given, interface).over(how)
    signature = replace(read_method(function, how), name=name)  # a function may stand under another name
    declaration = declaration_of(function)
    if declaration is not None:
        expect_tool(signature, declaration.name or name)
    return signature, how


def _declares_tools(interface: type) -> bool:
    """Whether a method of it is declared with ``@tool``."""
    return any(declaration_of(function) is not None for function in _asked(interface).values())


def resuming(method: Callable[A, R], state: ToolLoopState) -> Callable[A, R]:
    """The method of a service, to be called with the same arguments as then, that goes on with a turn that was
    suspended. Raises `RunArgumentError` for anything else.

    ``state`` is that of `ServiceSuspendedError`, of ``Result.suspended`` or of ``ToolChatResult.suspended``.
    """
    core, name = _core_of(method), getattr(method, "__name__", "")
    if core is None:
        raise RunArgumentError(
            f"{name or type(method).__name__!r} is no method of a service that asks a model",
            next_step="Write resuming(service.method, state)(...).",
        )
    if not isinstance(state, ToolLoopState):
        raise RunArgumentError(f"a turn goes on with a ToolLoopState, not {type(state).__name__}")
    return core.bound(name, state)


def asks_a_model(method: object) -> bool:
    """Whether it is a method of a service that a model answers, and not one with a body."""
    return _core_of(method) is not None


# -- inside --------------------------------------------------------------------------------------


def _core_of(method: object) -> ServiceCore | None:
    core = getattr(getattr(method, "__self__", None), "__dict__", {}).get(_CORE)
    return core if isinstance(core, ServiceCore) and core.asks(getattr(method, "__name__", "")) else None


def _check(interface: Any) -> None:
    if not inspect.isclass(interface):
        raise ServiceDeclarationError(
            f"an AI service is made of a class, not of {type(interface).__name__}",
            next_step="Write ai_service(Interface, client).",
        )
    name = interface.__name__
    if not _asked(interface):
        raise ServiceDeclarationError(
            f"{name!r} has no method for a model to answer",
            next_step="Give it one without a body: async def chat(self, message: str) -> str: ...",
        )
    members = {member: value for each in _classes_of(interface) for member, value in vars(each).items()}
    for member, value in members.items():
        if (kind := _kind_that_asks_nobody(member, value)) is not None:
            raise ServiceDeclarationError(
                f"{member!r} of {name!r} is a {kind} without a body, which no model can answer",
                next_step="Make it a plain method, with a public name, or give it a body.",
            )
    if getattr(interface, "__final__", False):
        raise ServiceDeclarationError(
            f"{name!r} is final, so that nothing can implement it", next_step="Take @final off, or name a protocol."
        )
    if "tools" in _asked(interface) and _declares_tools(interface):
        raise ServiceDeclarationError(
            f"the method 'tools' of {name!r} has the name under which other clients ask a service for its tools",
            next_step="Give it another name.",
        )


def _derived(interface: type, body: dict[str, Any]) -> Any:
    kind: Any = type(interface)
    try:
        return kind(interface.__name__, (interface,), body)
    except Exception as error:  # whatever its metaclass, or its own __init_subclass__, says
        raise ServiceDeclarationError(
            f"nothing can be derived from {interface.__name__!r}: {error}",
            next_step="Name a protocol, or a plain class, with methods without bodies.",
        ) from None


def _instance_of(made: type, interface: type) -> Any:
    try:
        service = made()
        fault = None if isinstance(service, made) else f"there came one of {type(service).__name__}"
    except Exception as error:  # whatever its own __init__ says
        fault = str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
    if fault is not None:
        raise ServiceDeclarationError(
            f"no object of {interface.__name__!r} can be made: {fault}",
            next_step="An interface has methods without bodies, and needs nothing to be made.",
        )
    return service


def _classes_of(interface: type) -> list[type]:
    """The interface and what it is derived from, the farthest first."""
    return [each for each in reversed(interface.__mro__) if each.__module__ not in ("typing", "builtins", "abc")]


def _home_of(interface: type, method: str) -> type:
    """The class that declares a method: its files lie beside that one's module."""
    return next(each for each in interface.__mro__ if method in vars(each))


def _asked(interface: type) -> dict[str, Callable[..., Any]]:
    """The methods that a model answers, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for each in _classes_of(interface):
        for name, value in vars(each).items():
            found.pop(name, None)
            if not name.startswith("_") and inspect.isfunction(value) and _has_no_body(value):
                found[name] = value
    return found


def _kind_that_asks_nobody(name: str, value: object) -> str | None:
    """What a member without a body is that looks as if a model answered it, and is no method that it answers."""
    if name.startswith("__"):
        return None
    if name.startswith("_") and inspect.isfunction(value):
        # One that gives nothing may be meant to do nothing; one that is abstract stays so.
        meant = value.__annotations__.get("return") in (None, "None") or getattr(value, "__isabstractmethod__", False)
        return None if meant or not _has_no_body(value) else "private method"
    if name.startswith("_") or not isinstance(value, staticmethod | classmethod | property):
        return None
    function = value.fget if isinstance(value, property) else value.__func__
    return type(value).__name__ if inspect.isfunction(function) and _has_no_body(function) else None


def _has_no_body(function: Any) -> bool:
    if noted_on(function) != ServiceMethod() or getattr(function, "__isabstractmethod__", False):
        return True
    for step in dis.get_instructions(function):
        if step.opname in ("RETURN_VALUE", "RETURN_CONST"):
            return step.opname == "RETURN_VALUE" or step.argval is None
        if step.opname not in _NO_BODY or (step.opname == "LOAD_CONST" and step.argval is not None):
            return False
    return False


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in the place of a method; it is told by its signature what it is."""
    if inspect.iscoroutinefunction(function):

        async def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return await self.__dict__[_CORE].bound(name)(*args, **kwargs)
    else:

        def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
            return self.__dict__[_CORE].bound(name)(*args, **kwargs)

    made = functools.wraps(function)(method)
    made.__name__ = name
    vars(made).pop("__isabstractmethod__", None)
    return made


async def _tools(self: Any, run: Run) -> Sequence[BoundTool]:
    """The methods that are declared with ``@tool``, as tools of another client."""
    found: Sequence[BoundTool] = self.__dict__["_agentforge_tools"]
    return found
