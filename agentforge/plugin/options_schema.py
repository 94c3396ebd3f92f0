"""The ``bean:`` block as JSON Schema (draft 7)."""

from __future__ import annotations

from typing import Any

from agentforge.plugin.settings_schema import relaxed

__all__ = ("OPTIONS",)

_METHOD = r"^[A-Za-z][A-Za-z0-9_]*$"
_TEXTS: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def _truth(description: str) -> dict[str, Any]:
    return {"description": description, "type": "boolean", "default": False}


def _names(description: str) -> dict[str, Any]:
    return {"description": description, "type": ["array", "null"], "items": {"type": "string"}}


def _condition(description: str) -> dict[str, Any]:
    return {"description": description, **_TEXTS}


OPTIONS: dict[str, Any] = relaxed(
    {
        "description": "What the container does with the bean.",
        "type": ["object", "null"],
        "properties": {
            "scope": {
                "description": "One for all, a new one for each use, or one for each conversation run.",
                "enum": ["singleton", "prototype", "invocation"],
                "default": "singleton",
            },
            "lazy": _truth("Built at its first use, not at the start."),
            "primary": _truth("Taken where several beans fit."),
            "order": {"description": "Lower comes first where all beans of a kind are asked for.", "type": "integer"},
            "depends_on": _names("Beans that must be there before this one."),
            "aliases": _names("Further names."),
            "init": {"description": "A method that is called after it is built.", "type": "string", "pattern": _METHOD},
            "destroy": {
                "description": "A method that is called before it is let go.",
                "type": "string",
                "pattern": _METHOD,
            },
            "extends": {"description": "The bean whose type and settings lie below this one's.", "type": "string"},
            "abstract": _truth("Only there to be extended; never built."),
            "provider": _truth("Its users get a callable that gives the bean."),
            "when": {
                "description": "The conditions under which the bean is there; all of them must hold.",
                "type": ["object", "null"],
                "properties": {
                    "profile": _condition("One of these profiles is active; !NAME: it is not."),
                    "property": _condition("A variable is set, or NAME=VALUE, or PATH=VALUE of this configuration."),
                    "plugin": _condition("A plugin is installed and allowed; !NAME: it is not."),
                    "missing_bean": _condition("No other bean has this name or is of this kind."),
                },
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    }
)
"""The options with their descriptions; each takes a placeholder."""
