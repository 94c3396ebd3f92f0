"""The bean types ``python_tools``, ``component`` and ``factory``: a user's own tools and objects out of the ``scan``
roots."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from agentforge.errors import ConfigurationError, ToolError
from agentforge.model import ToolSpecification
from agentforge.plugin.bean_settings import BeanSettings, Field
from agentforge.plugin.bean_type import BeanContext
from agentforge.plugin.builtin_views import ViewSettings, check_view, view_of, viewed_names
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.life import method_of
from agentforge.tool import BoundTool, StaticTools, ToolSource, declaration_of
from agentforge.tool.execution import Run
from agentforge.tool.execution.default_executor import bound_tools_from
from agentforge.tool.spec.specifications import tool_specification_from, tool_specifications_from

__all__ = (
    "ComponentSettings",
    "FactorySettings",
    "PythonTools",
    "PythonToolsSettings",
    "check_python_tools",
    "make_by_function",
    "make_component",
    "make_python_tools",
    "source_of",
    "tool_names_of",
)


class ComponentSettings(BeanSettings):
    """What `component` takes."""

    component: str
    """The bare name of a class, or of a function, in the packages of scan."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Values for the class's constructor. Parameters that are beans are found by their types, or named here."""


class FactorySettings(BeanSettings):
    """What `factory` takes."""

    function: str
    """The bare name of a function in the packages of scan; its return annotation says what it makes."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Values for the function. Parameters that are beans are found by their types, or named here."""


class PythonToolsSettings(ComponentSettings, ViewSettings):
    """What `python_tools` takes; the component is a class with @tool methods, or a function."""


class PythonTools:
    """A source of the tools of one object or function.

    ``target`` is that object, which is started and closed with its source; ``bound`` are the tools, always the same.
    """

    def __init__(self, target: Any, bound: Iterable[BoundTool]) -> None:
        self.target = target
        self.bound = tuple(bound)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools."""
        return self.bound

    def known_tools(self) -> Sequence[BoundTool]:
        """The tools."""
        return self.bound

    async def start(self) -> None:
        """Start the object, where it has a ``start``."""
        await self._call("start")

    async def aclose(self) -> None:
        """Close the object, where it has an ``aclose`` or ``close``."""
        await self._call("aclose", "close")

    async def _call(self, *names: str) -> None:
        method = method_of(self.target, *names)
        made = method() if method is not None else None
        if inspect.isawaitable(made):
            await made

    def __repr__(self) -> str:
        return f"PythonTools({getattr(self.target, '__name__', type(self.target).__name__)})"


def make_component(settings: ComponentSettings, context: BeanContext) -> Any:
    """The object, or the function. Raises `ComponentError` for a component that is not there or cannot be made."""
    return context.components.make(settings.component, context.arguments, settings.arguments)


def make_by_function(settings: FactorySettings, context: BeanContext) -> Any:
    """What the function makes. Raises `ComponentError` for a function that is not there or cannot be called."""
    return context.components.make(settings.function, context.arguments, settings.arguments, called=True)


def make_python_tools(settings: PythonToolsSettings, context: BeanContext) -> PythonTools:
    """The source. Raises `ComponentError` for a component that is not there or cannot be made, `ToolDeclarationError`
    for one without tools, and `ConfigurationError` for a name in the settings of the view that fits none."""
    target = make_component(settings, context)
    tools = bound_tools_from(target, source_name=context.bean_id)
    names = [tool.name for tool in tools]
    for finding in check_view(settings, names, f"the component {settings.component!r}"):
        raise ConfigurationError(finding.message, next_step=finding.next_step)
    return PythonTools(target, _offered_by(view_of(StaticTools(tools), settings)))


def check_python_tools(settings: PythonToolsSettings, context: CheckContext) -> Iterator[Finding]:
    """A component without tools or with one that cannot be declared, and names in the settings of the view that fit
    none: read from the class, without making an object."""
    try:
        names = _declared_names(settings.component, context)
    except ToolError as error:
        yield Finding(error.message, "component", error.next_step)
        return
    yield from check_view(settings, names, f"the component {settings.component!r}")


def tool_names_of(settings: PythonToolsSettings, context: CheckContext) -> tuple[str, ...] | None:
    """The names of the tools that the source will offer; ``None`` where its own check finds something wrong."""
    try:
        names = _declared_names(settings.component, context)
    except (ConfigurationError, ToolError):
        return None
    if any(check_view(settings, names, "")):
        return None
    return viewed_names(settings, names)


def _declared_names(name: str, context: CheckContext) -> tuple[str, ...]:
    """The names of a component's tools, read once; what is wrong with them is raised each time."""
    key = "tools of", name
    if key not in context.shared:
        component = context.components.find(name)
        specify = tool_specifications_from if isinstance(component, type) else _specification_from
        context.shared[key] = tuple(each.name for each in specify(component))
    found: tuple[str, ...] = context.shared[key]
    return found


def _specification_from(function: Any) -> tuple[ToolSpecification, ...]:
    return (tool_specification_from(function),)


def source_of(value: object, name: str) -> PythonTools | None:
    """The source of an object that declares tools, or of a decorated function; ``None`` for any other object."""
    if isinstance(value, (type, PythonTools)):
        return None
    methods = (getattr(type(value), each, None) for each in dir(type(value)))
    if declaration_of(value) is None and not any(declaration_of(method) for method in methods):
        return None
    return PythonTools(value, bound_tools_from(value, source_name=name))


def _offered_by(view: ToolSource) -> Sequence[BoundTool]:
    """What a view over `StaticTools` offers: nothing in it waits, so its first step is its last."""
    asking = view.tools(Run()).__await__()
    while True:
        try:
            next(asking)
        except StopIteration as answer:
            return cast("Sequence[BoundTool]", answer.value)
