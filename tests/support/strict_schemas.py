"""Compiled schemas, looked at without the compiler: whether one is inside its subset, and what holds of each.

Nothing here uses what it judges: walking, counting and references are written out once more, in the plainest way.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model import ToolParameters, ToolSpecification
from agentforge.tool.execution.schema_validator import SchemaValidator
from agentforge.tool.spec import SchemaNote, SchemaSubset, compile_schema
from agentforge.tool.spec.reshaping import Reshaper
from tests.support.schema_instances import BAD_PATTERNS, FORMATS, GOOD_PATTERNS, instances_of, without_nullable

__all__ = (
    "CALM",
    "holds_what_it_promises",
    "is_inside_and_stays",
    "outside",
    "schemas",
    "takes_what_fits",
)

# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


# -- inside a subset? ----------------------------------------------------------------------------


def outside(schema: Any, subset: SchemaSubset, *, strict: bool = True) -> list[str]:
    """What of a compiled schema is not in the subset."""
    found: list[str] = []
    if schema.get("type") != "object" or "anyOf" in schema:
        found.append("the root is no object")
    definitions = schema.get("$defs", {})
    for node, place, parent in _nodes(schema, "#", ""):
        found.extend(f"{place}: {text}" for text in _faults(node, place, parent, schema, subset, strict))
    used = {node["$ref"] for node, _, _ in _nodes(schema, "#", "") if "$ref" in node}
    for name in definitions:
        if f"#/$defs/{name}" not in used:
            found.append(f"definition {name} is not used")
    limits = subset.limits
    counts = {
        "levels": (_levels(schema, schema, ()), limits.levels),
        "properties": (sum(len(n.get("properties", {})) for n, _, _ in _nodes(schema, "#", "")), limits.properties),
        "enum values": (sum(len(n.get("enum", ())) for n, _, _ in _nodes(schema, "#", "")), limits.enum_values),
        "optional properties": (
            sum(len(set(n.get("properties", {})) - set(n.get("required", ()))) for n, _, _ in _nodes(schema, "#", "")),
            limits.optionals,
        ),
        "unions": (
            sum(
                parent == "properties" and ("anyOf" in n or isinstance(n.get("type"), list))
                for n, _, parent in _nodes(schema, "#", "")
            ),
            limits.unions,
        ),
    }
    found.extend(f"{n} {what}" for what, (n, most) in counts.items() if most is not None and n > most)
    if not subset.recursion and _is_recursive(schema, schema, ()):
        found.append("it is recursive")
    return found


def _nodes(node: Any, place: str, parent: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    assert isinstance(node, dict), (place, node)
    yield node, place, parent
    for key in ("properties", "$defs"):
        for name, inner in node.get(key, {}).items():
            yield from _nodes(inner, f"{place}/{key}/{name}", key)
    for key in ("anyOf", "prefixItems"):
        for index, inner in enumerate(node.get(key, ())):
            yield from _nodes(inner, f"{place}/{key}/{index}", key)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _nodes(node[key], f"{place}/{key}", key)


def _faults(
    node: dict[str, Any], place: str, parent: str, root: Any, subset: SchemaSubset, strict: bool
) -> Iterator[str]:
    known = {"type", "description", "properties", "required", "items", "anyOf", "enum"} | set(subset.allowed)
    known |= {"const"} if subset.const else set()
    known |= {"$ref"} if subset.references == "$defs" else set()
    known |= {"additionalProperties"} if subset.says_closed else set()
    known |= {"nullable"} if subset.null == "nullable" else set()
    known |= {"$defs"} if node is root else set()
    if set(node) - known:
        yield f"has {sorted(set(node) - known)}"
    if "$ref" in node:
        if len(node) > 1:
            yield "a reference is not alone"
        if parent == "anyOf" and not subset.references_in_choices:
            yield "a reference is a branch"
        if node["$ref"] != "#" and node["$ref"].removeprefix("#/$defs/") not in root.get("$defs", {}):
            yield "a reference leads nowhere"
        return
    if not {"type", "anyOf", "enum", "const"} & set(node) and (strict or not subset.any_value):
        yield "says nothing of its type"
    kinds = node.get("type", [])
    refused = {"all": set(), "scalars": {"object", "array"}, "none": set(kinds)}[subset.type_lists]
    if isinstance(kinds, list) and len(kinds) > 1 and refused & set(kinds):
        yield f"has the list of types {kinds}"
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "null" in kinds and subset.null == "nullable" and len(kinds) > 1:
        yield "null is one of several types"
    if "object" in kinds or "properties" in node:
        yield from _object_faults(node, place, subset, strict)
    if "array" in kinds and not node.get("items") and not node.get("prefixItems") and (strict or not subset.any_value):
        yield "a list of anything"
    if "format" in node and subset.formats is not None and node["format"] not in subset.formats:
        yield "unknown format"
    if "pattern" in node and not _is_good_pattern(node["pattern"], subset):
        yield "a refused pattern"
    if subset.most_min_items is not None and node.get("minItems", 0) > subset.most_min_items:
        yield "too high minItems"
    if node.get("enum") == []:
        yield "an enum of nothing"
    for value in node.get("enum", ()):
        kind = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}.get(type(value))
        if kind not in subset.enum_types:
            yield f"a value {value!r} in an enum"


def _object_faults(node: dict[str, Any], place: str, subset: SchemaSubset, strict: bool) -> Iterator[str]:
    if not strict and not {"properties", "required"} & set(node):  # an open one
        return
    if not isinstance(node.get("properties"), dict):
        yield "no properties"
        return
    if set(node["properties"]) & subset.refused_names:
        yield "a property of a refused name"
    says_open = "additionalProperties" in subset.allowed or (not strict and node.get("additionalProperties") is True)
    if subset.says_closed and node.get("additionalProperties") is not False and not says_open:
        yield "not closed"
    if not strict and not node["properties"] and place != "#" and node.get("additionalProperties") is not False:
        yield "no properties, and not closed"
    if strict and subset.optional == "nullable" and node.get("required") != list(node["properties"]):
        yield "not all is required"
    if not set(node.get("required", ())) <= set(node["properties"]):
        yield "what is required is not declared"
    if strict and not node["properties"] and not subset.empty_objects and place != "#":
        yield "no properties inside"


def _is_good_pattern(pattern: str, subset: SchemaSubset) -> bool:
    plain = re.sub(r"\[[^\]]*\]", "", pattern)
    if subset.no_look_around and re.search(r"\(\?<?[=!]", plain):
        return False
    if subset.no_back_references and re.search(r"\\[1-9]", plain):
        return False
    if subset.no_word_boundaries and re.search(r"\\[bB]", plain):
        return False
    most = subset.most_repeats
    return most is None or all(
        int(n) <= most for each in re.findall(r"\{([\d,]*)\}", plain) for n in re.findall(r"\d+", each)
    )


def _levels(node: Any, root: Any, inside: tuple[str, ...]) -> int:
    if "$ref" in node:
        reference = node["$ref"]
        if reference in inside or reference == "#":
            return 0
        return _levels(root["$defs"][reference.removeprefix("#/$defs/")], root, (*inside, reference))
    parts = [*node.get("properties", {}).values(), *node.get("anyOf", ()), *node.get("prefixItems", ())]
    parts += [node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict)]
    return ("properties" in node) + max([0, *(_levels(part, root, inside) for part in parts)])


def _is_recursive(node: Any, root: Any, inside: tuple[str, ...]) -> bool:
    if "$ref" in node:
        reference = node["$ref"]
        if reference in inside or reference == "#":
            return True
        return _is_recursive(root["$defs"][reference.removeprefix("#/$defs/")], root, (*inside, reference))
    parts = [*node.get("properties", {}).values(), *node.get("anyOf", ()), *node.get("prefixItems", ())]
    parts += [node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict)]
    return any(_is_recursive(part, root, inside) for part in parts)


# -- schemas to compile --------------------------------------------------------------------------

_SCALARS = st.one_of(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number", "minimum": -3, "exclusiveMaximum": 10},
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"], "maxLength": 3},
            {"type": ["integer", "string"], "minimum": 2},
            {"type": "string", "minLength": 2, "description": "a text"},
            {"type": "integer", "multipleOf": 2, "default": 4},
            {"enum": ["a", "b"]},
            {"type": "string", "enum": ["a", "b", "c", None]},
            {"type": ["string", "null"], "enum": ["a", None]},
            {"enum": [1, "1", None, True]},
            {"type": ["integer", "string"], "enum": [2.0, "a"]},
            {"const": "k"},
            {"const": 3, "type": "integer"},
            {"type": "string", "not": {"const": "x"}},
            {"title": "T", "type": "integer", "examples": [1], "x-note": [1]},
        ]
    ),
    st.sampled_from(sorted(GOOD_PATTERNS) + sorted(BAD_PATTERNS)).map(lambda p: {"type": "string", "pattern": p}),
    st.sampled_from(sorted(FORMATS)).map(lambda f: {"type": "string", "format": f}),
    st.sampled_from("AB").map(lambda name: {"$ref": f"#/$defs/{name}"}),
    st.sampled_from("AB").map(lambda name: {"$ref": f"#/$defs/{name}", "description": "that one"}),
    st.sampled_from([{"$ref": "#/properties/a"}, {"$ref": "#"}, {}, True, False]),
)
_NAMES = st.sampled_from(["a", "b", "c", "type", "$ref"])


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda properties, needed, more: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in needed],
            **more,
        },
        st.dictionaries(_NAMES, inner, max_size=3),
        st.sets(_NAMES),
        st.sampled_from(
            [
                {},
                {"additionalProperties": False},
                {"unevaluatedProperties": False},
                {"additionalProperties": True},
                {"minProperties": 1},
                {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
                {"dependentRequired": {"a": ["b"]}},
            ]
        ),
    )


def _tagged(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Alternatives that a constant tells apart."""
    tag = st.sampled_from(["cat", "dog", "owl"])
    one = st.builds(
        lambda kind, more: {
            "type": "object",
            "properties": {"kind": {"const": kind}, "more": more},
            "required": ["kind"],
        },
        tag,
        inner,
    )
    return st.lists(one, min_size=1, max_size=3).map(lambda parts: {"oneOf": parts})


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _objects(inner),
        _objects(inner),
        _tagged(inner),
        st.builds(
            lambda item, more: {"type": "array", "items": item, **more},
            inner,
            st.sampled_from([{}, {"minItems": 1}, {"minItems": 2, "maxItems": 3}, {"uniqueItems": True}]),
        ),
        st.builds(
            lambda places, more: {"type": "array", "prefixItems": places, **more},
            some,
            st.sampled_from([{}, {"items": False}, {"items": {"type": "integer"}}, {"minItems": 1, "maxItems": 2}]),
        ),
        some.map(lambda parts: {"anyOf": parts}),
        some.map(lambda parts: {"oneOf": parts}),
        some.map(lambda parts: {"allOf": parts}),
        st.builds(lambda base, parts: {**base, "allOf": parts}, _objects(inner), some),
        st.builds(lambda base, parts: {**base, "anyOf": parts}, _objects(inner), some),
        st.builds(lambda parts, text: {"anyOf": parts, "description": text}, some, st.just("a choice")),
    )


_ANY = st.recursive(_SCALARS, _composed, max_leaves=8)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of parameters: in all dialects' ways, some recursive, some of no strict form."""
    return st.builds(
        lambda root, a, b: {**root, "$defs": {"A": a, "B": b, "unused": {"type": "string"}}},
        _objects(_ANY),
        _ANY,
        _ANY,
    )


# -- what holds of every compiled schema ------------------------------------------------------------


def is_inside_and_stays(schema: dict[str, Any], subset: SchemaSubset, *, strict: bool = True) -> None:
    """Assert that the form is in the subset and its own form, and that the input is not changed. What is not strict is
    inside whatever the problems, but for limits of its size."""
    before = copy.deepcopy(schema)
    made = compile_schema(schema, subset, strict=strict)
    assert schema == before
    if made.problems and (strict or {"limit", "too_large"} & {problem.code for problem in made.problems}):
        return
    assert outside(made.schema, subset, strict=strict) == [], made.schema
    if any("deeper than" in note.text for note in made.notices):  # what stands there is deeper, too
        return
    again = compile_schema(made.schema, subset, strict=strict)
    assert (again.schema, again.problems, again.size) == (made.schema, (), made.size)
    assert again.notices == ()


def holds_what_it_promises(schema: dict[str, Any], subset: SchemaSubset, seed: int, *, strict: bool = True) -> int:
    """Assert that what is valid in the form is valid after the nulls of a strict one were removed, or that the notices
    say which keyword or place it may break; how many instances were looked at."""
    made = compile_schema(schema, subset, strict=strict)
    tool = None if made.problems else _validator(schema)
    if tool is None:
        return 0
    check = jsonschema_rs.validator_for(schema)
    notices = _where_used(made.notices, schema)
    looked_at = 0
    for instance in instances_of(without_nullable(made.schema), random.Random(seed), 6):
        looked_at += 1
        refused = ""
        try:
            tool(instance)
        except ToolArgumentsError as error:
            refused = str(error)
        if "too deep or too many" in refused:  # a schema that costs too much to check, such as one that is only itself
            continue
        given = Reshaper(schema, text_to_number=False, drop_nulls=True).reshape(instance) if strict else instance
        errors = list(check.iter_errors(given))
        unexplained = [str(error) for error in errors if not _is_explained(error, notices)]
        assert not unexplained, (made.schema, instance, given, unexplained, made.notices)
        # What one place of a list is told of, another one may not declare.
        is_wider = any(note.code in ("order", "widened") for note in made.notices)
        assert errors or not refused or is_wider or not strict, (instance, refused)
    return looked_at


def takes_what_fits(schema: dict[str, Any], subset: SchemaSubset, seed: int) -> int:
    """Assert that a form that no model is held to takes what the original takes; how many instances were looked at."""
    made, narrow = compile_schema(schema, subset, strict=False), compile_schema(schema)
    tool = None if narrow.problems else _validator(schema)
    if tool is None or made.problems or any(note.code == "narrowed" for note in made.notices):
        return 0
    check, wide = jsonschema_rs.validator_for(schema), jsonschema_rs.validator_for(without_nullable(made.schema))
    looked_at = 0
    for instance in instances_of(narrow.schema, random.Random(seed), 6):
        given = Reshaper(schema, text_to_number=False, drop_nulls=True).reshape(instance)
        if check.is_valid(given):
            looked_at += 1
            assert wide.is_valid(given), (made.schema, given, [str(error) for error in wide.iter_errors(given)])
    return looked_at


def _validator(schema: dict[str, Any]) -> SchemaValidator | None:
    """The check of a tool's arguments; ``None`` where the schema is a circle of references, which no tool can have."""
    try:
        return SchemaValidator(ToolSpecification("t", parameters=ToolParameters(schema), strict="auto"))
    except ToolDeclarationError:
        return None


def _where_used(notices: tuple[SchemaNote, ...], schema: dict[str, Any]) -> tuple[SchemaNote, ...]:
    """The notices, with those about a place that a reference leads to as about any place."""
    used = [each for each in re.findall(r'"\$ref": "#(/[^"]*)"', json.dumps(schema)) if each]
    return tuple(
        replace(note, path="") if any(note.path.startswith(each) for each in used) else note for note in notices
    )


def _is_explained(error: Any, notices: tuple[SchemaNote, ...]) -> bool:
    """Whether a notice says that the strict form does not hold this."""
    told = " ".join(note.text for note in notices)
    codes = {note.code for note in notices}
    if "order" in codes and any(isinstance(step, int) for step in error.instance_path):
        return True
    keyword = [step for step in error.schema_path if isinstance(step, str)][-1]
    if any(note.code == "widened" and _is_below(error.instance_path, note.path) for note in notices):
        return True
    if keyword in ("anyOf", "oneOf", "unevaluatedProperties"):
        # Which alternative a value was meant for, or what of it did not hold, such an error does not say.
        return bool(notices)
    if keyword == "required":
        return any(words in told for words in ("which properties must be given", "dependent", "what is required"))
    inside = {"propertyNames", "contains", "dependentSchemas", "then", "else"}.intersection(error.schema_path)
    return keyword in told or (keyword == "items" and "maxItems" in told) or any(each in told for each in inside)


def _is_below(place: list[Any], path: str) -> bool:
    """Whether a place of an instance is inside of that which a place of a schema is about."""
    steps, left = path.split("/")[1:], [str(each) for each in place]
    while steps:
        step = steps.pop(0)
        if step in ("properties", "prefixItems"):
            if left[:1] != [steps.pop(0)]:
                return False
            left.pop(0)
        elif step in ("items", "additionalProperties"):
            left = left[1:]
        else:  # an alternative
            steps.pop(0)
    return True
