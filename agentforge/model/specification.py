"""What a tool is to a model: a name, a description and a JSON Schema of its parameters (seed A 3.1.1).

One declaration for every provider; the mapping onto a wire form is each plugin's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeGuard

__all__ = ("Strictness", "ToolParameters", "ToolParametersBuilder", "ToolSpecification", "is_strictness")

Strictness: TypeAlias = bool | Literal["auto", "portable"] | None
"""What a tool says about strict mode; see `ToolSpecification`."""

_EMPTY: Mapping[str, object] = {}
_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


@dataclass(frozen=True, slots=True, eq=False)
class ToolParameters:
    """The parameters' JSON Schema as a plain mapping; equal when the schemas are equal.

    >>> ToolParameters.builder().add_property("city", "string", "name of the city", required=True).build().required
    ('city',)
    """

    schema: Mapping[str, object]

    @staticmethod
    def builder() -> ToolParametersBuilder:
        """A builder for an object schema, property by property."""
        return ToolParametersBuilder()

    @classmethod
    def empty(cls) -> ToolParameters:
        """The schema of a tool without parameters."""
        return cls({"type": "object", "properties": {}, "required": [], "additionalProperties": False})

    @property
    def properties(self) -> Mapping[str, object]:
        """The declared properties by name."""
        found = self.schema.get("properties")
        return found if isinstance(found, Mapping) else _EMPTY

    @property
    def required(self) -> tuple[str, ...]:
        """The names that must be given."""
        found = self.schema.get("required")
        return tuple(str(name) for name in found) if isinstance(found, (list, tuple)) else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolParameters) and self.schema == other.schema

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.properties)))


def is_strictness(value: object) -> TypeGuard[Strictness]:
    """Whether ``value`` is one that ``strict`` of a tool can have."""
    return value is None or isinstance(value, bool) or (isinstance(value, str) and value in ("auto", "portable"))


class ToolParametersBuilder:
    """Builds `ToolParameters`; each method returns the builder."""

    def __init__(self) -> None:
        self._properties: dict[str, object] = {}
        self._required: list[str] = []
        self._closed = True

    def add_property(
        self,
        name: str,
        type: str | Mapping[str, object],
        description: str | None = None,
        required: bool = False,
    ) -> ToolParametersBuilder:
        """Add a property by its JSON type name, or by a whole schema."""
        if isinstance(type, str) and type not in _JSON_TYPES:
            raise ValueError(f"{type!r} is no JSON type; use one of {', '.join(_JSON_TYPES)}, or a whole schema")
        schema: dict[str, object] = {"type": type} if isinstance(type, str) else dict(type)
        if description:
            schema["description"] = description
        self._properties[name] = schema
        if required and name not in self._required:
            self._required.append(name)
        return self

    def allow_additional_properties(self) -> ToolParametersBuilder:
        """Leave the object open: arguments that are not declared are accepted."""
        self._closed = False
        return self

    def build(self) -> ToolParameters:
        """The finished schema."""
        schema: dict[str, object] = {
            "type": "object",
            "properties": dict(self._properties),
            "required": list(self._required),
        }
        schema["additionalProperties"] = not self._closed
        return ToolParameters(schema)


@dataclass(frozen=True, slots=True)
class ToolSpecification:
    """One tool's declaration; hashed by its name.

    ``strict`` asks the provider to hold the model to the schema: true does so; ``auto`` where the schema and the
    endpoint allow it, else the tool is sent as not strict without a word; ``portable`` in the subset that all strict
    modes share, so that the same schema goes to every provider; false does not; ``None`` is the provider's default,
    which our wires send as off. ``metadata`` is for the application and never sent.

    >>> ToolSpecification("find", strict="auto").strict
    'auto'
    """

    name: str
    description: str | None = None
    parameters: ToolParameters = field(default_factory=ToolParameters.empty)
    strict: Strictness = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError("a tool's name must be a text that is not empty")
        if isinstance(self.parameters, Mapping):
            object.__setattr__(self, "parameters", ToolParameters(self.parameters))
        elif not isinstance(self.parameters, ToolParameters):
            raise TypeError(f"the parameters of tool {self.name!r} must be ToolParameters or a JSON Schema mapping")
        if not is_strictness(self.strict):
            raise ValueError(
                f"strict of tool {self.name!r} must be True, False, 'auto', 'portable' or None, not {self.strict!r}"
            )

    def __hash__(self) -> int:
        return hash(self.name)

    def to_json(self) -> dict[str, object]:
        """A JSON object that `from_json` reads back equal."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters.schema),
            "strict": self.strict,
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_json(cls, data: object) -> ToolSpecification:
        """Read what `to_json` wrote; raises ``ValueError`` naming the first field that does not fit."""
        if not isinstance(data, Mapping):
            raise ValueError("a tool specification must be a JSON object")
        unknown = set(data) - {"name", "description", "parameters", "strict", "metadata"}
        if unknown:
            raise ValueError(f"unknown field {min(unknown)!r} in a tool specification")
        name = data.get("name")
        if not isinstance(name, str) or not name:
            raise ValueError("'name' of a tool specification must be a text")
        description, strict = data.get("description"), data.get("strict")
        if description is not None and not isinstance(description, str):
            raise ValueError(f"'description' of tool {name!r} must be a text or null")
        if not is_strictness(strict):
            raise ValueError(f'\'strict\' of tool {name!r} must be true, false, "auto", "portable" or null')
        parameters, metadata = data.get("parameters"), data.get("metadata")
        if parameters is not None and not isinstance(parameters, Mapping):
            raise ValueError(f"'parameters' of tool {name!r} must be a JSON Schema object")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ValueError(f"'metadata' of tool {name!r} must be an object")
        return cls(
            name,
            description,
            ToolParameters(dict(parameters)) if parameters is not None else ToolParameters.empty(),
            strict,
            dict(metadata or {}),
        )
