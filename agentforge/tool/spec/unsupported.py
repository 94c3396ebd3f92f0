"""Types that no tool can take or return: something to run, to wait for, or to draw from, at any depth of a hint.

A parameter is what JSON can say: no callable, future, coroutine, generator or stream. A result may be awaited, and a
generator's items collected, but only where the result itself is one: deeper inside nobody would do it.
"""

from __future__ import annotations

import asyncio
import collections.abc
import concurrent.futures
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.spec.hints import resolve_hint

__all__ = ("refuse_parameter", "refuse_result")

_WAITING = (asyncio.Future, concurrent.futures.Future)
_ABSTRACT_WAITING = (collections.abc.Coroutine, collections.abc.Awaitable)
_RUNNING = (collections.abc.Callable, types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_DRAWING = (
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.AsyncGenerator,
    types.GeneratorType,
    types.AsyncGeneratorType,
)
_REASONS = {
    "run": ("something to call", "Use the value's own type, which it would give, or have the tool do the work itself."),
    "wait": ("something to wait for", "Use the value's own type; make the function async to wait for something."),
    "draw": ("something to draw from once", "Use a list: list[T]."),
}


def refuse_parameter(hint: Any, name: str, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a parameter whose hint names such a type anywhere."""
    _refuse(hint, f"parameter {name!r}", tool, frozenset(), inside=False)


def refuse_result(annotation: object, function: Any, *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a result that could not be read; one that cannot be resolved passes.

    The result itself may be awaitable, a generator, an iterator or their async kinds.
    """
    if annotation is inspect.Signature.empty:
        return
    try:
        hint = resolve_hint(annotation, function, tool=tool, parameter="return")
    except ToolDeclarationError:
        return  # only the parameters have to be known
    _refuse(hint, "the result", tool, frozenset({*_DRAWING, collections.abc.Awaitable}), inside=False)


def _refuse(hint: Any, what: str, tool: str, welcome: frozenset[Any], *, inside: bool) -> None:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        _refuse(arguments[0], what, tool, welcome, inside=inside)
        return
    if origin in (typing.Union, types.UnionType):
        for arm in arguments:
            _refuse(arm, what, tool, welcome, inside=inside)
        return
    if origin is typing.Literal:
        return
    kind = origin or hint
    reason = None if not inside and kind in welcome else _reason(kind)
    if reason is not None:
        why, step = _REASONS[reason]
        raise ToolDeclarationError(
            f"{what} of tool {tool!r} has {'inside it ' if inside else ''}type {_name(kind)}: {why}, "
            "which no model can give or read",
            tool=tool,
            next_step=step,
        )
    for inner in arguments:
        if inner is not Ellipsis and not isinstance(inner, (list, tuple)):
            _refuse(inner, what, tool, frozenset(), inside=True)


def _reason(kind: Any) -> str | None:
    if kind in (typing.Callable, Callable) or kind in _RUNNING:
        return "run"
    if not isinstance(kind, type):
        return None
    if kind in _ABSTRACT_WAITING or issubclass(kind, _WAITING):
        return "wait"
    return "draw" if kind in _DRAWING else None


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)
