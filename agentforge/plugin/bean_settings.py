"""The base of every bean type's settings, and the value types that settings share.

The one place of the package that loads pydantic; a plugin's settings need nothing of it but what stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    WithJsonSchema,
    field_validator,
)

from agentforge.errors import AgentForgeError

__all__ = (
    "AfterValidator",
    "Amount",
    "BeanSettings",
    "Count",
    "CountFromZero",
    "Field",
    "Seconds",
    "SecretStr",
    "amount_of",
    "as_value_error",
    "field_validator",
    "seconds_of",
)

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?\s*", re.IGNORECASE)
#: For editors: `_DURATION` in the words of JSON Schema.
_DURATION_SCHEMA: Mapping[str, Any] = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([mM]?[sS]|[mM]|[mM][iI][nN]|[hH]|[dD])?\s*$"},
    ]
}
_UNITS: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmM])\s*")
_FACTORS: Mapping[str, int] = {"k": 1_000, "m": 1_000_000}


class BeanSettings(BaseModel):
    """Settings of a bean type: each field a setting, the text below it its description.

    Frozen; an unknown key is refused; secrets are declared as `SecretStr`, fields that are beans with `Ref`. Raise
    ``ValueError`` in ``model_post_init`` for what must hold between fields; for what the object itself would refuse
    there is `as_value_error`.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,
        protected_namespaces=(),
        hide_input_in_errors=True,
        validate_default=True,
    )

    @classmethod
    def settings_inside(cls, name: str) -> type[BeanSettings] | None:
        """The settings that a mapping under the field ``name`` holds, where its declared type does not say so because
        they are made on use; a model that checks such a mapping itself says here what it checks it with."""
        return None


@contextmanager
def as_value_error() -> Iterator[None]:
    """What an object refuses, as a fault of its settings: an error of the framework becomes a ``ValueError``.

    Make the object once in ``model_post_init``, and its own checks speak when the file is checked; the error's next
    step is told as its own line.

    >>> from agentforge.errors import ConfigurationError
    >>> with as_value_error():
    ...     raise ConfigurationError("limits contradict each other", next_step="Give one.")
    Traceback (most recent call last):
    ValueError: limits contradict each other. Give one.
    """
    try:
        yield
    except AgentForgeError as error:
        step = f". {error.next_step}" if error.next_step else ""
        raise ValueError(f"{error.message}{step}") from error


def seconds_of(value: Any) -> Any:
    """The seconds that a duration says; what is no duration is returned as it is, for the type to refuse.

    >>> [seconds_of(text) for text in ("10s", "500ms", "1.5", "2m", "1h", "30d", 3)]
    [10.0, 0.5, 1.5, 120.0, 3600.0, 2592000.0, 3]
    """
    if not isinstance(value, str):
        return value
    matched = _DURATION.fullmatch(value)
    if matched is None:
        raise ValueError("a duration is a number of seconds or a text such as 10s, 500ms, 2m or 1h")
    return float(matched[1]) * _UNITS[(matched[2] or "s").lower()]


Seconds = Annotated[
    float,
    BeforeValidator(seconds_of),
    Field(gt=0, allow_inf_nan=False),
    WithJsonSchema(dict(_DURATION_SCHEMA)),
]
"""A duration above 0 as a field's type: seconds as a number, or a text with ``ms``, ``s``, ``m``, ``h`` or ``d``."""

Count = Annotated[int, Field(ge=1)]
"""A whole number from 1 as a field's type."""

CountFromZero = Annotated[int, Field(ge=0)]
"""A whole number from 0 as a field's type."""


def amount_of(value: Any) -> Any:
    """The number that ``50k`` or ``2M`` says; what is no such text is returned as it is, for the type to refuse.

    >>> [amount_of(text) for text in ("50k", "1.5M", "800", 7)]
    [50000, 1500000, '800', 7]
    """
    matched = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        return value
    amount = Decimal(matched[1]) * _FACTORS[matched[2].lower()]
    return int(amount) if amount == int(amount) else value


Amount = Annotated[
    int,
    BeforeValidator(amount_of),
    Field(ge=1),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _AMOUNT.pattern}]}),
]
"""A whole number from 1 as a field's type, which may be written ``50k`` or ``2M``."""
