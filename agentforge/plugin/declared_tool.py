"""One tool that is data, as settings: read out of a configuration, a file beside it, an address or a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from agentforge.errors import ConfigurationError
from agentforge.model import ToolParameters, ToolSpecification
from agentforge.plugin.bean_settings import BeanSettings, Field, Seconds, as_value_error
from agentforge.tool import DeclaredTool, ReturnBehavior
from agentforge.tool.declare import return_behavior_of
from agentforge.tool.spec import check_schema

if TYPE_CHECKING:
    from pydantic import ValidationError

    from agentforge.config import Node

__all__ = ("DeclaredToolSettings", "node_of", "tool_of", "tools_in")


class DeclaredToolSettings(BeanSettings):
    """One tool that is data."""

    name: str = Field(min_length=1)
    """The name the model calls it by; the executor sees it in the request."""
    description: str | None = None
    """What it does, for the model."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of its arguments, an object; unset: it takes none."""
    strict: bool | Literal["auto", "portable"] | None = None
    """Whether the provider is to hold the model to the schema: auto where it can, portable in the form that all can;
    unset: its default."""
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

    @property
    def declared(self) -> DeclaredTool:
        """The tool."""
        behavior = ReturnBehavior(self.return_behavior) if self.return_behavior is not None else None
        return DeclaredTool(
            self.specification,
            return_behavior_of(behavior, self.return_direct, f"tool {self.name!r}"),
            self.effect,
            self.timeout,
            self.serial,
            self.sequential,
        )


def node_of(text: str, name: str) -> Node | None:
    """The text of a YAML or JSON document called ``name``; ``None`` for an empty one. Raises `ConfigurationError` with
    its place."""
    from agentforge.config import ConfigurationFaults
    from agentforge.config.source import read_node

    try:
        return read_node(text, name, layer="file")
    except ConfigurationFaults as faults:
        first = faults.diagnostics[0]
        raise ConfigurationError(first.message, location=str(first.mark), next_step=first.next_step) from None


def tools_in(node: Node | None, what: str) -> list[DeclaredToolSettings]:
    """The tools of a document that is a list of them. Raises `ConfigurationError` with file and line."""
    from pydantic import ValidationError

    from agentforge.config import SequenceNode
    from agentforge.config.fitting import value_for

    if not isinstance(node, SequenceNode) or not node.items:
        raise ConfigurationError(f"{what} holds no list of tools", next_step="Begin each tool with '- name: NAME'.")
    found: list[DeclaredToolSettings] = []
    for item in node.items:
        try:
            found.append(DeclaredToolSettings.model_validate(value_for(item, DeclaredToolSettings)))
        except ValidationError as error:
            raise ConfigurationError(f"a tool does not fit: {_fault(error)}", location=str(item.mark)) from None
    return found


def tool_of(value: object, where: str) -> DeclaredToolSettings:
    """The tool that a JSON value is; ``where`` begins the fault. Raises `ConfigurationError`."""
    from pydantic import ValidationError

    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{where} is no object", next_step='Write each tool as {"name": …}.')
    name = value.get("name")
    if isinstance(name, str) and name:
        where = f"{where} ({name!r})"
    try:
        return DeclaredToolSettings.model_validate(dict(value))
    except ValidationError as error:
        raise ConfigurationError(f"{where} does not fit: {_fault(error)}") from None


def _fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, fault["loc"]))
    return f"{place}: {fault['msg']}" if place else fault["msg"].removeprefix("Value error, ")
