"""How an application says what a model reads of its own objects: converters, asked before the usual conversion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from agentforge.errors import ToolExecutionError
from agentforge.tool.execution.conversion import to_result
from agentforge.tool.execution.result import ToolExecutionResult

__all__ = ("ToolResultConverter", "converted")


@runtime_checkable
class ToolResultConverter(Protocol):
    """Turns what a tool returned into its result; one that says ``None`` leaves it to the next.

    It is called where the tool ran (of a plain function: on a worker thread), so it must be quick and safe to share.
    What it raises is a failure of the tool.

    >>> class Money:
    ...     def convert(self, value: object, tool: str) -> ToolExecutionResult | None:
    ...         return ToolExecutionResult.success(f"{value / 100:.2f} EUR") if tool == "price" else None
    >>> isinstance(Money(), ToolResultConverter)
    True
    """

    def convert(self, value: object, tool: str) -> ToolExecutionResult | None:
        """The result of ``value``, which the tool named ``tool`` returned; ``None`` when it is not this one's."""
        ...


def converted(value: object, tool: str, converters: Sequence[ToolResultConverter]) -> ToolExecutionResult:
    """The result of the first converter that has one, else that of `to_result`.

    What is a `ToolExecutionResult` already stays as it is. Raises `ToolExecutionError` for a converter that returns
    anything else.
    """
    if converters and not isinstance(value, ToolExecutionResult):
        for each in converters:
            found = each.convert(value, tool)
            if isinstance(found, ToolExecutionResult):
                return found
            if found is not None:
                raise ToolExecutionError(
                    f"the converter {type(each).__name__} returned {type(found).__name__} for the tool {tool!r}",
                    tool=tool,
                    next_step="Return a ToolExecutionResult, or None for a value that is not its own.",
                )
    return to_result(value, tool=tool)
