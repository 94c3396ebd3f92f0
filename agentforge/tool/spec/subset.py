"""What providers take of JSON Schema, as data: one `SchemaSubset` for each strict mode and each other place for a
schema, and the two that need no vendor.

Nobody takes all of JSON Schema. Which part differs by provider and changes over time, so it is data that a plugin
brings; `agentforge.tool.spec.compile_schema` reads it and knows no provider.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ("BOUNDS", "PORTABLE", "STANDARD", "UNCHECKED", "SchemaSubset", "SubsetLimits")

BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"})
"""Keywords that bound numbers and the number of items."""
_LENGTHS = frozenset({"minLength", "maxLength"})
_COUNTS = frozenset({"uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains"})

UNCHECKED = frozenset(
    {
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "contains",
        "unevaluatedItems",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    }
)
"""Keywords that no strict mode knows and that few words could tell: they are left out, and checked all the same. Where
one is allowed, its schema is sent as it is, unless there is a reference in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetLimits:
    """How much a strict schema may hold; ``None``: no limit is known.

    ``characters`` counts names of properties and definitions, and values of enums and constants. ``long_enum`` is how
    many values make one enum of texts a long one, and how many characters a long one may have. ``optionals``
    (properties that need not be given) and ``unions`` (properties with ``anyOf`` or several types) count over all
    strict tools of a request, as ``tools`` does.
    """

    levels: int | None = None
    properties: int | None = None
    enum_values: int | None = None
    characters: int | None = None
    long_enum: tuple[int, int] | None = None
    optionals: int | None = None
    unions: int | None = None
    tools: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSubset:
    """The part of JSON Schema that a provider takes in one place: what it holds a model to, or what it reads as advice.

    Types, properties, ``items``, ``anyOf``, ``enum`` and descriptions are in every subset. Of the other keywords that
    constrain a value, those in ``allowed`` are sent, those in ``told`` are said in the description, those in
    ``left_out`` are not sent at all, and any other keeps a schema from being strict. Arguments are always checked
    against the original schema, so that what is told or left out is not held by the provider but still holds.

    A subset is made from one that is near, with what differs. Here an API whose schemas are those of OpenAPI 3.0
    (bounds and patterns, texts in enums, ``nullable``, no references, and a request with any other key is refused):

    >>> from dataclasses import replace
    >>> from agentforge.tool.spec import compile_schema
    >>> house = replace(
    ...     PORTABLE,
    ...     name="house",
    ...     allowed=frozenset({"minimum", "maximum", "minItems", "maxItems", "pattern", "format"}),
    ...     formats=frozenset({"date-time"}),
    ...     enum_types=frozenset({"string"}),
    ...     type_lists="none",
    ...     null="nullable",
    ...     says_closed=False,
    ...     limits=SubsetLimits(),
    ... )
    >>> size = {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]}
    >>> compile_schema({"type": "object", "properties": {"size": size}}, house, strict=False).schema["properties"]
    {'size': {'type': 'integer', 'description': 'exclusiveMinimum: 0', 'nullable': True}}

    The row of that API says ``schemas=house`` for tools that are not strict, and ``subset=house`` where it can hold a
    model to them.
    """

    name: str
    #: Keywords that are sent. With ``additionalProperties`` objects say what else they take, with ``prefixItems`` lists
    #: have places.
    allowed: frozenset[str] = BOUNDS | {"pattern", "format"}
    #: Keywords that are said in the description.
    told: frozenset[str] = _LENGTHS | _COUNTS
    #: Keywords that are left out.
    left_out: frozenset[str] = UNCHECKED
    #: Formats that are known, any other is told; ``None``: all. Counts only where ``format`` is allowed.
    formats: frozenset[str] | None = frozenset()
    #: Parts of regular expressions that are refused; a pattern with one is told.
    no_look_around: bool = True
    no_back_references: bool = True
    no_word_boundaries: bool = False
    #: The highest number that a quantifier of a pattern may have.
    most_repeats: int | None = None
    #: The highest ``minItems``; a higher one is lowered to it and told.
    most_min_items: int | None = None
    #: ``nullable``: all properties are required, optional ones may be null; ``stay``: they may be missing, as in what
    #: is not strict.
    optional: Literal["nullable", "stay"] = "nullable"
    #: ``$defs``: references stay; ``inline``: what they name is written out.
    references: Literal["$defs", "inline"] = "$defs"
    #: Whether a reference may be a branch of ``anyOf``; else it is written out there.
    references_in_choices: bool = True
    #: Whether a schema may hold itself. What is not strict is written out once otherwise, and then takes anything.
    recursion: bool = True
    #: Whether ``const`` is known; else it is an enum of one.
    const: bool = True
    #: The JSON types of values in enums; values of others are told.
    enum_types: frozenset[str] = frozenset({"string", "integer", "number", "boolean", "null"})
    #: Which lists of types there may be: all, without objects and lists, or none; others become ``anyOf``.
    type_lists: Literal["all", "scalars", "none"] = "all"
    #: How a value says that it may be null: among its types, or by ``nullable: true``.
    null: Literal["type", "nullable"] = "type"
    #: Whether objects without properties may be inside. Counts only for what is strict.
    empty_objects: bool = True
    #: Whether objects say ``additionalProperties: false``.
    says_closed: bool = True
    #: Whether a schema may say nothing of a value's type; else it lists all types. Counts only for what is not strict.
    any_value: bool = False
    #: Names that no property may have.
    refused_names: frozenset[str] = frozenset()
    limits: SubsetLimits = field(default_factory=SubsetLimits)


STANDARD = SchemaSubset(
    name="standard",
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    limits=SubsetLimits(levels=10, properties=5000, enum_values=1000, characters=120_000, long_enum=(250, 15_000)),
)
"""What most strict modes take today: bounds, patterns, the common formats, references and recursion."""

PORTABLE = SchemaSubset(
    name="portable",
    allowed=frozenset(),
    told=BOUNDS | _LENGTHS | _COUNTS | {"pattern", "format"},
    references="inline",
    recursion=False,
    const=False,
    type_lists="scalars",
    empty_objects=False,
    limits=SubsetLimits(
        levels=5, properties=100, enum_values=500, characters=15_000, long_enum=(250, 7_500), unions=16, tools=20
    ),
)
"""What every strict mode takes: the shape only, small and flat. A schema in it goes to every provider as it is."""
