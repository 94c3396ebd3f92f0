"""Which words a schema of ``parameters`` may have: a misspelt one is checked by nobody, and the model sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentforge_http.settings_findings import near_miss

__all__ = ("OUR_WORDS", "unknown_words")

OUR_WORDS = ("in", "wire_name", "style", "explode", "allow_reserved", "content_type")
"""Words of an entry of ``parameters`` that are none of its schema."""
_SCHEMA = "additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems"
_SCHEMAS = frozenset((*_SCHEMA.split(), "unevaluatedProperties"))
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_MAPS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
_OTHER = """
    $anchor $comment $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary const contentEncoding contentMediaType
    default dependencies dependentRequired deprecated description enum examples exclusiveMaximum exclusiveMinimum format
    maxContains maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf
    pattern readOnly required title type uniqueItems writeOnly
"""
_KEYWORDS = frozenset((*_SCHEMAS, *_LISTS, *_MAPS, *_OTHER.split()))  # of JSON Schema 2020-12


def unknown_words(schema: Mapping[str, Any], path: str, *, ours: bool) -> Iterator[tuple[str, str, str]]:
    """Each word, at any depth, that is no keyword of JSON Schema 2020-12 and does not begin with ``x-``; with its path
    and what to do. ``ours``: whether the outermost schema may have `OUR_WORDS`.

    >>> list(unknown_words({"type": "string", "requird": True}, "parameters.c", ours=True))
    [('requird', 'parameters.c.requird', "Did you mean 'required'?")]
    """
    for key, value in schema.items():
        word = str(key)
        if word.startswith("x-") or (ours and word in OUR_WORDS):
            continue
        here = f"{path}.{word}"
        if word not in _KEYWORDS:
            near = near_miss(word, (*_KEYWORDS, *(OUR_WORDS if ours else ())))
            step = f"Did you mean {near!r}?" if near else "Leave it out, or call it x-… if it is for somebody else."
            if not ours and word in OUR_WORDS:
                step = "It holds for a whole argument: write it beside the type of that."
            yield word, here, step
        elif word in _SCHEMAS and isinstance(value, Mapping):
            yield from unknown_words(value, here, ours=False)
        elif word in _LISTS and isinstance(value, list):
            for number, each in enumerate(value):
                if isinstance(each, Mapping):
                    yield from unknown_words(each, f"{here}.{number}", ours=False)
        elif word in _MAPS and isinstance(value, Mapping):
            for name, each in value.items():
                if isinstance(each, Mapping):
                    yield from unknown_words(each, f"{here}.{name}", ours=False)
