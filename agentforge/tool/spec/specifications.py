"""Specifications from functions, objects and classes; and the check of a set of them (seed A 3.2.2)."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentforge.errors import DuplicateToolError, ToolDeclarationError
from agentforge.model.specification import ToolSpecification
from agentforge.tool.declare import declaration_of
from agentforge.tool.spec.checks import check_schema
from agentforge.tool.spec.hints import underlying_function
from agentforge.tool.spec.schema import CompiledParameters, compile_parameters
from agentforge.tool.spec.signature import ToolSignature, read_signature, tool_name_from

__all__ = (
    "specification_of",
    "tool_methods_of",
    "tool_specification_from",
    "tool_specifications_from",
    "validate_specifications",
)


def tool_specification_from(function: Any) -> ToolSpecification:
    """The specification of one function, method, partial or callable object, decorated or not.

    Raises `ToolDeclarationError` when a parameter has no JSON form.

    >>> def add(a: int, b: int = 1) -> int:
    ...     '''Add two numbers.'''
    ...     return a + b
    >>> tool_specification_from(add).parameters.required
    ('a',)
    """
    signature = read_signature(function)
    return specification_of(signature, compile_parameters(signature))


def specification_of(signature: ToolSignature, compiled: CompiledParameters) -> ToolSpecification:
    """The specification from parts that were read already."""
    return ToolSpecification(
        signature.tool,
        signature.description,
        compiled.schema,
        signature.declaration.strict,
        dict(signature.declaration.metadata),
    )


def tool_specifications_from(target: Any) -> tuple[ToolSpecification, ...]:
    """The specifications of all ``@tool`` methods of an object, a class or a module.

    The class hierarchy is walked and a child's override wins. Raises `ToolDeclarationError` when there are none and
    `DuplicateToolError` when two methods have one tool name.
    """
    return tuple(tool_specification_from(method) for method in tool_methods_of(target))


def tool_methods_of(target: Any) -> list[Callable[..., Any]]:
    """The ``@tool`` methods of an object, a class or a module, bound where they can be, the object's own class first.

    Only what is decorated is ever found; an override without ``@tool`` is no tool.
    """
    methods: dict[str, Callable[..., Any]] = {}
    origin: dict[str, tuple[Any, ...]] = {}
    for owner, attribute in _decorated(target):
        method = getattr(target, attribute)
        name = tool_name_from(method)
        row = (attribute.rpartition("__")[2], *_parameter_names(method))
        if name not in methods:
            methods[name], origin[name] = method, (owner, underlying_function(method), row)
            continue
        first_owner, first_function, first_row = origin[name]
        if underlying_function(method) is first_function or (owner is not first_owner and row == first_row):
            continue  # one function under two names, or a private method that a child declares anew
        raise DuplicateToolError(
            f"{_title(target)} has two tools named {name!r}",
            tool=name,
            next_step="Give one of them another name: @tool(name=...).",
        )
    if not methods:
        raise ToolDeclarationError(
            f"{_title(target)} has no method that is decorated with @tool",
            next_step="Decorate its methods with @tool, or give the function or method itself.",
        )
    return list(methods.values())


def _decorated(target: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(target, types.ModuleType):
        for attribute, value in vars(target).items():
            if declaration_of(value) is not None and getattr(value, "__module__", None) == target.__name__:
                yield target, attribute
        return
    seen: set[str] = set()
    for owner in (target if isinstance(target, type) else type(target)).__mro__:
        for attribute, value in vars(owner).items():
            if attribute not in seen and declaration_of(value) is not None:
                yield owner, attribute
            seen.add(attribute)


def _parameter_names(method: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(method).parameters)


def _title(target: Any) -> str:
    if isinstance(target, types.ModuleType):
        return f"module {target.__name__!r}"
    return f"class {target.__name__!r}" if isinstance(target, type) else f"an object of type {type(target).__name__!r}"


def validate_specifications(specifications: Iterable[ToolSpecification]) -> None:
    """Check a set of tools before it is offered: names given and unique, schemas sound and bounded.

    Raises `DuplicateToolError` or `ToolDeclarationError`. Which names a provider takes is its wire's concern.
    """
    seen: set[str] = set()
    for specification in specifications:
        name = specification.name
        if not isinstance(name, str) or not name.strip():
            raise ToolDeclarationError("a tool has an empty name", next_step="Give every tool a name.")
        if name in seen:
            raise DuplicateToolError(
                f"two tools are named {name!r}", tool=name, next_step="Rename one of them, or give it a prefix."
            )
        seen.add(name)
        check_schema(specification.parameters.schema, tool=name)
