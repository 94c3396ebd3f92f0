"""Exact coercion by schema: a parsed JSON value is brought into the shape that a JSON Schema asks for, or left alone.

Only what loses nothing is done (``2.0`` to 2, and where allowed ``"2"`` to 2); deciding whether the outcome is valid
is the validator's part. A value that needs no change is returned as the same object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentforge.model.exact_number import whole_number
from agentforge.tool.spec.coercion import number_from_text
from agentforge.tool.spec.fitting import Fitting, KnownFits
from agentforge.tool.spec.walk import resolve_reference

__all__ = ("DECIMAL_PATTERN", "Reshaper")

DECIMAL_PATTERN = "^-?[0-9]+([.][0-9]+)?$"
"""The form of a decimal's text in our schemas, by which a decimal is told from a text."""
_DEPTH = 200
_DECIMAL = frozenset({"string", "decimal"})
_NUMBERS = frozenset({"integer", "number"})


class Reshaper:
    """Reshapes values by ``schema``. ``text_to_number`` reads numbers from texts where only a number will do;
    ``drop_nulls`` leaves out nulls of optional properties that cannot be null."""

    __slots__ = ("_drop_nulls", "_heads", "_root", "_takes_null", "_targets", "_text_to_number", "_types")
    scalars: ClassVar[tuple[type, ...]] = (float, str)

    def __init__(self, schema: Mapping[str, Any], *, text_to_number: bool, drop_nulls: bool) -> None:
        self._root = schema
        self._text_to_number = text_to_number
        self._drop_nulls = drop_nulls
        self._targets: dict[int, Mapping[str, Any] | None] = {}
        self._types: dict[int, frozenset[str]] = {}
        self._takes_null: dict[int, bool] = {}
        self._heads: Any = None

    def reshape(self, value: Any) -> Any:
        """The value in shape; the same object when nothing was to be done."""
        return self._shape(value, self._root, 0, {})

    def _shape(self, value: Any, schema: Any, depth: int, known: KnownFits, *, alone: bool = True) -> Any:
        schema = self.target(schema)
        if schema is None or depth > _DEPTH:
            return value
        branch = None
        alone = alone and not ("properties" in schema or "allOf" in schema)
        if isinstance(value, dict):
            branch = self._branch(value, "object", schema, known, alone)
            value = self._object(value, schema, depth, known)
        elif isinstance(value, list):
            branch = self._branch(value, "array", schema, known, alone)
            value = self._list(value, schema, depth, known)
        elif isinstance(value, self.scalars):
            value = self.number(value, self.types(schema))
        for part in schema.get("allOf", ()):
            value = self._shape(value, part, depth + 1, known, alone=False)
        return value if branch is None else self._shape(value, branch, depth + 1, known, alone=alone)

    def target(self, schema: Any) -> Mapping[str, Any] | None:
        """The schema behind references; what stands beside one (a description) decides nothing here."""
        if type(schema) is dict and "$ref" not in schema:
            return schema
        # Schemas live as long as the root that holds them, and so do their ids.
        key = id(schema)
        if key not in self._targets:
            self._targets[key] = self._find_target(schema)
        return self._targets[key]

    def _find_target(self, schema: Any) -> Mapping[str, Any] | None:
        for _ in range(_DEPTH):
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            schema = resolve_reference(self._root, reference)
        return None

    def is_left_out(self, value: Any, declared: Any) -> bool:
        """Whether ``value``, of an optional property, is a null that says that it was left out."""
        if value is not None or not self._drop_nulls:
            return False
        found = self._takes_null.get(id(declared))
        if found is None:
            if self._heads is None:
                # Imported here: most calls have no null where none can be.
                from agentforge.tool.spec.heads import Heads

                self._heads = Heads(self._root, reads_nullable=False)
            found = self._takes_null[id(declared)] = self._heads.takes_null(declared)
        return not found

    def _object(self, value: dict[str, Any], schema: Mapping[str, Any], depth: int, known: KnownFits) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        rest = schema.get("additionalProperties")
        required = schema.get("required") or ()
        changed: dict[str, Any] | None = None
        for key, inner in value.items():
            declared = properties.get(key, rest)
            if inner is None:
                if key in properties and key not in required and self.is_left_out(inner, declared):
                    changed = dict(value) if changed is None else changed
                    del changed[key]
                continue
            shaped = self._shape(inner, declared, depth + 1, known)
            if shaped is not inner:
                changed = dict(value) if changed is None else changed
                changed[key] = shaped
        return value if changed is None else changed

    def _list(self, value: list[Any], schema: Mapping[str, Any], depth: int, known: KnownFits) -> list[Any]:
        first, rest = self.places(schema)
        shaped = [
            self._shape(inner, first[index] if index < len(first) else rest, depth + 1, known)
            for index, inner in enumerate(value)
        ]
        return shaped if any(new is not old for new, old in zip(shaped, value, strict=True)) else value

    def places(self, schema: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """The schemas of a list's first places, and that of all others; older dialects have both in ``items``."""
        first, rest = schema.get("prefixItems"), schema.get("items")
        if isinstance(rest, (list, tuple)):
            return rest, schema.get("additionalItems")
        return first if isinstance(first, (list, tuple)) else (), rest

    def number(self, value: Any, types: frozenset[str]) -> Any:
        """A number or text as the number that ``types`` ask for, where that is exact; else as it is."""
        if isinstance(value, float):
            whole = "integer" in types and "number" not in types and value.is_integer()
            return whole_number(value) if whole else value
        if self._text_to_number and types & _NUMBERS and "string" not in types:
            found = number_from_text(value, integer="number" not in types)
            return value if found is None else found
        return value

    def types(self, schema: Any) -> frozenset[str]:
        """The JSON types a schema takes, over references and alternatives, and ``decimal`` for a decimal's text; empty
        when it does not say."""
        found = self._types.get(id(schema))
        if found is None:
            found = self._types[id(schema)] = self._find_types(schema, 0)
        return found

    def _find_types(self, schema: Any, depth: int) -> frozenset[str]:
        schema = self.target(schema)
        if schema is None or depth > _DEPTH:
            return frozenset()
        kind = schema.get("type")
        if isinstance(kind, str):
            return _DECIMAL if schema.get("pattern") == DECIMAL_PATTERN else frozenset((kind,))
        if isinstance(kind, (list, tuple)):
            return frozenset(each for each in kind if isinstance(each, str))
        found: frozenset[str] = frozenset()
        for part in _alternatives(schema):
            types = self._find_types(part, depth + 1)
            if not types:
                return frozenset()
            found |= types
        return found

    def _branch(self, value: Any, kind: str, schema: Mapping[str, Any], known: KnownFits, alone: bool) -> Any:
        """The alternative that an object or a list is shaped by: the only one of its type, else the first that it
        fits; ``None`` where it fits one as it is, or none at all. ``alone``: nothing beside it declares keys."""
        if "anyOf" not in schema and "oneOf" not in schema:
            return None
        # A part that does not say its type, such as one of allOf, may be of any.
        parts = [(part, self.types(part)) for part in _alternatives(schema)]
        possible = [part for part, types in parts if not types or kind in types]
        if len(possible) < 2:
            return possible[0] if possible else None
        fitting = Fitting(self, known)
        possible = [part for part in possible if fitting.fits(value, part, reshaped=True, alone=alone)]
        if any(fitting.fits(value, part, reshaped=False, alone=alone) for part in possible):
            return None
        return possible[0] if possible else None


def _alternatives(schema: Mapping[str, Any]) -> list[Any]:
    """Those that a value can be; no value is what ``False`` describes."""
    return [part for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if part is not False]
