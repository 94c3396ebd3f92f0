"""What no tool can take or return: something to run, to wait for, or to draw from, at any depth of a hint.

A parameter is what JSON can say, a result what a model can read at once: no callable, future, generator or stream. The
kind of the function counts too, so that one that yields is refused whether its result is annotated or not.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.execution.calling import function_behind
from agentforge.tool.spec.hints import resolve_hint, underlying_function

__all__ = ("behind_name", "refuse_parameter", "refuse_result", "refuse_yielding")

_RUNNING = (collections.abc.Callable, types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_WAITING = (collections.abc.Awaitable, concurrent.futures.Future)
_DRAWING = (collections.abc.Iterator, collections.abc.AsyncIterable, typing.IO)
_REASONS = {
    "run": "something to call",
    "wait": "something to wait for",
    "draw": "something to draw from once",
}
_PARAMETER_STEPS = {
    "run": "Use the value's own type, which it would give, or have the tool do the work itself.",
    "wait": "Use the value's own type; make the function async to wait for something.",
    "draw": "Use a list: list[T].",
}
_RESULT_STEPS = {
    "run": "Return the value's own type, which it would give: call it in the tool.",
    "wait": "Make the function async and return what it waits for: async def f() -> T.",
    "draw": "Return a list: list[T]; a function that waits for its items is async def f() -> list[T].",
}


def refuse_parameter(hint: Any, name: str, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a parameter whose hint names such a type anywhere."""
    _refuse(hint, f"parameter {name!r}", tool, _PARAMETER_STEPS)


def refuse_result(annotation: object, function: Any, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a function that yields, or whose result names such a type anywhere.

    An annotation that cannot be resolved passes: only the parameters have to be known.
    """
    if annotation is not inspect.Signature.empty:
        try:
            hint = resolve_hint(annotation, underlying_function(function), tool=tool, parameter="return")
        except ToolDeclarationError:
            hint = Any
        _refuse(hint, "the result", tool, _RESULT_STEPS)
    refuse_yielding(function, tool=tool)


def refuse_yielding(function: Any, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a function that gives a generator, sync or async, when it is called."""
    runs = function_behind(function)
    if inspect.isgeneratorfunction(runs) or inspect.isasyncgenfunction(runs):
        raise ToolDeclarationError(
            f"the function of tool {tool!r} yields: it gives {_REASONS['draw']}, which no model can read",
            tool=tool,
            next_step=_RESULT_STEPS["draw"],
        )


def _refuse(hint: Any, what: str, tool: str, steps: Mapping[str, str]) -> None:
    found = _find(hint, frozenset(), inside=False)
    if found is not None:
        kind, reason, inside = found
        raise ToolDeclarationError(
            f"{what} of tool {tool!r} has {'inside it ' if inside else ''}type {_name(kind)}: {_REASONS[reason]}, "
            "which no model can give or read",
            tool=tool,
            next_step=steps[reason],
        )


def _find(hint: Any, seen: frozenset[int], *, inside: bool) -> tuple[Any, str, bool] | None:
    """The first such type in ``hint``, why it is one, and whether it is inside of another."""
    if id(hint) in seen:  # an alias that names itself
        return None
    named = behind_name(hint)
    if named is not None:
        return _find(named, seen | {id(hint)}, inside=inside)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return None
    if origin is typing.Annotated:
        arguments = arguments[:1]
    elif origin not in (typing.Union, types.UnionType):
        kind = origin or hint
        reason = _reason(kind)
        if reason is not None:
            return kind, reason, inside
        inside = True
    for inner in arguments:
        found = None if inner is Ellipsis or isinstance(inner, (list, tuple)) else _find(inner, seen, inside=inside)
        if found is not None:
            return found
    return None


def behind_name(hint: Any) -> Any:
    """The type behind ``NewType``, ``type X = ...`` and a type variable's bound; ``None`` for any other."""
    if isinstance(hint, typing.NewType):
        return hint.__supertype__
    if isinstance(hint, typing.TypeVar):
        return hint.__bound__
    alias = typing.get_origin(hint) or hint
    return alias.__value__ if type(alias).__name__ == "TypeAliasType" else None


def _reason(kind: Any) -> str | None:
    if kind in (typing.Callable, Callable) or kind in _RUNNING:
        return "run"
    if not isinstance(kind, type) or _has_fields(kind):
        return None
    if issubclass(kind, _WAITING):
        return "wait"
    return "draw" if issubclass(kind, _DRAWING) else None


def _has_fields(kind: type) -> bool:
    """Whether it is a dataclass or a model: it has a JSON form, whatever else it can do."""
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__") or hasattr(kind, "model_dump")


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)
