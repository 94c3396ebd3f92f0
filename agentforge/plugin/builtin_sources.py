"""The bean types ``tool_view`` and ``declared_tools``: other sources under other names, and tools that are data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from agentforge.errors import ConfigurationError, ToolError
from agentforge.plugin.bean_settings import BeanSettings
from agentforge.plugin.bean_type import BeanContext, BeanType
from agentforge.plugin.builtin_views import ViewSettings, check_view, view_of, viewed_names
from agentforge.plugin.checking import CheckContext, Finding
from agentforge.plugin.declared_tool import DeclaredToolSettings, node_of, tools_in
from agentforge.plugin.reference import Ref
from agentforge.plugin.source_names import known_tool_names
from agentforge.tool import StaticTools, ToolSource
from agentforge.tool.execution.schema_validator import SchemaValidator

__all__ = (
    "SOURCE_TYPES",
    "DeclaredToolsSettings",
    "ToolViewSettings",
    "check_declared_tools",
    "check_executor",
    "check_tool_view",
    "make_declared_tools",
    "make_tool_view",
)


class ToolViewSettings(ViewSettings):
    """What `tool_view` takes."""

    source: Annotated[ToolSource, Ref()]
    """The source whose tools it offers."""


class DeclaredToolsSettings(BeanSettings):
    """What `declared_tools` takes: ``tools``, or ``file``, or both."""

    executor: Annotated[Any, Ref()]
    """What runs them: a function or object that takes the request, or the request and the context, or one with a
    method execute."""
    tools: tuple[DeclaredToolSettings, ...] = ()
    """The tools."""
    file: str | None = None
    """A YAML or JSON file with a list of such tools, relative to the file the bean stands in."""

    def model_post_init(self, context: object) -> None:
        """Something must be declared."""
        if not self.tools and self.file is None:
            raise ValueError("give tools or file")


def make_tool_view(settings: ToolViewSettings, context: BeanContext) -> ToolSource:
    """The view."""
    return view_of(settings.source, settings)


def make_declared_tools(settings: DeclaredToolsSettings, context: BeanContext) -> StaticTools:
    """The source. Raises `ConfigurationError` for a file that cannot be read, `ToolDeclarationError` for an executor
    that cannot be called."""
    declared = (each.declared for each in _all(settings, context.folder))
    return StaticTools(each.bound(settings.executor, context.bean_id) for each in declared)


def _all(settings: DeclaredToolsSettings, folder: Path) -> tuple[DeclaredToolSettings, ...]:
    return (*settings.tools, *(_read(folder / settings.file) if settings.file is not None else ()))


def _checked(settings: DeclaredToolsSettings, context: CheckContext) -> tuple[DeclaredToolSettings, ...]:
    """As `_all`; a file is read once for all checks of a configuration, what is wrong with it is raised each time."""
    if settings.file is None:
        return settings.tools
    key = "declared_tools", context.folder / settings.file
    if key not in context.shared:
        context.shared[key] = tuple(_read(key[1]))
    return (*settings.tools, *context.shared[key])


def _read(path: Path) -> Iterable[DeclaredToolSettings]:
    """The tools of a file. Raises `ConfigurationError` with file and line."""
    from agentforge.config.text_file import TextFileError, read_text_file

    try:
        text = read_text_file(path)
    except TextFileError as error:
        raise ConfigurationError(str(error), next_step=error.next_step) from None
    return tools_in(node_of(text, str(path)), f"the file '{path}'")


def check_tool_view(settings: ToolViewSettings, context: CheckContext) -> Iterator[Finding]:
    """Names that fit no tool of the source, where its tools are known before it is made."""
    bean = context.bean(settings.source)
    names = known_tool_names(bean, context)
    if bean is not None and names is not None:
        yield from check_view(settings, names, f"'{bean.id}'")


def check_declared_tools(settings: DeclaredToolsSettings, context: CheckContext) -> Iterator[Finding]:
    """A file that may not or cannot be read, and two tools of one name."""
    if settings.file is not None and (refused := context.outside(settings.file, "file")) is not None:
        yield refused
        return
    try:
        tools = _checked(settings, context)
    except ConfigurationError as error:
        message = f"{error.location}: {error.message}" if error.location else error.message
        yield Finding(message, "file", error.next_step)
        return
    yield from check_executor(settings.executor, context)
    seen: set[str] = set()
    for number, tool in enumerate(tools):
        path = f"tools.{number}" if number < len(settings.tools) else "file"
        if tool.name in seen:
            where = f"{path}.name" if path != "file" else path
            yield Finding(f"two tools are named {tool.name!r}", where, "Give one of them another name.")
        seen.add(tool.name)
        try:
            SchemaValidator(tool.specification).prepare()
        except ToolError as error:
            yield Finding(error.message, f"{path}.parameters" if path != "file" else path, error.next_step)


def check_executor(executor: Any, context: CheckContext) -> Iterator[Finding]:
    """A bean that can run no tool, as far as its class is known before it is made."""
    bean = context.bean(executor)
    kind = bean.provides if bean is not None else None
    if bean is None or kind is None or kind is object:
        return
    # Of the class itself: to be called as a class is makes no object callable.
    members = {name for each in kind.__mro__ for name in vars(each)}
    if members.isdisjoint({"__call__", "execute", "execute_with_result"}):
        step = "Name a function, or an object that is called with a request or has a method execute."
        yield Finding(f"'{bean.id}' is a {kind.__name__}, which runs no tool", "executor", step)


def _viewed(settings: ToolViewSettings, context: CheckContext) -> tuple[str, ...] | None:
    names = known_tool_names(context.bean(settings.source), context)
    return None if names is None or any(check_view(settings, names, "")) else viewed_names(settings, names)


def _declared(settings: DeclaredToolsSettings, context: CheckContext) -> tuple[str, ...] | None:
    if settings.file is not None and context.outside(settings.file, "file") is not None:
        return None
    try:
        return tuple(tool.name for tool in _checked(settings, context))
    except ConfigurationError:
        return None


SOURCE_TYPES = (
    BeanType(
        "tool_view",
        ToolViewSettings,
        make_tool_view,
        ToolSource,
        "The tools of another source: fewer of them, under other names, with other descriptions.",
        check=check_tool_view,
        tool_names=_viewed,
    ),
    BeanType(
        "declared_tools",
        DeclaredToolsSettings,
        make_declared_tools,
        ToolSource,
        "Tools that are data: specifications in the file or beside it, and one executor for all of them.",
        check=check_declared_tools,
        tool_names=_declared,
    ),
)
