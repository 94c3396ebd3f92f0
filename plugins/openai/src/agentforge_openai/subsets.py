"""What strict modes of these vendors take of JSON Schema, as data.

They differ more by date than by kind: the first strict mode knew no bounds and small schemas, and its followers kept
that when it grew.
"""

from __future__ import annotations

from dataclasses import replace

from agentforge.tool.spec import PORTABLE, STANDARD, SubsetLimits

__all__ = ("AZURE", "DEEPSEEK", "KIMI", "OPENAI")

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
    optional="stay",
    references="$defs",
    recursion=True,
    type_lists="none",
    enum_types=frozenset({"string", "integer", "number"}),
    empty_objects=True,
    any_value=True,
    limits=SubsetLimits(),
)
"""The vendor's own page of its flavour, which its server holds every tool to: one type a schema and inside of the
branches of ``anyOf``, definitions at the root, enums of texts and numbers; formats, tuples and bounds are unknown."""
