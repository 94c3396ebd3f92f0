"""The base of every bean type's settings, and the value types that settings share.

The one place of the package that loads pydantic; a plugin's settings need nothing of it but what stands here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

__all__ = ("BeanSettings", "Count", "CountFromZero", "Field", "Seconds", "SecretStr", "seconds_of")

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?\s*", re.IGNORECASE)
_UNITS: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class BeanSettings(BaseModel):
    """Settings of a bean type: each field a setting, the text below it its description.

    Frozen; an unknown key is refused; secrets are declared as `SecretStr`, fields that are beans with `Ref`. Raise
    ``ValueError`` in ``model_post_init`` for what must hold between fields.
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


def seconds_of(value: Any) -> Any:
    """The seconds that a duration says; what is no duration is returned as it is, for the type to refuse.

    >>> [seconds_of(text) for text in ("10s", "500ms", "1.5", "2m", "1h", 3)]
    [10.0, 0.5, 1.5, 120.0, 3600.0, 3]
    """
    if not isinstance(value, str):
        return value
    matched = _DURATION.fullmatch(value)
    if matched is None:
        raise ValueError("a duration is a number of seconds or a text such as 10s, 500ms, 2m or 1h")
    return float(matched[1]) * _UNITS[(matched[2] or "s").lower()]


Seconds = Annotated[float, BeforeValidator(seconds_of), Field(gt=0, allow_inf_nan=False)]
"""A duration above 0 as a field's type: seconds as a number, or a text with ``ms``, ``s``, ``m`` or ``h``."""

Count = Annotated[int, Field(ge=1)]
"""A whole number from 1 as a field's type."""

CountFromZero = Annotated[int, Field(ge=0)]
"""A whole number from 0 as a field's type."""
