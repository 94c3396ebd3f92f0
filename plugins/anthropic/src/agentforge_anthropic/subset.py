"""What structured outputs and strict tools of the Messages API take of JSON Schema, as data.

Optional properties may stay optional here, and are the better form: a property that may be null counts among the few
that may have several types.
"""

from __future__ import annotations

from dataclasses import replace

from agentforge.tool.spec import PORTABLE, SubsetLimits

__all__ = ("ANTHROPIC",)

ANTHROPIC = replace(
    PORTABLE,
    name="anthropic",
    allowed=frozenset({"format", "minItems", "pattern"}),
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}),
    no_word_boundaries=True,
    # "Large" ranges are refused and no number is given; one of this size is still a simple one.
    most_repeats=100,
    most_min_items=1,
    optional="stay",
    references="$defs",
    recursion=False,
    const=True,
    type_lists="all",
    empty_objects=True,
    # Over all strict tools of a request, its output format included.
    limits=SubsetLimits(optionals=24, unions=16, tools=20),
)
"""The vendor's page: no recursion, no bounds but ``minItems`` of 0 or 1, simple patterns, ten formats."""
