"""The bean types ``python_tools`` and ``component``: a user's own tools and objects out of the ``scan`` roots."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from agentforge.errors import ConfigurationError
from agentforge.plugin.bean_settings import BeanSettings, Field
from agentforge.plugin.bean_type import BeanContext
from agentforge.plugin.life import method_of
from agentforge.tool import BoundTool, StaticTools, ToolSource, declaration_of, only, prefix, without
from agentforge.tool.execution import Run
from agentforge.tool.execution.default_executor import bound_tools_from

__all__ = (
    "ComponentSettings",
    "PythonTools",
    "PythonToolsSettings",
    "make_component",
    "make_python_tools",
    "source_of",
)


class ComponentSettings(BeanSettings):
    """What `component` takes."""

    component: str
    """The bare name of a class, or of a function, in the packages of scan."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Values for the class's constructor. Parameters that are beans are found by their types, or named here."""


class PythonToolsSettings(ComponentSettings):
    """What `python_tools` takes; the component is a class with @tool methods, or a function."""

    only: tuple[str, ...] = ()
    """Names of the tools to offer, with * and ? as wildcards; empty: all."""
    without: tuple[str, ...] = ()
    """Names of tools to leave out, with * and ? as wildcards."""
    prefix: str | None = None
    """Text put in front of every tool's name."""


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


def make_python_tools(settings: PythonToolsSettings, context: BeanContext) -> PythonTools:
    """The source. Raises `ComponentError` for a component that is not there or cannot be made, `ToolDeclarationError`
    for one without tools, and `ConfigurationError` for a name in ``only`` or ``without`` that fits none."""
    target = make_component(settings, context)
    tools = bound_tools_from(target, source_name=context.bean_id)
    for pattern in (*settings.only, *settings.without):
        if not any(fnmatchcase(tool.name, pattern) for tool in tools):
            raise ConfigurationError(
                f"no tool of the component {settings.component!r} is named {pattern!r}",
                next_step=f"It has {', '.join(tool.name for tool in tools)}.",
            )
    source: ToolSource = StaticTools(tools)
    if settings.only:
        source = only(source, *settings.only)
    if settings.without:
        source = without(source, *settings.without)
    if settings.prefix:
        source = prefix(source, settings.prefix)
    return PythonTools(target, _offered_by(source))


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
