"""What strict modes of these vendors take of JSON Schema, and what others take of any tool, as data.

They differ more by date than by kind: the first strict mode knew no bounds and small schemas, and its followers kept
that when it grew.
"""

from __future__ import annotations

from dataclasses import replace

from agentforge.tool.spec import PORTABLE, STANDARD, SubsetLimits

__all__ = ("AZURE", "DEEPSEEK", "KIMI", "OLLAMA", "OLLAMA_FORMAT", "OPENAI")

OPENAI = replace(STANDARD, name="openai")
"""The vendor's own page: bounds, patterns, nine formats, references and recursion, 5,000 properties in 10 levels."""

AZURE = replace(
    PORTABLE,
    name="azure",
    references="$defs",
    recursion=True,
    type_lists="all",
    empty_objects=True,
    limits=SubsetLimits(levels=5, properties=100, enum_values=500, characters=15_000, long_enum=(250, 7_500)),
)
"""The limits of the first strict mode, which Azure's page still gives; what it lists as not supported is told."""

DEEPSEEK = replace(
    PORTABLE,
    name="deepseek",
    references="$defs",
    references_in_choices=False,
    recursion=True,
    limits=SubsetLimits(),
)
"""The beta's page in its present form: no bounds, patterns or formats; no limits are given. That references below
``anyOf``, lists of types with objects in them and objects without properties are refused is a report of users."""

KIMI = replace(
    PORTABLE,
    name="mfjs",
    allowed=frozenset({"additionalProperties", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"}),
    optional="stay",
    references="$defs",
    recursion=True,
    type_lists="none",
    enum_types=frozenset({"string", "integer", "number"}),
    empty_objects=True,
    refused_names=frozenset({"$defs", "$ref", "additionalProperties", "anyOf", "required"}),
    limits=SubsetLimits(),
)
"""The vendor's own page of its flavour and its validator (MoonshotAI/walle), which its server holds every tool to: one
type a schema and inside of the branches of ``anyOf``, definitions at the root, enums of texts and numbers, bounds;
patterns, formats and tuples are unknown, and some names of keywords can be no property's."""

OLLAMA = replace(
    PORTABLE,
    name="ollama",
    optional="stay",
    type_lists="all",
    empty_objects=True,
    says_closed=False,
    any_value=True,
    limits=SubsetLimits(),
)
"""What the server keeps of a tool on either of its ways (``api/types.go``): it reads one into a structure with these
few members and drops every other without a word. A ``$ref`` is dropped outside of ``items``, so all are written out."""

OLLAMA_FORMAT = replace(
    PORTABLE,
    name="ollama-format",
    allowed=frozenset({"format", "maxItems", "maxLength", "minItems", "minLength"}),
    formats=frozenset({"date", "date-time", "time", "uuid"}),
    optional="stay",
    const=True,
    type_lists="all",
    empty_objects=True,
    limits=SubsetLimits(),
)
"""What the grammar of an answer there surely holds a model to; references within definitions lead it astray."""
