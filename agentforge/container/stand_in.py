"""What stands for a bean of the scope ``invocation`` in beans that live longer: the contract, answered by the object of
the current run."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, nullcontext
from typing import Any

from agentforge.container.faults import InvocationError
from agentforge.tool.execution import Run, current_run

__all__ = ("make_stand_in",)

#: What Python looks up in a class and not in its objects; forwarded where the contract has it.
_SPECIAL = (
    *("__call__", "__len__", "__bool__", "__contains__", "__getitem__", "__setitem__", "__delitem__"),
    *("__iter__", "__next__", "__aiter__", "__anext__", "__enter__", "__exit__", "__aenter__", "__aexit__"),
)
#: How the hint of a stream begins, written as a text or evaluated.
_STREAM = re.compile(r"([\w.]+\.)?Async(Generator|Iterator|Iterable)\b")
#: What may be called between runs, when there is nothing to close: whoever holds the stand-in may close it at its end.
_ENDS = ("aclose", "close")


def make_stand_in(
    bean_id: str,
    contract: type,
    get: Callable[[Run | None], Any],
    resolve: Callable[[Run | None], Awaitable[Any]],
) -> object:
    """An object with all that ``contract`` has, and any other attribute that the run's object has.

    ``get`` gives the object of a run (``None``: of the current one), ``resolve`` awaits its start as well. A method
    that is handed a `Run` uses that run's object; an asynchronous one awaits its start. Outside of a run an attribute
    of the contract raises `InvocationError`, a constant of the contract's class is what it is there, there is nothing
    else, and nothing to close.
    """
    made: object = object.__new__(_class_for(contract))
    for name, value in (("_bean_id", bean_id), ("_get", get), ("_resolve", resolve), ("_contract", contract)):
        object.__setattr__(made, f"_agentforge{name}", value)
    return made


class _StandIn:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # nothing that Python or a library looks for in passing makes a bean
            raise AttributeError(name)
        return getattr(_object_of(self, None), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_object_of(self, None), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_object_of(self, None), name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(_own(self, "contract")), *(name for name in object.__dir__(self) if name.startswith("__"))})

    def __repr__(self) -> str:
        return f"<the bean '{_own(self, 'bean_id')}' of the current run>"


def _own(stand_in: object, name: str) -> Any:
    return object.__getattribute__(stand_in, f"_agentforge_{name}")


def _object_of(stand_in: object, run: Run | None) -> Any:
    return _own(stand_in, "get")(run)


def _class_for(contract: type) -> type:
    members: dict[str, Any] = {"__doc__": f"Stands for a {contract.__name__} of the current run."}
    for name in _names(contract):
        members[name] = _member(contract, name)
    title = f"{contract.__name__}OfTheRun"
    if getattr(contract, "_is_protocol", False):
        made: type = type(contract)(title, (_StandIn, contract), members)
        return made
    if contract is not object:
        members["__class__"] = property(lambda self: contract)  # what asks isinstance is told what it stands for
    return type(title, (_StandIn,), members)


def _names(contract: type) -> list[str]:
    found: dict[str, None] = {}
    for base in contract.__mro__[:-1]:
        if base.__module__ == "typing":
            continue
        annotated = vars(base).get("__annotations__", {})
        for name in (*vars(base), *annotated):
            if name in _SPECIAL or not name.startswith("_"):
                found[name] = None
    return list(found)


def _member(contract: type, name: str) -> Any:
    static = inspect.getattr_static(contract, name, None)
    if not inspect.isfunction(static):
        return property(_attribute(name, static))
    returns = str(static.__annotations__.get("return", ""))
    made: Callable[..., Any]
    if inspect.iscoroutinefunction(static):
        made = _awaited(name)
    elif inspect.isasyncgenfunction(static) or _STREAM.match(returns):
        made = _streamed(name)
    else:
        made = _called(name, may_be_awaited="Awaitable" in returns or "Coroutine" in returns)
    return functools.update_wrapper(made, static)


def _attribute(name: str, static: object) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:
        # A constant of the class is known without an object; what is made from an object is not.
        if current_run() is None and static is not None and not hasattr(type(static), "__get__"):
            return static
        return getattr(_object_of(self, None), name)

    return read


def _run_in(arguments: tuple[Any, ...], named: dict[str, Any]) -> Run | None:
    """The run that a method is handed."""
    return next((each for each in (*arguments, *named.values()) if isinstance(each, Run)), None)


def _awaited(name: str) -> Callable[..., Any]:
    async def call(self: Any, /, *arguments: Any, **named: Any) -> Any:
        run = _run_in(arguments, named)
        if name in _ENDS and run is None and current_run() is None:
            return None
        found = await _own(self, "resolve")(run)
        answer = getattr(found, name)(*arguments, **named)
        return await answer if inspect.isawaitable(answer) else answer

    return call


def _streamed(name: str) -> Callable[..., Any]:
    async def call(self: Any, /, *arguments: Any, **named: Any) -> AsyncGenerator[Any, None]:
        found = await _own(self, "resolve")(_run_in(arguments, named))
        items = getattr(found, name)(*arguments, **named)
        # An iterator need not be one that can be closed.
        async with aclosing(items) if hasattr(items, "aclose") else nullcontext():
            async for item in items:
                yield item

    return call


def _called(name: str, *, may_be_awaited: bool) -> Callable[..., Any]:
    later = _awaited(name)

    def call(self: Any, /, *arguments: Any, **named: Any) -> Any:
        run = _run_in(arguments, named)
        if name in _ENDS and run is None and current_run() is None:
            return None
        try:
            found = _object_of(self, run)
        except InvocationError:
            if not may_be_awaited or (run is None and current_run() is None):
                raise
            return later(self, *arguments, **named)
        return getattr(found, name)(*arguments, **named)

    return call
