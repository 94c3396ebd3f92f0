"""What Ollama takes of JSON Schema, as data: of a tool's parameters, and of the form of an answer.

A server reads a tool into a structure with a few members and drops every other one without a word. The form of an
answer becomes a grammar, which holds far more.
"""

from __future__ import annotations

from dataclasses import replace

from agentforge.tool.spec import PORTABLE, SubsetLimits

__all__ = ("FORMAT", "TOOLS")

TOOLS = replace(
    PORTABLE,
    name="ollama",
    optional="stay",
    type_lists="all",
    empty_objects=True,
    says_closed=False,
    any_value=True,
    limits=SubsetLimits(),
)
"""What is kept of a tool (``api/types.go`` of the server): types, ``anyOf``, ``items``, descriptions, ``enum``,
``properties`` and ``required``. A ``$ref`` is dropped outside of ``items``, so all of them are written out."""

FORMAT = replace(
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
"""What the grammar of an answer surely holds a model to: patterns and bounds of numbers it holds in part only, passing
over the rest, and references within definitions lead it astray."""
