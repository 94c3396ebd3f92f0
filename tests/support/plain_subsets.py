"""Subsets such as endpoints have for tools that are not strict, each with another set of ways."""

from __future__ import annotations

from dataclasses import replace

from agentforge.tool.spec import PORTABLE, STANDARD, SubsetLimits
from agentforge.tool.spec.subset import UNCHECKED

__all__ = ("DEFINED", "FEW_WORDS", "NESTED", "PLAIN_SUBSETS", "WRITTEN_OUT")

FEW_WORDS = replace(
    PORTABLE,
    name="few words",
    allowed=frozenset({"minimum", "maximum", "minItems", "maxItems", "pattern", "format"}),
    formats=frozenset({"date-time"}),
    enum_types=frozenset({"string"}),
    type_lists="none",
    null="nullable",
    says_closed=False,
    limits=SubsetLimits(),
)
"""As OpenAPI's schemas were: null is a keyword, enums are texts, and no object says whether it is open."""

NESTED = replace(PORTABLE, name="nested", type_lists="all", says_closed=False, any_value=True, limits=SubsetLimits())
"""No more than types, without references; what has no type may be anything."""

DEFINED = replace(
    PORTABLE,
    name="defined",
    allowed=frozenset({"minimum", "maximum", "minLength", "maxLength", "additionalProperties"}),
    references="$defs",
    recursion=True,
    type_lists="none",
    enum_types=frozenset({"string", "integer", "number"}),
    refused_names=frozenset({"required"}),
    limits=SubsetLimits(),
)
"""Definitions at the root, one type a schema, objects that say what else they take."""

WRITTEN_OUT = replace(
    STANDARD,
    name="written out",
    allowed=STANDARD.allowed | STANDARD.told | UNCHECKED | {"prefixItems", "additionalProperties"},
    told=frozenset(),
    formats=None,
    references="inline",
    any_value=True,
    limits=SubsetLimits(),
)
"""All keywords, but no references."""

PLAIN_SUBSETS = (FEW_WORDS, NESTED, DEFINED, WRITTEN_OUT)
