"""Types that take pydantic: models, dataclasses, typed dicts, named tuples, unions, constraints.

Only its public API is used. Values are validated as strict JSON; what strict JSON refuses although nothing would be
lost (``2.0`` for an integer, and where the tool is not strict ``"2"``) is brought into shape and tried again.
"""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from collections.abc import Sequence
from typing import Any

from agentforge.errors import ArgumentProblem, ToolDeclarationError
from agentforge.model.exact_number import RoundedFloat
from agentforge.tool.declare import NOTE_KEY, note_key
from agentforge.tool.spec.coercion import Mismatch, Path, came
from agentforge.tool.spec.json_validator import compile_validator, has_many_parts, problems_in
from agentforge.tool.spec.long_numbers import LongNumbers, has_long_number, may_round
from agentforge.tool.spec.reshaping import DECIMAL_PATTERN, Reshaper

__all__ = ("ModelType", "json_form_of", "model_schemas", "no_json_form")

_MANY = 1000
_STREAMS = (collections.abc.Iterable, collections.abc.Collection)
_SURPLUS = ("extra_forbidden", "unexpected_keyword_argument")


class ModelType:
    """One parameter's type adapter; ``convert`` takes a parsed JSON value and raises `Mismatch`."""

    __slots__ = (
        "_checker",
        "_error",
        "_long_numbers",
        "_open",
        "_reshaper",
        "_strict",
        "_to_json",
        "_tool",
        "adapter",
        "schema",
    )

    def __init__(self, hint: Any, *, strict: bool, tool: str, parameter: str) -> None:
        with _refused(hint, tool, parameter):
            from pydantic import ValidationError
            from pydantic_core import to_json

            self.adapter: Any = json_form_of(hint)
        self._error: type[Any] = ValidationError
        self._to_json = to_json
        self._strict = strict
        self._tool = tool
        self._checker: Any = None
        self.use_schema({}, has_open_models=False)

    def use_schema(self, schema: dict[str, Any], *, has_open_models: bool) -> None:
        """The finished schema with its definitions; it decides surplus keys where a model says ``extra="allow"``."""
        self.schema = schema
        self._open = has_open_models
        self._long_numbers = LongNumbers(schema) if may_round(schema) else None
        # A model that was made to name every field says null where it would have left one out.
        self._reshaper = Reshaper(schema, text_to_number=not self._strict, drop_nulls=True)

    def convert(self, value: Any) -> Any:
        """The value as the declared type."""
        try:
            return self._made(value)
        except self._error as error:
            reshaped = self._reshaper.reshape(value)
            if reshaped is value:
                raise Mismatch(self._problems(value, error)) from None
        try:
            return self._made(reshaped)
        except self._error as error:
            raise Mismatch(self._problems(reshaped, error)) from None

    def _made(self, value: Any) -> Any:
        if self._long_numbers is not None and has_long_number(value):
            value = self._long_numbers.reshape(value)
        made = self.adapter.validate_json(self._to_json(value), strict=True, extra=None if self._open else "forbid")
        if self._open:
            found = problems_in(value, self._check())
            if found:
                raise Mismatch(_located(found))
        return made

    def _problems(self, value: Any, error: Any) -> list[tuple[Path, str]]:
        if error.error_count() > _MANY and has_many_parts(value):
            # Listing them all takes longer than finding them; the first in terms of the schema tells enough.
            try:
                found = problems_in(value, self._check())
            except ToolDeclarationError:  # a pattern that only pydantic reads
                found = []
            if found:
                return _located(found)
        return _problems(value, error.errors(include_url=False)[:_MANY])

    def _check(self) -> Any:
        if self._checker is None:
            self._checker = compile_validator(self.schema, tool=self._tool)
        return self._checker


def model_schemas(models: dict[str, ModelType]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schemas of all parameters that need a model, with one set of definitions whose names do not collide."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            """As for a plain decimal, the form of its text is told."""
            made = super().decimal_schema(schema)
            for part in made.get("anyOf", ()):
                if part.get("type") == "string":
                    part["pattern"] = DECIMAL_PATTERN
            return made

    inputs = [(name, "validation", model.adapter) for name, model in models.items()]
    before = note_key.set(NOTE_KEY)
    try:
        found, shared = TypeAdapter.json_schemas(inputs, schema_generator=Generator)  # type: ignore[arg-type]
    finally:
        note_key.reset(before)
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


def json_form_of(hint: Any) -> Any:
    """Pydantic's adapter of a type, as `ModelType` uses it; raises whatever pydantic says of a type without one."""
    from pydantic import TypeAdapter

    return TypeAdapter(_modern(hint))


def _modern(hint: Any) -> Any:
    """The hint as pydantic takes it: typed dicts of older Pythons rebuilt, iterables as lists."""
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


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _located(problems: Sequence[ArgumentProblem]) -> list[tuple[Path, str]]:
    return [((problem.path,) if problem.path else (), problem.message) for problem in problems]


def _problems(value: Any, faults: Sequence[Any]) -> list[tuple[Path, str]]:
    problems: dict[tuple[Path, str], None] = {}
    for fault in faults:
        path = tuple(_steps(value, fault["loc"]))
        kind = fault["type"]
        if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
            message = "is required and was not given"
            path = (*path, fault["loc"][-1])
        elif kind in _SURPLUS:
            message = "is not a known field"
        else:
            given = _at(value, path)
            given = given if isinstance(given, RoundedFloat) else fault["input"]
            message = f"{_lower_first(fault['msg'])}; {came(given)} came"
        problems[path, message] = None
    return list(problems)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
