"""The bean types ``tool_view`` and ``declared_tools``: other sources under other names, and tools that are data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from agentforge.errors import ConfigurationError
from agentforge.model import ToolParameters, ToolSpecification
from agentforge.plugin.bean_settings import BeanSettings, Field, Seconds, as_value_error
from agentforge.plugin.bean_type import BeanContext, BeanType
from agentforge.plugin.builtin_tools import PythonTools, PythonToolsSettings, tool_names_of
from agentforge.plugin.builtin_views import ViewSettings, check_view, view_of, viewed_names
from agentforge.plugin.checking import CheckContext, CheckedBean, Finding
from agentforge.plugin.reference import Ref
from agentforge.tool import BoundTool, ReturnBehavior, StaticTools, ToolSource
from agentforge.tool.execution import bound_tool_from
from agentforge.tool.spec import check_schema

__all__ = (
    "SOURCE_TYPES",
    "DeclaredToolSettings",
    "DeclaredToolsSettings",
    "ToolViewSettings",
    "check_declared_tools",
    "check_tool_view",
    "known_tool_names",
    "make_declared_tools",
    "make_tool_view",
)


class ToolViewSettings(ViewSettings):
    """What `tool_view` takes."""

    source: Annotated[ToolSource, Ref()]
    """The source whose tools it offers."""


class DeclaredToolSettings(BeanSettings):
    """One tool that is data."""

    name: str = Field(min_length=1)
    """The name the model calls it by; the executor sees it in the request."""
    description: str | None = None
    """What it does, for the model."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of its arguments, an object; unset: it takes none."""
    strict: bool | None = None
    """Whether the provider is to hold the model to the schema; unset: its default."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """For the application, never sent."""
    return_behavior: Literal["to_llm", "immediate", "immediate_if_last"] | None = None
    """Where the result goes; unset: to_llm."""
    return_direct: bool | None = None
    """Another word for immediate."""
    effect: Literal["read", "write"] | None = None
    """What it does to the world; unset: nobody knows, so it is never repeated."""
    timeout: Seconds | None = None
    """How long it may take; unset: as the service says."""
    serial: str | None = None
    """A key whose calls never run side by side."""
    sequential: bool = False
    """Whether a call waits for those before it, and those after it wait for it."""

    def model_post_init(self, context: object) -> None:
        """Find a schema that cannot be used, and behaviours that contradict each other, before anything is built."""
        behavior = self.return_behavior
        if self.return_direct is not None and behavior not in (None, "immediate" if self.return_direct else "to_llm"):
            raise ValueError("return_direct and return_behavior contradict each other; give one of the two")
        with as_value_error():
            check_schema(self.specification.parameters.schema, tool=self.name)

    @property
    def specification(self) -> ToolSpecification:
        """The specification."""
        parameters = ToolParameters(self.parameters) if self.parameters is not None else ToolParameters.empty()
        return ToolSpecification(self.name, self.description, parameters, self.strict, self.metadata)


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
    return StaticTools(_bound(each, settings.executor, context.bean_id) for each in _all(settings, context.folder))


def _bound(tool: DeclaredToolSettings, executor: Any, source_name: str) -> BoundTool:
    behavior = ReturnBehavior(tool.return_behavior) if tool.return_behavior is not None else None
    return bound_tool_from(
        tool.specification,
        executor,
        return_behavior=behavior,
        return_direct=tool.return_direct,
        effect=tool.effect,
        source_name=source_name,
        timeout=tool.timeout,
        serial=tool.serial,
        sequential=tool.sequential,
    )


def _all(settings: DeclaredToolsSettings, folder: Path) -> tuple[DeclaredToolSettings, ...]:
    return (*settings.tools, *(_read(folder / settings.file) if settings.file is not None else ()))


def _read(path: Path) -> Iterable[DeclaredToolSettings]:
    """The tools of a file. Raises `ConfigurationError` with file and line."""
    from pydantic import ValidationError

    from agentforge.config import ConfigurationFaults
    from agentforge.config.fitting import value_for
    from agentforge.config.nodes import SequenceNode
    from agentforge.config.source import read_node
    from agentforge.config.text_file import TextFileError, read_text_file

    try:
        node = read_node(read_text_file(path), str(path), layer="file")
    except TextFileError as error:
        raise ConfigurationError(str(error), next_step=error.next_step) from None
    except ConfigurationFaults as faults:
        first = faults.diagnostics[0]
        raise ConfigurationError(first.message, location=str(first.mark), next_step=first.next_step) from None
    if not isinstance(node, SequenceNode) or not node.items:
        step = "Begin each tool with '- name: NAME'."
        raise ConfigurationError(f"the file '{path}' holds no list of tools", next_step=step)
    found: list[DeclaredToolSettings] = []
    for item in node.items:
        try:
            found.append(DeclaredToolSettings.model_validate(value_for(item, DeclaredToolSettings)))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            message = f"{place}: {fault['msg']}" if place else fault["msg"].removeprefix("Value error, ")
            raise ConfigurationError(f"a tool does not fit: {message}", location=str(item.mark)) from None
    return found


def check_tool_view(settings: ToolViewSettings, context: CheckContext) -> Iterator[Finding]:
    """Names that fit no tool of the source, where its tools are known before it is made."""
    bean = context.bean(settings.source)
    names = known_tool_names(bean, context)
    if bean is not None and names is not None:
        yield from check_view(settings, names, f"'{bean.id}'")


def check_declared_tools(settings: DeclaredToolsSettings, context: CheckContext) -> Iterator[Finding]:
    """A file that cannot be read, and two tools of one name."""
    try:
        tools = _all(settings, context.folder)
    except ConfigurationError as error:
        message = f"{error.location}: {error.message}" if error.location else error.message
        yield Finding(message, "file", error.next_step)
        return
    seen: set[str] = set()
    for number, tool in enumerate(tools):
        if tool.name in seen:
            path = f"tools.{number}.name" if number < len(settings.tools) else "file"
            yield Finding(f"two tools are named {tool.name!r}", path, "Give one of them another name.")
        seen.add(tool.name)


def known_tool_names(bean: CheckedBean | None, context: CheckContext) -> tuple[str, ...] | None:
    """The names of the tools that a source will offer; ``None`` where they are not known before it is made, or its own
    check finds something wrong."""
    if bean is None:
        return None
    if isinstance(bean.given, PythonTools):
        return tuple(tool.name for tool in bean.given.bound)
    settings = bean.settings
    if isinstance(settings, PythonToolsSettings):
        return tool_names_of(settings, context)
    if isinstance(settings, ToolViewSettings):
        names = known_tool_names(context.bean(settings.source), context)
        return None if names is None or any(check_view(settings, names, "")) else viewed_names(settings, names)
    if isinstance(settings, DeclaredToolsSettings):
        try:
            return tuple(tool.name for tool in _all(settings, context.folder))
        except ConfigurationError:
            return None
    return None


SOURCE_TYPES = (
    BeanType(
        "tool_view",
        ToolViewSettings,
        make_tool_view,
        ToolSource,
        "The tools of another source: fewer of them, under other names, with other descriptions.",
        check=check_tool_view,
    ),
    BeanType(
        "declared_tools",
        DeclaredToolsSettings,
        make_declared_tools,
        ToolSource,
        "Tools that are data: specifications in the file or beside it, and one executor for all of them.",
        check=check_declared_tools,
    ),
)
