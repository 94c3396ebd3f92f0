"""What the constructor of a user's component takes: beans by their type hints, plain values by theirs."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from agentforge.plugin.faults import ComponentError

__all__ = ("Need", "made_with", "needs_of")

_PLAIN = (str, bytes, int, float, complex)


@dataclass(frozen=True, slots=True)
class Need:
    """One constructor parameter. ``kind`` is the class or protocol of the bean it takes; ``None``: it takes a plain
    value. ``many``: a list of all such beans. ``required``: it has no default and may not be ``None``."""

    name: str
    kind: type | None
    many: bool
    required: bool


def needs_of(component: Any) -> Mapping[str, Need]:
    """The constructor's parameters by name; none for a function. Raises `ComponentError` for hints that cannot be
    read and for a parameter that can only be given by position."""
    if not inspect.isclass(component):
        return {}
    return {name: _need(name, parameter, hint) for name, (parameter, hint) in _parameters(component).items()}


def made_with(component: Any, arguments: Mapping[str, object], values: Mapping[str, object]) -> Any:
    """An object of the class, made of beans and of plain values; a function as it is."""
    if not inspect.isclass(component):
        if arguments or values:
            raise ComponentError(
                f"the function {component.__name__!r} is a tool itself and takes no constructor arguments",
                next_step="Leave out 'arguments', or name a class.",
            )
        return component
    parameters = _parameters(component)
    given = dict(arguments)
    for name, value in values.items():
        if name not in parameters:
            raise ComponentError(
                f"the constructor of {component.__name__!r} has no parameter {name!r}",
                next_step=f"It takes {', '.join(parameters) or 'none'}.",
            )
        given[name] = _checked(component, name, parameters[name][1], value)
    missing = [
        name
        for name, (parameter, _) in parameters.items()
        if parameter.default is parameter.empty and name not in given
    ]
    if missing:
        raise ComponentError(
            f"the constructor of {component.__name__!r} needs {', '.join(repr(name) for name in missing)}",
            next_step="Declare a bean of that type, or give a plain value in 'arguments'.",
        )
    return component(**given)


def _parameters(component: type) -> Mapping[str, tuple[inspect.Parameter, Any]]:
    try:
        signature = inspect.signature(component)
        hints = typing.get_type_hints(component.__init__, include_extras=True)  # type: ignore[misc]
    except (TypeError, ValueError, NameError) as error:
        raise ComponentError(
            f"the constructor of {component.__name__!r} cannot be read: {error}",
            next_step="Import the types of its hints where the class is defined, not only for type checkers.",
        ) from error
    found: dict[str, tuple[inspect.Parameter, Any]] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ComponentError(f"the parameter {name!r} of {component.__name__!r} can only be given by position")
        found[name] = parameter, hints.get(name, Any)
    return found


def _need(name: str, parameter: inspect.Parameter, hint: Any) -> Need:
    inner, may_be_none = _plain_hint(hint)
    many = False
    if get_origin(inner) in (list, tuple, Sequence):
        items = [item for item in get_args(inner) if item is not Ellipsis]
        if len(items) == 1:
            item, _ = _plain_hint(items[0])
            if _is_bean_kind(item):
                inner, many = item, True
    required = parameter.default is parameter.empty and not may_be_none
    kind = inner if _is_bean_kind(inner) else None
    return Need(name, kind, many, required)


def _plain_hint(hint: Any) -> tuple[Any, bool]:
    """The hint without ``Annotated`` and ``| None``, and whether it had the latter."""
    may_be_none = False
    while True:
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
            continue
        if get_origin(hint) in (typing.Union, types.UnionType):
            kept = [item for item in get_args(hint) if item is not type(None)]
            if len(kept) == 1:
                hint, may_be_none = kept[0], True
                continue
        return hint, may_be_none


def _is_bean_kind(hint: Any) -> bool:
    """A class of somebody's: not a plain value, a collection or anything else of the language."""
    if not isinstance(hint, type) or get_origin(hint) is not None:
        return False
    return hint.__module__.partition(".")[0] not in sys.stdlib_module_names and not issubclass(hint, _PLAIN)


def _checked(component: type, name: str, hint: Any, value: object) -> object:
    if hint is Any:
        return value
    import pydantic

    try:
        return pydantic.TypeAdapter(hint, config={"arbitrary_types_allowed": True}).validate_python(value)
    except pydantic.ValidationError as error:
        problems = "; ".join(item["msg"] for item in error.errors(include_input=False, include_url=False))
        raise ComponentError(
            f"the argument {name!r} of {component.__name__!r} does not fit: {problems}",
            next_step=f"Give a value of its type, {getattr(hint, '__name__', hint)}.",
        ) from None
    except pydantic.PydanticUserError:
        return value  # a type that pydantic cannot read is the constructor's to check
