"""Reading and writing saved JSON strictly: every fault names its place and none shows a value.

A saved conversation outlives the program that wrote it. Whatever does not fit is refused, since a field that is
ignored today is a conversation that goes on differently tomorrow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from agentforge.errors import RunStateError

__all__ = ("JsonObject", "load_json", "refuse", "to_json_value")

_MAX_DEPTH = 100


def refuse(path: str, message: str, next_step: str | None = None) -> NoReturn:
    """Raise `RunStateError` for the place ``path``."""
    raise RunStateError(message, location=path or None, next_step=next_step)


def load_json(text: str | bytes) -> object:
    """Parse JSON; raises `RunStateError` with the position, also for ``NaN`` and for nesting beyond reason."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        refuse(f"line {error.lineno}, column {error.colno}", f"the saved text is not JSON: {error.msg}")
    except UnicodeDecodeError:
        refuse("", "the saved text is not UTF-8")
    except RecursionError:
        refuse("", "the saved text is nested too deeply")
    except ValueError as error:
        refuse("", f"the saved text is not JSON: {error}")


def to_json_value(value: object, path: str, depth: int = 0) -> Any:
    """A copy of ``value`` that JSON holds exactly; raises `RunStateError` naming the key that it cannot hold.

    Tuples and sets are refused, as they would come back as lists.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        refuse(path, "JSON has no NaN and no infinity", "Store the number as a text.")
    if depth >= _MAX_DEPTH:
        refuse(path, f"nested more than {_MAX_DEPTH} levels deep", "Store a flatter value.")
    if isinstance(value, Mapping):
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                refuse(f"{path}[{key!r}]"[:200], f"a key is a text in JSON, not {type(key).__name__}")
            copy[key] = to_json_value(item, f"{path}.{key}", depth + 1)
        return copy
    if isinstance(value, list):
        return [to_json_value(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    refuse(
        path,
        f"{type(value).__name__} cannot be stored as JSON",
        "Store texts, numbers, booleans, lists and mappings.",
    )


class JsonObject:
    """One saved object and its place; each method reads one field or says what is wrong with it.

    >>> JsonObject({"name": "now"}, "call", ("name",)).text("name")
    'now'
    """

    __slots__ = ("data", "path")

    def __init__(self, data: object, path: str, known: Iterable[str] | None = None) -> None:
        if not isinstance(data, Mapping):
            refuse(path, f"an object is needed, not {_kind(data)}")
        self.data: Mapping[str, Any] = data
        self.path = path
        if known is not None:
            self.only(known)

    def only(self, known: Iterable[str]) -> None:
        """Refuse fields that are not ``known``."""
        unknown = [key for key in self.data if key not in tuple(known)]
        if unknown:
            refuse(
                self._at(str(unknown[0])[:80]),
                "unknown field",
                "It was written by another version of AgentForge, or by something else.",
            )

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _get(self, name: str, type_: type | tuple[type, ...], what: str, default: object) -> Any:
        if name not in self.data:
            if default is _REQUIRED:
                refuse(self._at(name), "the field is missing")
            return default
        value = self.data[name]
        fits = isinstance(value, type_) and (type_ is bool or not isinstance(value, bool))
        if not fits:
            refuse(self._at(name), f"{what} is needed, not {_kind(value)}")
        return value

    def text(self, name: str) -> str:
        """A text that must be there."""
        return self._get(name, str, "a text", _REQUIRED)  # type: ignore[no-any-return]

    def optional_text(self, name: str) -> str | None:
        """A text, or ``None`` where the field is absent."""
        return self._get(name, str, "a text", None)  # type: ignore[no-any-return]

    def choice(self, name: str, known: Iterable[str], default: str | None = None) -> str:
        """One of the ``known`` texts; without a ``default`` the field must be there."""
        value: str = self._get(name, str, "a text", default if default is not None else _REQUIRED)
        if value not in tuple(known):
            refuse(self._at(name), f"unknown value {value[:40]!r}", f"Known: {', '.join(known)}.")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """A truth value."""
        return self._get(name, bool, "true or false", default)  # type: ignore[no-any-return]

    def count(self, name: str) -> int | None:
        """A whole number, or ``None`` where the field is absent."""
        return self._get(name, int, "a whole number", None)  # type: ignore[no-any-return]

    def mapping(self, name: str) -> dict[str, Any] | None:
        """A JSON object, copied; ``None`` where the field is absent."""
        value = self._get(name, Mapping, "an object", None)
        return None if value is None else to_json_value(value, self._at(name))

    def items(self, name: str) -> Iterator[tuple[object, str]]:
        """The items of a list that must be there, each with its place."""
        for at, item in enumerate(self._get(name, list, "a list", _REQUIRED)):
            yield item, f"{self._at(name)}[{at}]"

    def version(self, known: int, *, required: bool) -> None:
        """Refuse any other version than ``known``."""
        value: int = self._get("version", int, "a whole number", _REQUIRED if required else known)
        if value != known:
            refuse(
                self._at("version"),
                f"version {value} cannot be read; this AgentForge reads version {known}",
                "Read it with the version of AgentForge that wrote it.",
            )


_REQUIRED = object()


def _kind(value: object) -> str:
    if value is None:
        return "null"
    for type_, name in ((bool, "a truth value"), (str, "a text"), ((int, float), "a number"), (list, "a list")):
        if isinstance(value, type_):
            return name
    return "an object" if isinstance(value, Mapping) else type(value).__name__


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
