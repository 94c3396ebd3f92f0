"""A function read once: its name as a tool, its parameters, and which of them the framework fills in.

Everything else of a tool (schema, binding, description) is made from this. Reading happens when a tool is registered,
never at decoration or import.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.declare import MISSING, P, ToolDeclaration, declaration_of
from agentforge.tool.spec.docstring import DocstringText, read_docstring
from agentforge.tool.spec.hints import Injected, injected_kind, resolve_hint, underlying_function

__all__ = ("ToolParameter", "ToolSignature", "read_signature", "tool_name_from")

_NO_DECLARATION = ToolDeclaration()


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter that the model fills in.

    ``name`` is Python's, ``wire_name`` the model's. ``hint`` is the type with constraints that pydantic understands,
    without our own notes. ``default`` is `MISSING` where there is none; ``default_factory`` makes one for each call.
    """

    name: str
    wire_name: str
    hint: Any = field(repr=False)
    description: str | None = None
    required: bool = True
    default: Any = MISSING
    default_factory: Callable[[], Any] | None = None
    positional_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolSignature:
    """A tool function's parameters and notes; ``injected`` says which hidden parameters get what, by Python name."""

    tool: str
    function: Callable[..., Any]
    declaration: ToolDeclaration
    parameters: tuple[ToolParameter, ...]
    injected: Mapping[str, Injected]
    positional: tuple[str, ...]
    """The positional-only parameters in order; all others are passed by name."""
    docstring: DocstringText
    needs_object: bool = False
    """Whether it is an instance method that was reached through its class."""

    @property
    def description(self) -> str:
        """The decorator's texts, else the docstring's, else the name split into words."""
        return self.declaration.description or self.docstring.description or _words(self.tool)

    @property
    def strict(self) -> bool:
        """Whether values must come in the declared type: as declared, else (also for ``auto``) for a declared write."""
        declared = self.declaration.strict
        return self.declaration.effect == "write" if declared in (None, "auto") else bool(declared)


def tool_name_from(function: Any) -> str:
    """The name a model calls ``function`` by: the declared one, else the function's own.

    >>> def get_weather(city: str) -> str: ...
    >>> tool_name_from(get_weather)
    'get_weather'
    """
    declaration = declaration_of(function) or declaration_of(underlying_function(function))
    if declaration is not None and declaration.name:
        return declaration.name
    name = getattr(function, "__name__", None) or getattr(underlying_function(function), "__name__", "")
    if name == "__call__" or not name:  # an object that is called itself
        name = type(getattr(function, "__self__", function)).__name__
    if name == "<lambda>":
        raise ToolDeclarationError(
            "a lambda has no name to be called by", next_step='Give one: tool("description", name="add")(function).'
        )
    return str(name)


def read_signature(function: Any) -> ToolSignature:
    """Read a function, method, partial or callable object; raises `ToolDeclarationError` with what to change."""
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__get__(None, object)
    if not callable(function) or inspect.isclass(function):
        raise ToolDeclarationError(
            f"{_kind_of(function)} is not a function",
            next_step="Give a function, a method, or an object whose methods are decorated with @tool.",
        )
    # Imported here: it is needed when a tool is registered, not by a program that only might.
    from agentforge.tool.spec.unsupported import refuse_parameter, refuse_result

    tool = tool_name_from(function)
    inner = underlying_function(function)
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        raise ToolDeclarationError(
            f"the parameters of {tool!r} cannot be read", tool=tool, next_step="Wrap it in a Python function."
        ) from None
    declared = declaration_of(function) or declaration_of(inner) or _NO_DECLARATION
    rows = list(found.parameters.values())
    needs_object = _is_unbound_method(function, inner, rows)
    if needs_object:
        rows = rows[1:]
    docstring = read_docstring(_doc_of(function, inner))
    fixed = function.keywords if isinstance(function, partial) else {}
    parameters: list[ToolParameter] = []
    injected: dict[str, Injected] = {}
    for row in rows:
        if row.kind in (row.VAR_POSITIONAL, row.VAR_KEYWORD):
            raise ToolDeclarationError(
                f"parameter {'*' * (1 + (row.kind is row.VAR_KEYWORD))}{row.name} of tool {tool!r} has no schema",
                tool=tool,
                next_step=f"Declare each parameter, or one such as {row.name}: list[str] or dict[str, str].",
            )
        if row.name in fixed:  # fixed by the partial: not the model's to set
            continue
        hint = Any
        if row.annotation is not row.empty:
            hint = resolve_hint(row.annotation, inner, tool=tool, parameter=row.name)
            kind = injected_kind(hint, row, tool)
            if kind is not None:
                injected[row.name] = kind
                continue
            refuse_parameter(hint, row.name, tool=tool)
        parameters.append(_parameter(row, hint, docstring, tool))
    _check_names(parameters, tool)
    refuse_result(found.return_annotation, function, tool=tool)
    positional = tuple(row.name for row in rows if row.kind is row.POSITIONAL_ONLY and row.name not in fixed)
    return ToolSignature(tool, function, declared, tuple(parameters), injected, positional, docstring, needs_object)


def _parameter(row: inspect.Parameter, hint: Any, docstring: DocstringText, tool: str) -> ToolParameter:
    note, description, metadata = P(), None, []
    if typing.get_origin(hint) is typing.Annotated:
        hint, *notes = typing.get_args(hint)
        for item in notes:
            if isinstance(item, P):
                note = item
            elif isinstance(item, str):
                description = description or item
            elif isinstance(getattr(item, "documentation", None), str):
                description = description or item.documentation
            else:
                metadata.append(item)
    default: Any = MISSING if row.default is row.empty else row.default
    factory: Callable[[], Any] | None = None
    if isinstance(default, P):
        note, default = default, MISSING
    if _is_field(default):
        metadata.append(default)
        default = MISSING
    name, alias = row.name, None
    for item in metadata:
        if not _is_field(item):
            continue
        description = item.description or description
        alias = item.alias if isinstance(item.alias, str) else alias
        if not item.is_required() and default is MISSING:
            factory = item.default_factory or factory
            default = item.default if factory is None else MISSING
    if note.default is not MISSING:
        default, factory = note.default, None
    description = note.description or description or docstring.parameters.get(name)
    optional = default is not MISSING or factory is not None or _allows_none(hint)
    # The alias is ours to apply; pydantic warns of one where there is no model around.
    metadata = [part for item in metadata for part in (item.metadata if _is_field(item) and item.alias else (item,))]
    if metadata:
        hint = typing.Annotated[(hint, *metadata)]
    return ToolParameter(
        name,
        note.name or alias or name,
        hint,
        description,
        not optional if note.required is None else note.required,
        default,
        factory,
        row.kind is row.POSITIONAL_ONLY,
    )


def _is_field(value: object) -> bool:
    # By name, so that plain tools never import pydantic.
    kind = type(value)
    return kind.__name__ == "FieldInfo" and kind.__module__.startswith("pydantic")


def _allows_none(hint: Any) -> bool:
    return type(None) in typing.get_args(hint) and typing.get_origin(hint) is not typing.Literal


def _is_unbound_method(function: Any, inner: Any, rows: list[inspect.Parameter]) -> bool:
    """Whether a function of a class body was reached without its object; only then is its first parameter self."""
    if not rows or not inspect.isfunction(function) or rows[0].annotation is not inspect.Parameter.empty:
        return False
    owner = getattr(inner, "__qualname__", "").rpartition(".")[0]
    return rows[0].name in ("self", "cls") and bool(owner) and not owner.endswith("<locals>")


def _check_names(parameters: list[ToolParameter], tool: str) -> None:
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.wire_name in seen:
            raise ToolDeclarationError(
                f"two parameters of tool {tool!r} are named {parameter.wire_name!r}",
                tool=tool,
                next_step="Give each parameter its own name in P(name=...).",
            )
        seen.add(parameter.wire_name)


def _doc_of(function: Any, inner: Any) -> str | None:
    # A partial's or callable object's own __doc__ is its class's.
    doc = getattr(inner, "__doc__", None)
    if doc is None and not inspect.isroutine(function) and not isinstance(function, partial):
        doc = type(function).__doc__
    return doc if isinstance(doc, str) else None


def _words(name: str) -> str:
    """``getOrderCount`` and ``get_order_count`` as ``get order count``."""
    made: list[str] = []
    for index, char in enumerate(name):
        if char in "_-.":
            made.append(" ")
            continue
        if char.isupper() and index and (name[index - 1].islower() or name[index + 1 : index + 2].islower()):
            made.append(" ")
        made.append(char.lower())
    return " ".join("".join(made).split()) or name


def _kind_of(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"
