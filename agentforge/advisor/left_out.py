"""The text of an answer as its own schema has it, where a strict mode made the model say more.

A strict mode makes a model name every field, so that it says ``null`` where it would have left one out. Whoever shows
or stores the text knows the schema that was given, and no ``null`` in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from agentforge.tool.spec.long_numbers import json_text
from agentforge.tool.spec.reshaping import Reshaper

__all__ = ("NullsLeftOut",)


class NullsLeftOut(Reshaper):
    """Leaves nulls out of the text of an answer that fits ``schema``: those of fields that may be left out and cannot
    be null. Nothing else of it changes.

    >>> leave_out = NullsLeftOut({"type": "object", "properties": {"city": {}, "note": {"type": "string"}}})
    >>> leave_out.text('{"city": null, "note": null}', {"city": None, "note": None})
    '{"city": null}'
    """

    __slots__ = ()
    scalars: ClassVar[tuple[type, ...]] = ()

    def __init__(self, schema: Mapping[str, Any]) -> None:
        super().__init__(schema, text_to_number=False, drop_nulls=True)

    def text(self, text: str, value: object, *, key: str | None = None) -> str:
        """The text that stands for ``value``, written anew only where something is left out. With ``key`` the schema is
        that of an object around the value."""
        kept = self.reshape(value) if key is None else self.reshape({key: value})[key]
        return text if kept is value else json_text(kept)
