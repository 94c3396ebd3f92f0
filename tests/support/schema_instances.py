"""Instances of compiled schemas, made without the compiler, and compiled schemas as plain JSON Schema."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

__all__ = ("BAD_PATTERNS", "FORMATS", "GOOD_PATTERNS", "instances_of", "without_nullable")

GOOD_PATTERNS = {"^a+$": "aa", "^[a-c]{1,2}$": "b", "x": "xyz"}
BAD_PATTERNS = {"^(?=a)a": "a", r"^(a)\1$": "aa", r"\bx\b": "x", "^a{2,300}$": "aaa"}
FORMATS = {
    "date": "2026-01-31",
    "uuid": "5f0c6f0e-8a3b-4f0e-9d53-3f2f3a1f6a10",
    "uri": "https://a.example/",
    "iban": "x",
}


def without_nullable(node: Any) -> Any:
    """A compiled schema in which null is a type: ``nullable`` is no word of JSON Schema."""
    if isinstance(node, list):
        return [without_nullable(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {}
    for key, value in node.items():
        named = key in ("properties", "$defs")
        made[key] = {name: without_nullable(each) for name, each in value.items()} if named else without_nullable(value)
    if made.get("nullable") is not True:  # a property may be called so
        return made
    del made["nullable"]
    return {"anyOf": [made, {"type": "null"}]}


def instances_of(schema: Any, dice: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Instances of a compiled schema."""
    check = jsonschema_rs.validator_for(schema)
    for _ in range(count * 4):
        try:
            made = _instance(schema, schema, dice, 0)
        except RecursionError:  # it has none: it must hold itself
            return
        if check.is_valid(made):
            yield made
            count -= 1
        if not count:
            return


def _instance(node: Any, root: Any, dice: random.Random, depth: int) -> Any:
    if depth > 60:
        raise RecursionError
    if "$ref" in node:
        reference = node["$ref"]
        target = root if reference == "#" else root["$defs"][reference.removeprefix("#/$defs/")]
        return _instance(target, root, dice, depth + 1)
    if node.get("nullable") and dice.random() < 0.3 + depth / 6:
        return None
    if "anyOf" in node:
        simple = [part for part in node["anyOf"] if not {"$ref", "properties", "anyOf", "items"} & set(part)]
        return _instance(dice.choice(simple if simple and depth > 4 else node["anyOf"]), root, dice, depth + 1)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return dice.choice(node["enum"])
    kinds = node.get("type", ["string", "integer", "null"])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    kind = "null" if "null" in kinds and depth > 4 else dice.choice(kinds)
    if kind == "object":
        needed, named = node.get("required", ()), node.get("properties", {})
        given = [name for name in named if name in needed or (depth < 4 and dice.random() < 0.6)]
        made = {name: _instance(named[name], root, dice, depth + 1) for name in given}
        rest = node.get("additionalProperties", False)
        if rest is not False and depth < 4 and dice.random() < 0.5:
            made["further"] = (
                dice.choice(["x", 1, None, {}]) if rest is True else _instance(rest, root, dice, depth + 1)
            )
        return made
    if kind == "array":
        least, places = node.get("minItems", 0), node.get("prefixItems", [])
        rest = node.get("items", {})
        most = len(places) if rest is False else 4
        length = dice.randint(least, min(node.get("maxItems", 4), max(least, most if depth < 4 else 0)))
        parts = [places[index] if index < len(places) else rest for index in range(length)]
        return [_instance(part, root, dice, depth + 1) for part in parts if part is not False]
    return _scalar(kind, node, dice)


def _scalar(kind: str, node: Mapping[str, Any], dice: random.Random) -> Any:
    if kind == "string":
        if "pattern" in node:
            known = {**GOOD_PATTERNS, **BAD_PATTERNS}
            return known.get(node["pattern"]) or dice.choice(["0", "12", "0.5", "a", "abc", "A1", "2026-01-31"])
        return FORMATS.get(node.get("format", ""), dice.choice(["", "a", "x", "aa", "xyz", "kind", "text"]))
    if kind == "integer":
        return dice.choice([-4, 0, 1, 2, 3, 4, 6, 12])
    if kind == "number":
        return dice.choice([-4.5, -3, 0, 0.5, 2.0, 9.75, 10, 11])
    return {"boolean": dice.random() < 0.5, "null": None}[kind]
