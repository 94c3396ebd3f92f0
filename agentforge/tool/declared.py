"""A tool that is data: all that can be said of it but what runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agentforge.model.specification import ToolSpecification
from agentforge.tool.declare import ReturnBehavior, check_timeout
from agentforge.tool.execution.own_executor import bound_tool_from
from agentforge.tool.source import BoundTool, Effect

__all__ = ("DeclaredTool",)


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """One tool that is data: its specification, and what else a `BoundTool` says of it."""

    specification: ToolSpecification
    return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM
    effect: Effect | None = None
    timeout: float | None = None
    serial: str | None = None
    sequential: bool = False

    def __post_init__(self) -> None:
        check_timeout(self.timeout, f"tool {self.specification.name!r}")

    @property
    def content(self) -> str:
        """All of it as one text: where two are equal, the tools are."""
        said = (self.return_behavior, self.effect, self.timeout, self.serial, self.sequential)
        return json.dumps([self.specification.to_json(), *said], sort_keys=True, default=repr)

    def bound(self, executor: Any, source_name: str = "data") -> BoundTool:
        """The tool with what runs it; raises `ToolDeclarationError` as `bound_tool_from` does."""
        return bound_tool_from(
            self.specification,
            executor,
            return_behavior=self.return_behavior,
            effect=self.effect,
            source_name=source_name,
            timeout=self.timeout,
            serial=self.serial,
            sequential=self.sequential,
        )
