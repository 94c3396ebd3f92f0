"""A tool from a callable of one argument, where the type of that argument, or its schema, is given apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentforge.errors import ToolDeclarationError
from agentforge.model.specification import Strictness, ToolParameters, ToolSpecification
from agentforge.tool.declare import ReturnBehavior, ToolDeclaration, check_strict, check_timeout, return_behavior_of
from agentforge.tool.execution.default_executor import DefaultToolExecutor
from agentforge.tool.execution.run import Run
from agentforge.tool.source import ArgumentBinder, BoundTool, Effect
from agentforge.tool.spec.hints import Injected, injected_value

if TYPE_CHECKING:
    from agentforge.tool.spec.signature import ToolSignature

__all__ = ("function_tool",)


def function_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    input_type: Any = None,
    schema: Mapping[str, Any] | ToolParameters | None = None,
    return_behavior: ReturnBehavior | None = None,
    return_direct: bool | None = None,
    effect: Effect | None = None,
    strict: Strictness = None,
    metadata: Mapping[str, object] | None = None,
    timeout: float | None = None,
    serial: str | None = None,
    sequential: bool = False,
    source_name: str = "local",
) -> BoundTool:
    """A bound tool that hands the whole argument object of a call to ``function``; sync or async.

    Give either ``input_type``, a dataclass, pydantic model or typed dict whose object the function gets, or ``schema``,
    a JSON Schema of an object, of which it gets the checked arguments as a mapping. A second parameter gets the
    `ToolContext`; one that is annotated with `ToolContext`, `Run` or `MemoryId` gets that. Name and description are
    the function's own where they are not given; all else is as in `tool`.

    Raises `ToolDeclarationError`: neither or both given, a bare primitive, list or mapping as the type (the arguments
    of a call are an object with named fields), a function that cannot be called so or has no name.

    >>> from typing import TypedDict
    >>> class Stay(TypedDict):
    ...     city: str
    ...     nights: int
    >>> function_tool(lambda stay: stay["city"], name="book", input_type=Stay).specification.parameters.required
    ('city', 'nights')
    """
    tool = name or _name_of(function)
    if (input_type is None) == (schema is None):
        raise ToolDeclarationError(
            f"tool {tool!r} needs either an input type or a schema",
            tool=tool,
            next_step="Give input_type=YourDataclass, or schema={...}; for a function with typed parameters use @tool.",
        )
    declaration = ToolDeclaration(
        description or None,
        tool,
        return_behavior_of(return_behavior, return_direct, f"tool {tool!r}"),
        effect,
        strict,
        dict(metadata or {}),
        timeout,
        serial,
        sequential,
    )
    check_timeout(timeout, f"tool {tool!r}")
    check_strict(strict, f"tool {tool!r}")
    return _OneArgument(function, tool, declaration, input_type, schema).bound_tool(source_name)


class _OneArgument(DefaultToolExecutor):
    """Calls the function with the object that was made of the arguments."""

    __slots__ = ("_also", "_named")

    def __init__(
        self, function: Callable[..., Any], tool: str, declaration: ToolDeclaration, input_type: Any, schema: Any
    ) -> None:
        from agentforge.tool.spec.docstring import read_docstring
        from agentforge.tool.spec.signature import ToolSignature

        self._also, self._named = _beside_the_input(function, tool)
        docstring = read_docstring(inspect.getdoc(function) if inspect.isroutine(function) else None)
        signature = ToolSignature(tool, function, declaration, (), {}, (), docstring)
        parameters, bind = _input(tool, input_type, schema, signature)
        specification = ToolSpecification(
            tool, signature.description, parameters, declaration.strict, dict(declaration.metadata)
        )
        self._set_up(signature, specification, bind)

    def _call(self, bound: Any, run: Run) -> Any:
        also = [injected_value(kind, run) for kind in self._also]
        return self._function(bound, *also, **{name: injected_value(kind, run) for name, kind in self._named.items()})


def _input(tool: str, input_type: Any, schema: Any, signature: ToolSignature) -> tuple[ToolParameters, ArgumentBinder]:
    strict = signature.strict
    if schema is None:
        from agentforge.tool.spec.object_type import ObjectType

        kind = ObjectType(input_type, tool=tool, strict=strict)
        return ToolParameters(kind.schema), kind.bind
    from agentforge.tool.execution.schema_validator import SchemaValidator

    if isinstance(schema, Mapping):
        schema = ToolParameters(schema)
    if not isinstance(schema, ToolParameters):
        raise ToolDeclarationError(
            f"the schema of tool {tool!r} must be a mapping or ToolParameters, not {type(schema).__name__}", tool=tool
        )
    # A provider's strict mode may hold the model to it, also where values need not come in the declared type.
    held = strict if signature.declaration.strict is None else signature.declaration.strict
    return schema, SchemaValidator(ToolSpecification(tool, parameters=schema, strict=held), strict=strict)


def _beside_the_input(function: Any, tool: str) -> tuple[tuple[Injected, ...], Mapping[str, Injected]]:
    """What the parameters after the first are given: those by position, and those by name."""
    from agentforge.tool.spec.hints import injected_kind, resolve_hint, underlying_function
    from agentforge.tool.spec.unsupported import refuse_result

    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not say
        return (), {}
    inner = underlying_function(function)
    refuse_result(found.return_annotation, function, tool=tool)
    also: list[Injected] = []
    named: dict[str, Injected] = {}
    takes_input = False
    for row in found.parameters.values():
        by_position = row.kind in (row.POSITIONAL_ONLY, row.POSITIONAL_OR_KEYWORD)
        if not takes_input and (by_position or row.kind is row.VAR_POSITIONAL):
            takes_input = True
            continue
        kind: Injected | None = None
        if row.annotation is not row.empty and row.kind not in (row.VAR_POSITIONAL, row.VAR_KEYWORD):
            kind = injected_kind(resolve_hint(row.annotation, inner, tool=tool, parameter=row.name), row, tool)
        needed = row.default is row.empty and row.kind not in (row.VAR_POSITIONAL, row.VAR_KEYWORD)
        if kind is not None and row.kind is not row.POSITIONAL_ONLY:
            named[row.name] = kind
        elif by_position and (kind is not None or (needed and not also and not named)):
            also.append(kind or "context")
        elif needed:
            raise _refused(tool, f"the framework has nothing for its parameter {row.name!r}")
    if not takes_input:
        raise _refused(tool, "it takes no argument for the input")
    return tuple(also), named


def _refused(tool: str, fault: str) -> ToolDeclarationError:
    return ToolDeclarationError(
        f"the function of tool {tool!r} cannot be used: {fault}",
        tool=tool,
        next_step="Give a function (input) or (input, context); one with typed parameters is declared with @tool.",
    )


def _name_of(function: Any) -> str:
    from agentforge.tool.spec.signature import tool_name_from

    if not callable(function):
        raise ToolDeclarationError(f"a function tool needs a callable, not {type(function).__name__}")
    try:
        return tool_name_from(function)
    except ToolDeclarationError as error:
        raise ToolDeclarationError(error.message, next_step='Give one: function_tool(..., name="add").') from None
