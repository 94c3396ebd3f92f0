"""Declaring a tool: one decorator, one parameter note, and what happens with the result (seed A 3.2.1, 3.2.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, overload

from agentforge.errors import ToolDeclarationError
from agentforge.model.specification import Strictness, is_strictness

__all__ = (
    "MISSING",
    "NOTE_KEY",
    "Hidden",
    "MemoryId",
    "P",
    "ReturnBehavior",
    "ToolDeclaration",
    "check_strict",
    "check_timeout",
    "declaration_of",
    "is_seconds",
    "note_key",
    "return_behavior_of",
    "tool",
)

_F = TypeVar("_F", bound=Callable[..., Any])
_ATTRIBUTE = "__agentforge_tool__"


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final[Any] = _Missing()
"""Says that a value was not given, where ``None`` is a value."""

NOTE_KEY: Final = "agentforge_note"
"""What a description by `P` is called while a tool's schema is made, as pydantic puts that of a ``Field`` over it."""

note_key: Final = ContextVar("note_key", default="description")
"""What it is called now."""


class ReturnBehavior(Enum):
    """What happens with a tool's result.

    The run returns at once iff there are calls, every outcome is ``OK``, and the last call is
    ``IMMEDIATE_IF_LAST`` or every call is ``IMMEDIATE`` or ``IMMEDIATE_IF_LAST``.
    """

    TO_LLM = "to_llm"
    """Back to the model, which goes on (the default)."""
    IMMEDIATE = "immediate"
    """Straight to the caller."""
    IMMEDIATE_IF_LAST = "immediate_if_last"
    """Straight to the caller when it is the last call of the reply."""


if TYPE_CHECKING:
    MemoryId: TypeAlias = Any
else:

    class MemoryId:
        """Marks a hidden parameter that gets the conversation's memory id: ``Annotated[str, MemoryId]``, or `MemoryId`
        itself as the type, which then stands for whatever an application's ids are."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Marks a hidden parameter: a value of the run's tool context, never in the schema and in no request.

    ``Annotated[str, Hidden]`` gets the value under the parameter's own name, ``Annotated[str, Hidden("user_id")]`` that
    under another. Where the context has none the parameter's default holds; without one the call fails.

    >>> from typing import Annotated
    >>> @tool("Orders of the user.")
    ... def orders(user_id: Annotated[str, Hidden], newest: int = 3) -> str:
    ...     return f"{newest} orders of {user_id}"
    """

    name: str | None = None


@dataclass(frozen=True, slots=True, init=False)
class P:
    """A parameter's note, inside ``Annotated``: description, another name, whether required, a default.

    On a field of a parameter's type it is the description of the field, and may say nothing else.

    >>> P("name of the city").description
    'name of the city'
    """

    description: str | None
    name: str | None
    required: bool | None
    default: Any

    def __init__(
        self,
        *description: str,
        name: str | None = None,
        required: bool | None = None,
        default: Any = MISSING,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "description", "\n".join(description) or None)
        set_(self, "name", name)
        set_(self, "required", required)
        set_(self, "default", default)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """What pydantic asks of a note on a field: the type's own schema. It is a copy, as pydantic then writes the
        note into it, and the schema of a recursive type is shared by all who use it."""
        made = handler(source)
        return {**made, "metadata": {**made.get("metadata", {})}}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """And for its JSON Schema, which may be a reference: it stays, with the description beside it."""
        made = handler(schema)
        return {**made, note_key.get(): self.description} if self.description else made


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """What `tool` noted on a function; everything unset is derived from the function."""

    description: str | None = None
    name: str | None = None
    return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM
    effect: Literal["read", "write"] | None = None
    strict: Strictness = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    timeout: float | None = None
    serial: str | None = None
    sequential: bool = False


@overload
def tool(function: _F, /) -> _F: ...
@overload
def tool(
    *description: str,
    name: str | None = None,
    return_behavior: ReturnBehavior | None = None,
    return_direct: bool | None = None,
    effect: Literal["read", "write"] | None = None,
    strict: Strictness = None,
    metadata: Mapping[str, object] | None = None,
    timeout: float | None = None,
    serial: str | None = None,
    sequential: bool = False,
) -> Callable[[_F], _F]: ...
def tool(
    *description: Any,
    name: str | None = None,
    return_behavior: ReturnBehavior | None = None,
    return_direct: bool | None = None,
    effect: Literal["read", "write"] | None = None,
    strict: Strictness = None,
    metadata: Mapping[str, object] | None = None,
    timeout: float | None = None,
    serial: str | None = None,
    sequential: bool = False,
) -> Any:
    """Declare a function or method a tool; it stays callable and typed as it was.

    Positional texts, joined by newlines, are the description; without one, the docstring's. Works bare, on instance,
    class, static and private methods, async or sync, above or below ``@classmethod`` and ``@staticmethod``.
    ``return_behavior`` is ``TO_LLM`` unless given; ``return_direct=True`` is another word for ``IMMEDIATE``.
    ``strict`` asks the provider to hold the model to the schema: true, ``auto`` or ``portable``, as `ToolSpecification`
    says. ``timeout`` is in seconds. ``serial`` names a key whose calls never run side by side; ``sequential`` makes the
    call a barrier in its batch.

    >>> @tool("Current weather of a city.")
    ... def get_weather(city: str) -> str:
    ...     return f"{city}: 22 degrees"
    >>> get_weather("Hangzhou")
    'Hangzhou: 22 degrees'
    """
    if len(description) == 1 and not isinstance(description[0], str):
        return _mark(description[0], ToolDeclaration())
    _check(description, name, effect, timeout)
    check_strict(strict, _what(name))
    behavior = return_behavior_of(return_behavior, return_direct, _what(name))
    declaration = ToolDeclaration(
        description="\n".join(description) or None,
        name=name or None,
        return_behavior=behavior,
        effect=effect,
        strict=strict,
        metadata=dict(metadata or {}),
        timeout=timeout,
        serial=serial,
        sequential=sequential,
    )
    return lambda function: _mark(function, declaration)


def return_behavior_of(behavior: Any, direct: Any, what: str) -> ReturnBehavior:
    """The behaviour that ``return_behavior`` and its other word ``return_direct`` say together; neither: ``TO_LLM``.

    Raises `ToolDeclarationError`, naming ``what``, for another value and where the two contradict each other.
    """
    if behavior is not None and not isinstance(behavior, ReturnBehavior):
        raise ToolDeclarationError(
            f"{what}: return_behavior must be a ReturnBehavior, not {behavior!r}",
            next_step="Write return_behavior=ReturnBehavior.IMMEDIATE, for example.",
        )
    if direct is None:
        return behavior or ReturnBehavior.TO_LLM
    if not isinstance(direct, bool):
        raise ToolDeclarationError(f"{what}: return_direct must be True or False, not {direct!r}")
    meant = ReturnBehavior.IMMEDIATE if direct else ReturnBehavior.TO_LLM
    if behavior not in (None, meant):
        raise ToolDeclarationError(
            f"{what}: return_direct={direct} and return_behavior={behavior} contradict each other",
            next_step="Give one of the two.",
        )
    return meant


def _what(name: Any) -> str:
    return f"@tool(name={name!r})" if name else "@tool"


def _check(description: Any, name: Any, effect: Any, timeout: Any) -> None:
    """A slip here would switch a protection off without a word, so it is refused where it stands."""
    what = _what(name)
    if not all(isinstance(text, str) for text in description):
        raise ToolDeclarationError(f"{what}: descriptions must be texts")
    if name is not None and not isinstance(name, str):
        raise ToolDeclarationError(f"{what}: name must be a text")
    if effect not in (None, "read", "write"):
        raise ToolDeclarationError(f"{what}: effect must be 'read' or 'write', not {effect!r}")
    check_timeout(timeout, what)


def check_strict(strict: Any, what: str) -> None:
    """Raise `ToolDeclarationError` unless ``strict`` is a value that it can have."""
    if not is_strictness(strict):
        raise ToolDeclarationError(
            f"{what}: strict must be True, False, 'auto' or 'portable', not {strict!r}",
            next_step="Use 'auto' for strict where the schema and the provider allow it.",
        )


def check_timeout(timeout: Any, what: str) -> None:
    """Raise `ToolDeclarationError` unless ``timeout`` is ``None`` or a number of seconds above 0."""
    if timeout is None or is_seconds(timeout):
        return
    raise ToolDeclarationError(
        f"{what}: timeout must be seconds above 0, not {timeout!r}", next_step="Leave it out for the service's own."
    )


def is_seconds(value: object) -> bool:
    """Whether ``value`` is a time limit: a number above 0, neither a truth value nor NaN."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _mark(function: Any, declaration: ToolDeclaration) -> Any:
    target = function.__func__ if isinstance(function, (classmethod, staticmethod)) else function
    if not callable(target):
        raise ToolDeclarationError(f"@tool needs a function or method, not {type(function).__name__}")
    setattr(target, _ATTRIBUTE, declaration)
    return function


def declaration_of(function: object) -> ToolDeclaration | None:
    """What `tool` noted on ``function`` (a function, method, classmethod or staticmethod); ``None`` if nothing."""
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, ToolDeclaration) else None
