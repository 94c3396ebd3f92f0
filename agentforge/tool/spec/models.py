"""Types that take pydantic: models, dataclasses, typed dicts, named tuples, unions, constraints.

Only its public API is used. Values are validated as strict JSON; what strict JSON refuses although nothing would be
lost (``2.0`` for an integer, and where the tool is not strict ``"2"``) is put right at its place and tried again.
"""

from __future__ import annotations

import collections.abc
import json
import sys
import types
import typing
from collections.abc import Sequence
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.spec.coercion import Mismatch, came, number_from_text
from agentforge.tool.spec.json_validator import compile_validator, problems_of
from agentforge.tool.spec.reshaping import Reshaper

__all__ = ("ModelType", "model_schemas", "no_json_form")

_PASSES = 8
_STREAMS = (collections.abc.Iterable, collections.abc.Collection, collections.abc.Iterator, collections.abc.Generator)
_SURPLUS = ("extra_forbidden", "unexpected_keyword_argument")


class ModelType:
    """One parameter's type adapter; ``convert`` takes a parsed JSON value and raises `Mismatch`."""

    __slots__ = ("_checker", "_error", "_open", "_reshaper", "_strict", "_to_json", "_tool", "adapter", "schema")

    def __init__(self, hint: Any, *, strict: bool, tool: str, parameter: str) -> None:
        with _refused(hint, tool, parameter):
            from pydantic import TypeAdapter, ValidationError
            from pydantic_core import to_json

            self.adapter: Any = TypeAdapter(_modern(hint))
        self._error: type[Any] = ValidationError
        self._to_json = to_json
        self._strict = strict
        self._tool = tool
        self._open = False
        self._checker: Any = None
        self.schema: dict[str, Any] = {}
        self._reshaper = Reshaper({}, text_to_number=False, drop_nulls=True)

    def use_schema(self, schema: dict[str, Any], *, has_open_models: bool) -> None:
        """The finished schema with its definitions; it decides surplus keys where a model says ``extra="allow"``."""
        self.schema = schema
        self._open = has_open_models
        # A model that was made to name every field says null where it would have left one out.
        self._reshaper = Reshaper(schema, text_to_number=False, drop_nulls=True)

    def convert(self, value: Any) -> Any:
        """The value as the declared type."""
        extra = None if self._open else "forbid"
        for attempt in range(_PASSES):
            try:
                made = self.adapter.validate_json(self._to_json(value), strict=True, extra=extra)
            except self._error as error:
                if attempt == 0 and (reshaped := self._reshaper.reshape(value)) is not value:
                    value = reshaped
                    continue
                faults = error.errors(include_url=False)
                repaired = self._repaired(value, faults)
                if repaired is None:
                    raise Mismatch(_problems(value, faults)) from None
                value = repaired[0]
            else:
                if self._open:
                    self._check_surplus(value)
                return made
        raise Mismatch(_problems(value, faults))

    def _repaired(self, value: Any, faults: Sequence[Any]) -> tuple[Any] | None:
        """The value with every number put right that can be without loss; ``None`` when none can."""
        root = [json.loads(json.dumps(value))]
        changed = False
        for fault in faults:
            steps = _steps(value, fault["loc"])
            parent: Any = root
            last: str | int = 0
            for step in steps:
                parent, last = parent[last], step
            number = _exact_number(fault["type"], parent[last], strict=self._strict)
            if number is not None:
                parent[last] = number
                changed = True
        return (root[0],) if changed else None

    def _check_surplus(self, value: Any) -> None:
        if self._checker is None:
            self._checker = compile_validator(self.schema, tool=self._tool)
        found = [problem for error in self._checker.iter_errors(value) for problem in problems_of(error)]
        if found:
            raise Mismatch([(tuple(filter(None, (problem.path,))), problem.message) for problem in found])


def model_schemas(models: dict[str, ModelType]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schemas of all parameters that need a model, with one set of definitions whose names do not collide."""
    from pydantic import TypeAdapter

    found, shared = TypeAdapter.json_schemas([(name, "validation", model.adapter) for name, model in models.items()])
    schemas = {name: dict(found[name, "validation"]) for name in models}
    return schemas, dict(shared.get("$defs", {}))


class _refused:  # noqa: N801  (a context manager is used like a function)
    """Turns whatever pydantic says about a type into an error that names tool, parameter and type."""

    def __init__(self, hint: Any, tool: str, parameter: str) -> None:
        self._place = (hint, tool, parameter)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, (ImportError, ToolDeclarationError)):
            raise no_json_form(*self._place, error) from None


def no_json_form(hint: Any, tool: str, parameter: str, error: Exception) -> ToolDeclarationError:
    """The error for a type that has no schema, or not yet."""
    name = getattr(hint, "__name__", None) or str(hint)
    missing = _missing_name(hint, error)
    if missing is not None:
        return ToolDeclarationError(
            f"the type {name} of parameter {parameter!r} of tool {tool!r} is not complete: "
            f"the name {missing!r} is not defined",
            tool=tool,
            next_step="Define it before the tool is registered.",
        )
    return ToolDeclarationError(
        f"parameter {parameter!r} of tool {tool!r} has type {name}, which has no JSON form",
        tool=tool,
        next_step="Use a JSON type, a dataclass or a model; for an object of the application, use ToolContext.",
    )


def _missing_name(hint: Any, error: Exception) -> str | None:
    """The name that a type's own annotations lack. Of an adapter pydantic tells only that it is not complete; asked
    to complete the model it says why."""
    found = getattr(error, "name", None)
    if isinstance(found, str):
        return found
    for kind in (hint, *typing.get_args(hint)):
        rebuild = getattr(kind, "model_rebuild", None)
        if rebuild is not None:
            try:
                rebuild(force=True)
            except Exception as reason:
                return str(getattr(reason, "name", None) or reason)
    return None


def _modern(hint: Any) -> Any:
    """The hint as pydantic takes it: typed dicts of older Pythons rebuilt, streams of values as lists."""
    if sys.version_info < (3, 12) and typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        return _rebuilt_typed_dict(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _STREAMS:
        return list
    if origin is typing.Annotated:
        return typing.Annotated[(_modern(arguments[0]), *arguments[1:])]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_modern(arm) for arm in arguments)]  # noqa: UP007  (arms known at run time only)
    if origin in _STREAMS:
        return list[_modern(arguments[0])]  # type: ignore[misc]
    if origin in (list, set, frozenset, tuple, dict):
        return origin[tuple(_modern(a) if isinstance(a, type) or typing.get_origin(a) else a for a in arguments)]
    return hint


def _rebuilt_typed_dict(hint: Any) -> Any:
    import typing_extensions

    fields: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(hint, include_extras=True).items():
        inner = _modern(kind)
        wanted = typing_extensions.Required if name in hint.__required_keys__ else typing_extensions.NotRequired
        fields[name] = inner if typing.get_origin(inner) in _FIELD_MARKS else wanted[inner]
    make: Any = typing_extensions.TypedDict
    made = make(hint.__name__, fields)
    made.__doc__, made.__module__ = hint.__doc__, hint.__module__
    return made


_FIELD_MARKS = (typing.Required, typing.NotRequired)


def _steps(value: Any, place: Sequence[str | int]) -> list[str | int]:
    """The path through ``value``; pydantic's place also names the branches of unions, which are no steps."""
    steps: list[str | int] = []
    node = value
    for step in place:
        inside = step in node if isinstance(node, dict) else isinstance(node, list) and step in range(len(node))
        if inside:
            node = node[step]
            steps.append(step)
    return steps


def _exact_number(fault: str, value: Any, *, strict: bool) -> int | float | None:
    if fault.startswith("int_"):
        if type(value) is float and value.is_integer():
            return int(value)
        return number_from_text(value, integer=True) if isinstance(value, str) and not strict else None
    if fault == "float_type" and isinstance(value, str) and not strict:
        return number_from_text(value)
    return None


def _problems(value: Any, faults: Sequence[Any]) -> list[tuple[tuple[str | int, ...], str]]:
    problems: dict[tuple[tuple[str | int, ...], str], None] = {}
    for fault in faults:
        path = tuple(_steps(value, fault["loc"]))
        kind = fault["type"]
        if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
            message = "is required and was not given"
            path = (*path, fault["loc"][-1])
        elif kind in _SURPLUS:
            message = "is not a known field"
        else:
            message = f"{_lower_first(fault['msg'])}; {came(fault['input'])} came"
        problems[path, message] = None
    return list(problems)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
