"""Plain values for the parameters of components, checked against their hints before anything is made.

A value may hold references to beans, which are not there yet: of those it is checked whether a bean of their kind can
stand in that place.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from agentforge.config import (
    MappingNode,
    Reporter,
    SecretNode,
    hide_secrets,
    mark_of,
    report_validation,
    value_for,
    with_article,
)
from agentforge.config.codes import BAD_VALUE
from agentforge.container import codes
from agentforge.container.draft import Draft
from agentforge.container.filling import secrets_in
from agentforge.container.known import Known
from agentforge.container.plan import Pending
from agentforge.masking import Secrets
from agentforge.plugin import Components, Need, fits

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ("PlainValues",)

_Location = tuple[str | int, ...]
# What pydantic says where a class, or a plain value, was wanted.
_NO_BEANS = (
    "is_instance_of",
    "string_",
    "int_",
    "float_",
    "bool_",
    "bytes_",
    "literal_",
    "decimal_",
    "date",
    "time",
    "enum",
)


class PlainValues:
    """Checks the values that a file gives for the parameters of components."""

    def __init__(self, known: Known, components: Components, reporter: Reporter, secrets: Secrets) -> None:
        self._known = known
        self._components = components
        self._reporter = reporter
        self._secrets = secrets

    def check(self, draft: Draft, need: Need, values: dict[str, Any]) -> None:
        """Check one of the values; text stays text where text is declared. What does not fit is reported."""
        from pydantic import ValidationError

        arguments = draft.node.get("arguments") if draft.node is not None else None
        node = arguments.get(need.name) if isinstance(arguments, MappingNode) else None
        component = draft.component
        if node is None or component is None or not isinstance(arguments, MappingNode):
            return  # a default of the type's own
        hide_secrets(node, need.hint, self._reporter)
        values[need.name] = value_for(node, need.hint)
        path = f"beans.{draft.id}.arguments"
        try:
            read = self._components.read(component, need, values[need.name])
        except ValidationError as error:
            if isinstance(node, SecretNode):
                message = f"'{need.name}' of {component} takes no secret"
                step = f"Declare it so: {need.name}: SecretStr, from agentforge.plugin."
                where = f"{path}.{need.name}"
                self._reporter.report(BAD_VALUE, message, node.mark, next_step=step, path=where, private=True)
                return
            rest = self._without_beans(error, draft, need, arguments, values)
            if rest is not None:
                model = self._components.reader(component, need)
                report_validation(
                    rest, arguments, model, self._reporter, path=path, mark=node.mark, secrets=self._secrets
                )
        except Exception as error:  # a class of the user's that reads itself
            words = self._secrets.mask(f"{type(error).__name__}: {error}")
            message = f"'{need.name}' of {component} could not be read: {words}"
            self._reporter.report(BAD_VALUE, message, node.mark, path=f"{path}.{need.name}", private=True)
        else:
            for secret in secrets_in(read):
                self._secrets.add(secret)

    def _without_beans(
        self, error: ValidationError, draft: Draft, need: Need, arguments: MappingNode, values: Mapping[str, Any]
    ) -> ValidationError | None:
        """The errors that are not at beans, ``None`` when there are none; beans in wrong places are reported."""
        from pydantic_core import InitErrorDetails, PydanticCustomError
        from pydantic_core.core_schema import ErrorType

        at_beans: dict[_Location, list[Any]] = {}
        details: list[InitErrorDetails] = []
        for each in error.errors(include_url=False):
            way = _way_to_bean(values, each["loc"])
            if way is not None:
                at_beans.setdefault(way, []).append(each)
                continue
            kind: Any = each["type"]
            if kind not in get_args(ErrorType):
                kind = PydanticCustomError(kind, each["msg"])
            details.append(InitErrorDetails(type=kind, loc=each["loc"], input=each["input"], ctx=each.get("ctx", {})))
        for way, errors in at_beans.items():
            pending = _value_at(values, way)
            if pending.id:  # else it is reported
                self._check_bean(draft, need, way, pending, errors, arguments)
        if not at_beans:
            return error
        return type(error).from_exception_data(error.title, details) if details else None

    def _check_bean(
        self, draft: Draft, need: Need, way: _Location, pending: Pending, errors: list[Any], arguments: MappingNode
    ) -> None:
        """Whether the bean can stand where pydantic found a stand-in and wanted something else."""
        reference = next(each for each in draft.references if each.slot == pending.slot)
        provided = self._known.drafts[pending.id].provides
        kinds = {each["type"] for each in errors}
        wanted = sorted({each["ctx"]["class"] for each in errors if each["type"] == "is_instance_of"})
        if reference.provider:
            good, given = "callable_type" in kinds, "a callable"
        elif provided is None or provided.__module__.partition(".")[0] in sys.stdlib_module_names:
            return
        else:
            # What is no plain value, such as a mapping, a class of the user's may well be.
            good = not all(kind.startswith(_NO_BEANS) for kind in kinds) or _may_stand(provided, wanted, need.hint)
            given = with_article(provided.__name__)
        if good:
            return
        path = ".".join(map(str, way))
        takes = f"needs {' or '.join(map(with_article, wanted))}" if wanted else "takes no bean"
        message = f"'{path}' {takes}, and '{pending.id}' is {given}"
        step = "Name a bean of that kind." if wanted else "Give a plain value."
        where = f"beans.{draft.id}.arguments.{path}"
        self._reporter.report(codes.WRONG_BEAN, message, mark_of(arguments, way), next_step=step, path=where)


def _may_stand(provided: type, wanted: list[str], hint: Any) -> bool:
    """Whether it is one of the classes, by name, that the hint asks for; what is not found in the hint may be."""
    classes = {each.__name__: each for each in _classes_in(hint, set())}
    return any(name not in classes or fits(provided, classes[name]) for name in wanted)


def _classes_in(hint: Any, seen: set[Any]) -> Iterator[type]:
    """Every class that a hint names, those of the fields of models and dataclasses too."""
    for inner in get_args(hint):
        yield from _classes_in(inner, seen)
    if not isinstance(hint, type) or hint in seen:
        return
    seen.add(hint)
    yield hint
    fields = getattr(hint, "model_fields", None)
    if isinstance(fields, Mapping):
        for field in fields.values():
            yield from _classes_in(field.annotation, seen)
    elif dataclasses.is_dataclass(hint):
        import typing

        for inner in typing.get_type_hints(hint).values():
            yield from _classes_in(inner, seen)


def _way_to_bean(values: Any, location: _Location) -> _Location | None:
    """The way to the stand-in at which an error is; ``None`` for an error at a plain value."""
    way: list[str | int] = []
    value = values
    for step in location:
        found = _inside(value, step)
        if found is not _NONE:
            value = found
            way.append(step)
        # Any other step is a name of pydantic's own, such as that of a member of a union.
    return tuple(way) if isinstance(value, Pending) else None


_NONE = object()


def _inside(value: Any, step: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _NONE)
    if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
        return value[step]
    return _NONE


def _value_at(values: Any, way: _Location) -> Any:
    for step in way:
        values = _inside(values, step)
    return values
