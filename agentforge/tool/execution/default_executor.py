"""Functions and own executors as bound tools: bind the arguments, call, convert the result (seed A 3.2.3)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from agentforge.errors import ToolDeclarationError, ToolExecutionError
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.declare import declaration_of
from agentforge.tool.execution.calling import awaited_result, function_behind
from agentforge.tool.execution.conversion import MAX_ITEMS, to_result
from agentforge.tool.execution.converter import converted
from agentforge.tool.execution.failure import execution_cause, execution_error
from agentforge.tool.execution.own_executor import bound_tool_from
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.source import ArgumentBinder, BoundTool
from agentforge.tool.spec.binding import Binder
from agentforge.tool.spec.hints import injected_value
from agentforge.tool.spec.schema import compile_parameters
from agentforge.tool.spec.signature import ToolSignature, read_signature
from agentforge.tool.spec.specifications import specification_of, tool_methods_of

__all__ = ("DefaultToolExecutor", "bound_tool_from", "bound_tools_from")


class DefaultToolExecutor:
    """Calls a function, or a ``@tool`` method of an object by its name, with arguments that were checked.

    Everything that can be known before the first call (signature, schema, conversions) is read once, here.
    Raises `ToolDeclarationError` for what cannot be a tool.

    >>> def add(a: int, b: int = 1) -> int:
    ...     return a + b
    >>> DefaultToolExecutor(add).execute(ToolExecutionRequest("c1", "add", '{"a": 2}'))
    '3'
    """

    __slots__ = ("_function", "_injected", "_positional", "bind", "blocking", "invoke", "signature", "specification")

    def __init__(self, target: Any, method_name: str | None = None) -> None:
        function = target if method_name is None else _method(target, method_name)
        signature = read_signature(function)
        if signature.needs_object:
            raise ToolDeclarationError(
                f"tool {signature.tool!r} is a method without its object",
                tool=signature.tool,
                next_step="Give an object of its class, or the method of an object.",
            )
        compiled = compile_parameters(signature)
        self._set_up(signature, specification_of(signature, compiled), Binder(signature.tool, compiled))

    def _set_up(self, signature: ToolSignature, specification: ToolSpecification, bind: ArgumentBinder) -> None:
        self.signature = signature
        self.specification = specification
        #: Checks and converts arguments; see `Binder`.
        self.bind = bind
        self._function: Callable[..., Any] = signature.function
        self._injected = tuple(self.signature.injected.items())
        self._positional = self.signature.positional
        #: Whether the function blocks its thread while it runs.
        self.blocking = not inspect.iscoroutinefunction(function_behind(self._function))
        #: ``(request, bound, run)``: a plain function for a sync tool, a coroutine function for an async one.
        self.invoke: Callable[
            [ToolExecutionRequest, dict[str, Any], Run], ToolExecutionResult | Awaitable[ToolExecutionResult]
        ] = self._invoke_sync if self.blocking else self._invoke_async

    def bound_tool(self, source_name: str = "local") -> BoundTool:
        """The tool with all that its declaration says."""
        declaration = self.signature.declaration
        return BoundTool(
            self.specification,
            self.bind,
            self.invoke,
            declaration.return_behavior,
            declaration.effect,
            source_name,
            declaration.timeout,
            declaration.serial,
            declaration.sequential,
            self.blocking,
        )

    def execute(self, request: ToolExecutionRequest, memory_id: object = None) -> str:
        """Run the tool here and now; the text for the model. An async tool needs that no event loop runs here."""
        return self.execute_with_result(request, memory_id).text

    def execute_with_result(
        self, request: ToolExecutionRequest, memory_id: object = None, run: Run | None = None
    ) -> ToolExecutionResult:
        """As `execute`, with the result itself.

        Raises `ToolArgumentsError` (the tool did not run) and `ToolExecutionError` (it failed).
        """
        made = self.invoke(request, self.bind(request.arguments_as_map()), run or Run(memory_id=memory_id))
        if isinstance(made, ToolExecutionResult):
            return made
        return asyncio.run(_awaited(made))

    def _call(self, bound: Any, run: Run) -> Any:
        if not self._injected and not self._positional:
            return self._function(**bound)
        named = dict(bound)
        for name, kind in self._injected:
            named[name] = injected_value(kind, run)
        return self._function(*[named.pop(name) for name in self._positional], **named)

    def _invoke_sync(
        self, request: ToolExecutionRequest, bound: dict[str, Any], run: Run
    ) -> ToolExecutionResult | Awaitable[ToolExecutionResult]:
        try:
            value = self._call(bound, run)
            if inspect.isawaitable(value):
                return awaited_result(value, self.signature.tool, run.converters)
            if inspect.isasyncgen(value):  # of a function that does not say so
                return awaited_result(_collect(value), self.signature.tool, run.converters)
            if run.converters:
                return converted(value, self.signature.tool, run.converters)
            return to_result(value, tool=self.signature.tool)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Nothing outside can cancel a plain call, so that a CancelledError is the tool's own, too.
            raise execution_error(error, self.signature.tool) from execution_cause(error)

    async def _invoke_async(
        self, request: ToolExecutionRequest, bound: dict[str, Any], run: Run
    ) -> ToolExecutionResult:
        try:
            value = await self._call(bound, run)
            if run.converters:
                return converted(value, self.signature.tool, run.converters)
            return to_result(value, tool=self.signature.tool)
        except (Exception, SystemExit) as error:
            raise execution_error(error, self.signature.tool) from execution_cause(error)

    def __repr__(self) -> str:
        return f"DefaultToolExecutor({self.signature.tool!r})"


def bound_tools_from(target: Any, source_name: str = "local") -> tuple[BoundTool, ...]:
    """Bound tools from a function (decorated or not), or from the ``@tool`` methods of an object, class or module.

    Of a class only class and static methods can run; with instance methods among its tools, give an object. Raises
    `ToolDeclarationError` and `DuplicateToolError`.
    """
    if not isinstance(target, type) and (
        inspect.isroutine(target) or isinstance(target, partial) or declaration_of(target) is not None
    ):
        return (DefaultToolExecutor(target).bound_tool(source_name),)
    return tuple(DefaultToolExecutor(method).bound_tool(source_name) for method in tool_methods_of(target))


def _method(target: Any, name: str) -> Any:
    """A decorated method by its own or its tool's name; nothing else of an object can be reached."""
    methods = tool_methods_of(target)
    for method in methods:
        if getattr(method, "__name__", None) == name:
            return method
    for method in methods:
        if read_signature(method).tool == name:
            return method
    known = [read_signature(method).tool for method in methods]
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    raise ToolDeclarationError(
        f"{type(target).__name__} has no method {name!r} that is decorated with @tool"
        + (f"; did you mean {near[0]!r}?" if near else ""),
        next_step=f"Its tools are {', '.join(known) or 'none'}; decorate the method with @tool to add it.",
    )


async def _awaited(value: Awaitable[ToolExecutionResult]) -> ToolExecutionResult:
    return await value


async def _collect(values: Any) -> list[Any]:
    items: list[Any] = []
    async for item in values:
        items.append(item)
        if len(items) > MAX_ITEMS:
            raise ToolExecutionError(f"the tool gave more than {MAX_ITEMS:,} items")
    return items
