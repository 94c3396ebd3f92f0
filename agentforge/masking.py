"""Secrets that must not travel: a small set of values, and a function that masks them in any text.

No registry of the process: whoever holds a secret (a model, a service, an HTTP client) holds a
`Secrets` and masks what leaves it. Values shorter than four characters are not registered, as masking
them would tear ordinary words apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

__all__ = ("MASK", "Secrets")

MASK = "***"
_SHORTEST = 4


class Secrets:
    """A set of secret values; ``mask`` replaces each of them, longest first.

    >>> Secrets(["sk-12345"]).mask("key sk-12345 was refused")
    'key *** was refused'
    """

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Register a value, also as `repr` and JSON write it; empty and very short ones are ignored."""
        if len(value) < _SHORTEST or value in self._values:
            return
        forms = {value}
        if not (value.isascii() and value.isprintable()) or "\\" in value or '"' in value or "'" in value:
            forms |= {repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        self._hold({*self._values, *forms})

    def mask(self, text: str) -> str:
        """The text with every registered value replaced by ``***``."""
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def _hold(self, forms: Iterable[str]) -> None:
        self._values = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def __or__(self, other: Secrets) -> Secrets:
        both = Secrets()
        # Written forms already: `add` would write them a second time.
        both._hold({*self._values, *other._values})
        return both

    def __bool__(self) -> bool:
        return bool(self._values)

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)} masked)"
