"""What a user's component takes to be made: beans by the type hints of its parameters, plain values by theirs.

A component is a class, whose constructor is filled, or a function that is called to make the bean.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any

from agentforge.plugin.faults import ComponentError, words_of
from agentforge.plugin.parameter import Need, need_of

__all__ = ("made_with", "needs_of", "read_value", "reader_of", "result_kind")


def needs_of(component: Any, *, called: bool = False) -> Mapping[str, Need]:
    """The parameters by name: those of a class's constructor, or with ``called`` those of a function that makes a bean
    (of a function that is the component itself: none). Raises `ComponentError` for hints that cannot be read and for a
    parameter that can only be given by position."""
    if not (called or inspect.isclass(component)):
        return {}
    name = component.__name__
    if not called:
        _check_can_be_made(component)
    try:
        signature = inspect.signature(component)
    except ValueError:
        return {}  # a class of the language's own makers, such as a dict
    except Exception as error:
        raise _unreadable(component, error) from error
    hints = _hints_of(component) if called else _constructor_hints(component, signature.parameters)
    found: dict[str, Need] = {}
    for key, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ComponentError(f"the parameter {key!r} of {name!r} can only be given by position")
        required = parameter.default is parameter.empty
        found[key] = need_of(key, hints.get(key, Any), required=required, component=name)
    return found


def result_kind(function: Any) -> type:
    """The class or protocol that a function makes, by its return annotation; with ``asynccontextmanager``, what it
    yields.

    Raises `ComponentError` for a class, an async or a generator function, and for an annotation that says nothing.
    """
    name = getattr(function, "__name__", str(function))
    if inspect.isclass(function):
        raise ComponentError(
            f"{name!r} is a class, not a function", next_step=f"Use {{type: component, component: {name}}}."
        )
    inner = inspect.unwrap(function)
    if inspect.iscoroutinefunction(function):
        raise ComponentError(
            f"the function {name!r} is async and cannot make a bean",
            next_step="Return the object at once; what has to be awaited goes into its start().",
        )
    entered = inspect.isasyncgenfunction(inner) and inner is not function
    if not entered and (inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)):
        raise ComponentError(
            f"the function {name!r} yields and cannot make a bean",
            next_step="Return the object, or make it an @asynccontextmanager.",
        )
    hint = _hints_of(function, of=function).get("return")
    if entered:
        hint = next(iter(typing.get_args(hint)), None)
    kind = typing.get_origin(hint) or hint
    if not isinstance(kind, type) or kind in (type(None), object, Any, types.UnionType):
        said = "has no return annotation" if hint is None else "does not say which class or protocol it returns"
        raise ComponentError(
            f"the function {name!r} {said}",
            next_step=f"Annotate it with what it makes: def {name}(...) -> Clock.",
        )
    return kind


def made_with(
    component: Any,
    arguments: Mapping[str, object],
    values: Mapping[str, object],
    needs: Mapping[str, Need],
    *,
    called: bool = False,
    reader: Callable[[Need], Any],
) -> Any:
    """What the class or function makes of beans and of plain values; a function that is not ``called`` as it is.

    ``needs`` are those of `needs_of`; ``reader`` gives what reads a plain value, see `reader_of`.
    """
    if not (called or inspect.isclass(component)):
        if arguments or values:
            raise ComponentError(
                f"the function {component.__name__!r} is a tool itself and takes no constructor arguments",
                next_step="Leave out 'arguments', name a class, or use the type 'factory' to call it.",
            )
        return component
    maker = _maker(component)
    given = dict(arguments)
    for name, value in values.items():
        if name not in needs:
            raise ComponentError(
                f"{maker} has no parameter {name!r}", next_step=f"It takes {', '.join(needs) or 'none'}."
            )
        given[name] = _checked(component, needs[name], value, reader(needs[name]))
    open_ = [need for name, need in needs.items() if need.without_default and name not in given]
    missing = [need.name for need in open_ if need.required]
    given.update((need.name, None) for need in open_ if not need.required)
    if missing:
        raise ComponentError(
            f"{maker} needs {', '.join(repr(name) for name in missing)}",
            next_step="Declare a bean of that type, or give a plain value in 'arguments'.",
        )
    return component(**given)


def reader_of(need: Need) -> Any:
    """A model of one field that reads and checks the parameter's plain value; ``None`` when pydantic cannot say.

    The field is called ``value``, its alias is the parameter's name.
    """
    if need.hint is Any:
        return None
    import pydantic

    config = pydantic.ConfigDict(arbitrary_types_allowed=True, hide_input_in_errors=True)
    with contextlib.suppress(Exception):  # a class may answer pydantic with anything
        return pydantic.create_model("Parameter", __config__=config, value=(need.hint, pydantic.Field(alias=need.name)))
    return None


def read_value(reader: Any, need: Need, value: object) -> object:
    """The plain value as its parameter takes it. Raises pydantic's ``ValidationError`` where it does not fit."""
    if reader is None:
        return value
    with contextlib.suppress(TypeError):  # a protocol that cannot be asked: the constructor's to check
        return reader.model_validate({need.name: value}).value
    return value


def _checked(component: Any, need: Need, value: object, reader: Any) -> object:
    import pydantic

    try:
        return read_value(reader, need, value)
    except pydantic.ValidationError as error:
        problems = "; ".join(item["msg"] for item in error.errors(include_input=False, include_url=False))
        raise ComponentError(
            f"the argument {need.name!r} of {component.__name__!r} does not fit: {problems}",
            next_step=f"Give a value of its type, {getattr(need.hint, '__name__', need.hint)}.",
        ) from None


def _check_can_be_made(component: type) -> None:
    """Raise `ComponentError` for a class of which no object can be made."""
    name = component.__name__
    if getattr(component, "_is_protocol", False):
        raise ComponentError(
            f"{name!r} is a protocol, and no object can be made of it", next_step="Name a class that fulfils it."
        )
    if inspect.isabstract(component):
        missing = ", ".join(repr(each) for each in sorted(vars(component).get("__abstractmethods__", ())))
        raise ComponentError(
            f"{name!r} is abstract: it has no {missing}", next_step="Name a class that is derived from it."
        )


def _constructor_hints(component: type, parameters: Collection[str]) -> Mapping[str, Any]:
    """The hints of what makes an object of a class: its ``__init__``, else its ``__new__``, and where these are made
    from the class's fields (a named tuple, a model of pydantic), those of the fields."""
    made_by = next((vars(each)["__init__"] for each in component.__mro__[:-1] if "__init__" in vars(each)), None)
    made_by = inspect.unwrap(made_by or component.__new__)
    hints: Mapping[str, Any] = {}
    own: Collection[str] = ()
    # A function that was made at run time knows nothing of the module in which the hints were written.
    if inspect.isfunction(made_by) and made_by.__globals__.get("__name__") in sys.modules:
        hints, own = _hints_of(component, of=made_by), inspect.signature(made_by).parameters
    if set(parameters) <= set(own):
        return hints
    fields = _hints_of(component, of=component)
    return {**{name: hint for name, hint in fields.items() if name not in own}, **hints}


def _hints_of(component: Any, *, of: Any = None) -> Mapping[str, Any]:
    """The hints of a class or function, ``Annotated`` kept. They are read by running what stands there, which may raise
    anything. Raises `ComponentError`."""
    try:
        return typing.get_type_hints(component if of is None else of, include_extras=True)
    except Exception as error:
        raise _unreadable(component, error) from error


def _maker(component: Any) -> str:
    kind = "constructor of" if inspect.isclass(component) else "function"
    return f"the {kind} {component.__name__!r}"


def _unreadable(component: Any, error: Exception) -> ComponentError:
    unknown = isinstance(error, NameError)
    return ComponentError(
        f"{_maker(component)} cannot be read: {error if unknown else words_of(error)}",
        next_step="Import the types of its hints where it is defined, not only for type checkers."
        if unknown
        else "Correct its type hints.",
    )
