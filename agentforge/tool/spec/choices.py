"""Closed sets of values: enums and literals, by value, and where not strict also by a clear near form."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from agentforge.model.exact_number import RoundedFloat
from agentforge.tool.spec.coercion import Mismatch, came, number_from_text

__all__ = ("Choices",)

_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_LISTED = 20


class Choices:
    """Which JSON values stand for which Python objects.

    Without ``strict`` an enum member's name, a text that differs in case alone and matches one choice only, and the
    text of a whole number are understood too. Case is compared without regard to the locale.
    """

    __slots__ = ("_folded", "_names", "_objects", "_strict", "schema")

    def __init__(self, pairs: Iterable[tuple[Any, Any]], names: Mapping[str, Any], *, strict: bool) -> None:
        listed = list(pairs)
        self._objects = {_key(value): made for value, made in listed}
        self._names = names
        self._strict = strict
        self._folded: dict[str, list[Any]] = {}
        for text, made in [*((v, m) for v, m in listed if isinstance(v, str)), *names.items()]:
            found = self._folded.setdefault(text.casefold(), [])
            if not any(made is other for other in found):
                found.append(made)
        kinds = list(dict.fromkeys(_TYPES[type(value)] for value, _ in listed))
        self.schema: dict[str, Any] = {
            "type": kinds[0] if len(kinds) == 1 else kinds,
            "enum": [value for value, _ in listed],
        }

    @classmethod
    def of_enum(cls, kind: type[enum.Enum], *, strict: bool) -> Choices:
        """The members of an enum by value; by name where the values are no JSON scalars."""
        members = list(kind)
        names = dict(kind.__members__)
        by_value = [(_scalar(member.value), member) for member in members]
        if any(value is None for value, _ in by_value):
            return cls([(member.name, member) for member in members], names, strict=strict)
        return cls(by_value, names, strict=strict)

    @classmethod
    def of_literal(cls, values: Iterable[Any], *, strict: bool) -> Choices:
        """The values of a ``Literal``, enum members among them by their value."""
        pairs = [(value.value if isinstance(value, enum.Enum) else value, value) for value in values]
        return cls(pairs, {}, strict=strict)

    def convert(self, value: Any) -> Any:
        """The object that ``value`` stands for; raises `Mismatch` naming the choices."""
        try:
            return self._objects[_key(value)]
        except (KeyError, TypeError):
            pass
        if isinstance(value, str) and not self._strict:
            found = self._near(value)
            if found is not None:
                return found
        listed = self.schema["enum"]
        shown = ", ".join(repr(choice) for choice in listed[:_LISTED]) + (", …" if len(listed) > _LISTED else "")
        raise Mismatch([((), f"one of {shown} was expected, {came(value)} came")])

    def _near(self, text: str) -> Any:
        if text in self._names:
            return self._names[text]
        near = self._folded.get(text.casefold(), ())
        if len(near) == 1:
            return near[0]
        number = number_from_text(text, integer=True)
        return self._objects.get(_key(number)) if number is not None else None


def _key(value: Any) -> tuple[str, Any]:
    """JSON's equality: 1 and 1.0 are one value, true and 1 are two."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, (int, float)):
        return "number" if type(value) is not RoundedFloat else "rounded", value
    return type(value).__name__ if not isinstance(value, str) else "text", value


def _scalar(value: Any) -> Any:
    """A plain JSON scalar from an enum's value (an ``IntEnum``'s or ``StrEnum``'s too); ``None`` for anything else."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return value if type(value) is kind else kind(value)
    return None
