"""Own executors as bound tools: any callable that takes the request, alone or with the context (seed A 3.1.2)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.declare import ReturnBehavior, return_behavior_of
from agentforge.tool.execution.calling import awaited_result, function_behind
from agentforge.tool.execution.converter import converted
from agentforge.tool.execution.failure import execution_cause, execution_error
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.execution.schema_validator import CheckedArguments, SchemaValidator
from agentforge.tool.source import BoundTool, Effect, ToolOrigin
from agentforge.tool.spec.long_numbers import json_text

__all__ = ("bound_tool_from",)


def bound_tool_from(
    specification: ToolSpecification,
    executor: Any,
    *,
    return_behavior: ReturnBehavior | None = None,
    return_direct: bool | None = None,
    effect: Effect | None = None,
    source_name: str = "local",
    timeout: float | None = None,
    serial: str | None = None,
    sequential: bool = False,
    origin: ToolOrigin | None = None,
) -> BoundTool:
    """A bound tool from a specification and an executor.

    The executor is a callable ``(request)`` or ``(request, context)`` by the number of parameters it requires, or an
    object with ``execute_with_result(request, memory_id)`` or ``execute(request, memory_id)``; sync or async. What it
    returns is converted as any tool's result. It is handed the request as the model made it, unless a value was
    coerced or the text is not plain JSON: then the text is that of the checked arguments. ``return_behavior`` is
    ``TO_LLM`` unless given; ``return_direct=True`` is another word for ``IMMEDIATE``. ``origin`` says where it comes
    from.

    Raises `ToolDeclarationError` for an executor that cannot be called so or that yields, or an unusable schema.
    """
    if not isinstance(specification, ToolSpecification):
        raise ToolDeclarationError(
            f"a ToolSpecification was expected, {type(specification).__name__} came",
            next_step="Build one: ToolSpecification(name, description, parameters).",
        )
    behavior = return_behavior_of(return_behavior, return_direct, f"tool {specification.name!r}")
    call, is_async = _adapted(executor, specification.name)
    strict = effect == "write" if specification.strict in (None, "auto") else bool(specification.strict)
    runner = _Runner(specification.name, call)
    return BoundTool(
        specification,
        SchemaValidator(specification, strict=strict),
        runner.run_async if is_async else runner.run_sync,
        behavior,
        effect,
        source_name,
        timeout,
        serial,
        sequential,
        not is_async,
        origin,
    )


class _Runner:
    """Calls the executor with the checked request and converts what comes back."""

    __slots__ = ("_call", "_tool")

    def __init__(self, tool: str, call: Callable[[ToolExecutionRequest, Run], Any]) -> None:
        self._tool = tool
        self._call = call

    def run_sync(
        self, request: ToolExecutionRequest, bound: CheckedArguments, run: Run
    ) -> ToolExecutionResult | Awaitable[ToolExecutionResult]:
        try:
            value = self._call(_checked_request(request, bound), run)
            if inspect.isawaitable(value):
                return awaited_result(value, self._tool, run.converters)
            return converted(value, self._tool, run.converters)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise execution_error(error, self._tool) from execution_cause(error)

    async def run_async(self, request: ToolExecutionRequest, bound: CheckedArguments, run: Run) -> ToolExecutionResult:
        try:
            value = self._call(_checked_request(request, bound), run)
        except (Exception, SystemExit) as error:
            raise execution_error(error, self._tool) from execution_cause(error)
        return await awaited_result(value, self._tool, run.converters)


def _checked_request(request: ToolExecutionRequest, bound: CheckedArguments) -> ToolExecutionRequest:
    if not (request.arguments or "").strip():
        return request.with_arguments(json.dumps(bound) if bound else "{}")
    if not bound.changed and _is_plain(request.arguments):
        return request
    return request.with_arguments(json_text(dict(bound)))


def _is_plain(text: str) -> bool:
    """Whether any JSON parser reads the text as an object: no fence around it, no trailing comma."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _adapted(executor: Any, tool: str) -> tuple[Callable[[ToolExecutionRequest, Run], Any], bool]:
    """The executor as ``(request, run)``, and whether it is a coroutine function."""
    # Imported here: it is needed when a tool is registered, not by a program that only might.
    from agentforge.tool.spec.unsupported import refuse_yielding

    if not callable(executor) or isinstance(executor, type):
        for name in ("execute_with_result", "execute"):
            method = getattr(executor, name, None)
            if callable(method) and not isinstance(executor, type):
                refuse_yielding(method, tool=tool)
                return _method_call(method, tool), inspect.iscoroutinefunction(method)
        raise _refused(tool, f"{type(executor).__name__} cannot be called and has no method execute")
    refuse_yielding(executor, tool=tool)
    is_async = inspect.iscoroutinefunction(function_behind(executor))
    if _required_positional(executor, tool) < 2:
        return lambda request, run: executor(request), is_async
    return lambda request, run: executor(request, run.context), is_async


def _method_call(method: Callable[..., Any], tool: str) -> Callable[[ToolExecutionRequest, Run], Any]:
    if _positional(method) >= 2:
        return lambda request, run: method(request, run.memory_id)
    _required_positional(method, tool)
    return lambda request, run: method(request)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions do not say
        return None


def _positional(function: Callable[..., Any]) -> int:
    rows = _parameters(function) or []
    return sum(row.kind in (row.POSITIONAL_ONLY, row.POSITIONAL_OR_KEYWORD) for row in rows)


def _required_positional(function: Callable[..., Any], tool: str) -> int:
    rows = _parameters(function)
    if rows is None:
        return 1
    positional = [row for row in rows if row.kind in (row.POSITIONAL_ONLY, row.POSITIONAL_OR_KEYWORD)]
    required = sum(row.default is row.empty for row in positional)
    takes_one = bool(positional) or any(row.kind is row.VAR_POSITIONAL for row in rows)
    needs_named = any(row.kind is row.KEYWORD_ONLY and row.default is row.empty for row in rows)
    if required > 2 or not takes_one or needs_named:
        raise _refused(tool, f"the executor takes {inspect.signature(function)}")
    return required


def _refused(tool: str, fault: str) -> ToolDeclarationError:
    return ToolDeclarationError(
        f"the executor of tool {tool!r} cannot be used: {fault}",
        tool=tool,
        next_step="Give a callable (request) or (request, context), or an object with execute(request, memory_id).",
    )
