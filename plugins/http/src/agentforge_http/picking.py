"""Choosing a part of an answer: a JSON pointer (``/items/0/name``) or a JMESPath expression (``items[*].name``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agentforge.errors import ConfigurationError

__all__ = ("Pick", "found_at", "pick_of", "pointer_steps")

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")  # Python reads no number of some thousand digits


@dataclass(frozen=True, slots=True)
class Pick:
    """From parsed JSON to the part that ``expression`` names. Raises ``LookupError`` where there is nothing,
    ``ValueError`` where nothing can be picked."""

    expression: str
    _find: Callable[[Any], Any]

    def __call__(self, document: Any) -> Any:
        return self._find(document)


def pick_of(expression: str) -> Pick:
    """What the expression picks: a JSON pointer where it begins with ``/``, else JMESPath, whose ``null`` is nothing.

    Raises `ConfigurationError` for an expression that cannot be parsed.

    >>> pick_of("/items/1")({"items": ["a", "b"]}), pick_of("items[*].n")({"items": [{"n": 1}, {"n": 2}]})
    ('b', [1, 2])
    """
    return Pick(expression, _pointer(expression) if expression.startswith("/") else _jmespath(expression))


def _jmespath(expression: str) -> Callable[[Any], Any]:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        compiled = jmespath.compile(expression)
    except JMESPathError as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigurationError(
            f"pick is no JMESPath expression: {reason}",
            next_step="Write a JSON pointer such as /items/0, or JMESPath such as items[*].name.",
        ) from None

    def picked(document: Any) -> Any:
        try:
            found = compiled.search(document)
        except (JMESPathError, TypeError, RecursionError) as error:
            raise ValueError(" ".join(str(error).split())[:200]) from None
        if found is None:
            raise LookupError(expression)
        return found

    return picked


def _pointer(expression: str) -> Callable[[Any], Any]:
    if "~" in expression.replace("~0", "").replace("~1", ""):
        raise ConfigurationError(
            f"pick is no JSON pointer: {expression!r} has a ~ that is neither ~0 nor ~1",
            next_step="Write ~0 for ~ and ~1 for / in a name.",
        )
    names = pointer_steps(expression)
    return lambda document: found_at(document, names)


def pointer_steps(pointer: str) -> list[str]:
    """The names in a JSON pointer that begins with ``/``.

    >>> pointer_steps("/paths/~1users/get")
    ['paths', '/users', 'get']
    """
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def found_at(document: Any, steps: Iterable[str]) -> Any:
    """What stands in a document at the end of these steps. Raises ``LookupError`` where there is nothing."""
    for step in steps:
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list) and _INDEX.fullmatch(step) and int(step) < len(document):
            document = document[int(step)]
        else:
            raise LookupError(step)
    return document
