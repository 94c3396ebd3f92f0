"""Annotations to types: resolved where the function was defined, one parameter at a time.

Resolving one by one lets an unknown name be reported with its parameter. Nothing is cached, so that a name which
appears later makes the tool work.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentforge.errors import ToolDeclarationError, ToolExecutionError
from agentforge.tool.declare import MISSING, Hidden, MemoryId, P
from agentforge.tool.execution.run import Run, ToolContext

__all__ = ("HiddenValue", "Injected", "injected_kind", "injected_value", "resolve_hint", "underlying_function")


@dataclass(frozen=True, slots=True)
class HiddenValue:
    """A value of the run's tool context: its name there, and what holds where the context has none."""

    name: str
    default: Any = MISSING
    tool: str = ""

    def of(self, run: Run) -> Any:
        """The value. Raises `ToolExecutionError` where there is neither value nor default."""
        value = run.user_data.get(self.name, self.default)
        if value is MISSING:
            raise ToolExecutionError(
                f"the tool {self.tool!r} needs {self.name!r}, and the run's tool context has no such value",
                tool=self.tool,
                next_step=f"Give it to the turn: prompt.tool_context({self.name}=...).",
            )
        return value


Injected: TypeAlias = Literal["context", "run", "memory_id"] | HiddenValue

# A type checker's import block does not run, so our own names are known even where they were not imported.
_OWN_NAMES: dict[str, Any] = {"ToolContext": ToolContext, "Run": Run, "MemoryId": MemoryId, "Hidden": Hidden, "P": P}


class _Annotated:
    """One annotation in the form that `typing.get_type_hints` reads."""

    def __init__(self, annotation: object) -> None:
        self.__annotations__ = {"it": annotation}


def underlying_function(function: Any) -> Any:
    """The plain function behind methods, partials, wrappers, and objects with ``__call__``."""
    seen = 0
    while seen < 100:
        seen += 1
        if isinstance(function, (functools.partial, functools.partialmethod)):
            function = function.func
        elif isinstance(function, (types.MethodType, classmethod, staticmethod)):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and not inspect.isclass(function) and callable(function):
            function = type(function).__call__
        else:
            break
    return function


def resolve_hint(annotation: object, function: Any, *, tool: str, parameter: str) -> Any:
    """The type that ``annotation`` stands for, with its ``Annotated`` metadata.

    Raises `ToolDeclarationError` naming tool, parameter and the missing name.
    """
    names = _names_around(function)
    module_names: dict[str, Any] = getattr(function, "__globals__", {})
    for _ in range(len(_OWN_NAMES) + 1):
        try:
            return typing.get_type_hints(_Annotated(annotation), module_names, names, include_extras=True)["it"]
        except NameError as error:
            missing = error.name or str(error)
            if missing in _OWN_NAMES and missing not in names:
                names[missing] = _OWN_NAMES[missing]
                continue
            raise ToolDeclarationError(
                f"parameter {parameter!r} of tool {tool!r} cannot be read: the name {missing!r} is not defined in "
                f"{getattr(function, '__module__', 'its module')}",
                tool=tool,
                next_step=f"Define or import {missing!r} there, outside of a TYPE_CHECKING block.",
            ) from None
        except Exception as error:
            raise ToolDeclarationError(
                f"the annotation of parameter {parameter!r} of tool {tool!r} cannot be read: "
                f"{type(error).__name__}: {error}",
                tool=tool,
                next_step="Give the parameter a type that Python can evaluate.",
            ) from None
    raise AssertionError("unreachable")  # each own name is tried once


def _names_around(function: Any) -> dict[str, Any]:
    """What the function captured, and its own type parameters: names of classes defined inside other functions."""
    names: dict[str, Any] = {}
    code = getattr(function, "__code__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for parameter in getattr(function, "__type_params__", ()):
        names.setdefault(parameter.__name__, parameter)
    return names


def injected_kind(hint: Any, parameter: inspect.Parameter | None = None, tool: str = "") -> Injected | None:
    """What a parameter of this type is given by the framework; ``None`` if the model gives its value. ``parameter``
    says the name and default of a hidden value."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *metadata = typing.get_args(hint)
        if any(note is MemoryId or type(note) is MemoryId for note in metadata):
            return "memory_id"
        for note in metadata:
            if note is Hidden or isinstance(note, Hidden):
                return _hidden(note if isinstance(note, Hidden) else Hidden(), parameter, tool)
        return injected_kind(inner, parameter, tool)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [injected_kind(arm, parameter, tool) for arm in typing.get_args(hint) if arm is not type(None)]
        return kinds[0] if len(kinds) == 1 else None
    if hint is Hidden:
        return _hidden(Hidden(), parameter, tool)
    return _INJECTED.get(hint) if isinstance(hint, type) else None


def injected_value(kind: Injected, run: Run) -> Any:
    """What a parameter of this kind is given in a run. Raises `ToolExecutionError` for a hidden value that it lacks."""
    if isinstance(kind, HiddenValue):
        return kind.of(run)
    return run.context if kind == "context" else run if kind == "run" else run.memory_id


def _hidden(note: Hidden, parameter: inspect.Parameter | None, tool: str) -> HiddenValue:
    if parameter is None:
        return HiddenValue(note.name or "", tool=tool)
    default = MISSING if parameter.default is parameter.empty else parameter.default
    return HiddenValue(note.name or parameter.name, default, tool)


_INJECTED: Mapping[type, Injected] = {ToolContext: "context", Run: "run", MemoryId: "memory_id"}
