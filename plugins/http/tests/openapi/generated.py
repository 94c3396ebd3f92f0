"""Values that fit a schema, for the keywords that descriptions really use."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)


def values_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """A strategy for the values of a schema; ``root`` holds its ``$defs``."""
    if "$ref" in schema:
        return values_of(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth)
    if "anyOf" in schema:
        return st.one_of([values_of(part, root, depth) for part in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([values_of({**schema, "type": each}, root, depth) for each in kind])
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            low = schema.get("minimum", schema.get("exclusiveMinimum", -(2**53) - 1) + 1)
            return st.integers(low, 2**53)
        case "number":
            return st.floats(-1e9, 1e9, allow_nan=False) | st.integers(-(2**53), 2**53)
        case "string":
            return _texts(schema)
        case "array":
            least = schema.get("minItems", 0)
            if depth > 3 and not least:
                return st.just([])
            return st.lists(
                values_of(schema.get("items", {}), root, depth + 1),
                min_size=least,
                max_size=max(3, least),
                unique_by=repr if schema.get("uniqueItems") else None,
            )
        case "object":
            return _objects(schema, root, depth)
    return st.none() | st.booleans() | TEXT


def _texts(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if schema.get("contentEncoding") == "base64":
        return st.binary(max_size=40).map(lambda content: base64.b64encode(content).decode())
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True, alphabet=st.characters(exclude_categories=("Cs", "Cc")))
    if schema.get("format") == "date":
        return st.dates().map(str)
    if schema.get("format") == "uuid":
        return st.uuids().map(str)
    return st.text(
        st.characters(exclude_categories=("Cs", "Cc")),
        min_size=schema.get("minLength", 0),
        max_size=12,
    )


def _objects(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    required = set(schema.get("required", ()))
    made = {name: values_of(inner, root, depth + 1) for name, inner in properties.items()}
    fixed = st.fixed_dictionaries(
        {name: each for name, each in made.items() if name in required},
        optional={name: each for name, each in made.items() if name not in required},
    )
    further = schema.get("additionalProperties")
    if not isinstance(further, Mapping):
        return fixed
    return st.dictionaries(TEXT, values_of(further, root, depth + 1), max_size=2).flatmap(
        lambda more: fixed.map(lambda known: {**more, **known})
    )
