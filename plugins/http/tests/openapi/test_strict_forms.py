"""The tools of real descriptions and servers in what every provider takes: how many can be strict, and that what is
sent is in the subset, sound, and of a size that somebody would send."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge.tool.spec import SchemaSubset, compile_schema
from agentforge_http.openapi.documents import file_documents
from agentforge_http.openapi.importing import ImportOptions, import_description
from tests.support.provider_subsets import known_subsets
from tests.support.strict_schemas import holds_what_it_promises, is_inside_and_stays, outside

#: Of how many tools, each schema counted as often as it is used, how many can be strict, and how many of those without
#: anything that is not held.
COUNTS = {
    "standard": (854, 753, 664),
    "portable": (854, 722, 565),
    "azure": (854, 746, 572),
    "deepseek": (854, 747, 572),
}

#: As tools of servers are written: root alternatives, what goes together, references between properties, foreign words.
SERVERS: Mapping[str, dict[str, Any]] = {
    "one of several objects": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "description": "Provide exactly one of the variants.",
        "anyOf": [
            {"type": "object", "properties": {"name": {"type": "string"}, "text": {}}, "required": ["name", "text"]},
            {"type": "object", "properties": {"name": {"type": "string"}, "url": {"type": "string", "format": "uri"}}},
        ],
    },
    "one of two keys in a list": {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "query": {"type": "string"}},
                    "anyOf": [{"required": ["id"]}, {"required": ["query"]}],
                },
            }
        },
    },
    "a type beside alternatives": {
        "type": "object",
        "properties": {
            "skill": {
                "type": ["string", "array", "boolean"],
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "boolean"}, {"type": "string"}],
            }
        },
    },
    "a reference to a property": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "from": {"type": "object", "properties": {"x": {"type": "integer", "exclusiveMinimum": 0}}},
            "to": {"$ref": "#/properties/from", "description": "the other end"},
            "mode": {"const": "walk", "default": "walk"},
        },
        "required": ["from"],
        "additionalProperties": False,
    },
    "names of any kind": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "env": {"type": "object", "propertyNames": {"pattern": "^[A-Z]+$"}, "additionalProperties": {}},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}], "minItems": 2, "maxItems": 2},
            "tree": {"$ref": "#/definitions/tree"},
        },
        "definitions": {
            "tree": {
                "type": "object",
                "properties": {
                    "label": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/definitions/tree"}},
                },
            }
        },
    },
    "no schema at all": {},
}


SUBSETS = {name: known.subset for name, known in known_subsets().items()}
BY_SUBSET = pytest.mark.parametrize("subset", SUBSETS.values(), ids=SUBSETS)


@pytest.fixture(scope="module")
def tools(shared: Path) -> list[tuple[dict[str, Any], int]]:
    """The schemas of every operation of every description that is one file, each once, and how many have it."""
    folder = shared / "openapi"
    files = [each for each in sorted(folder.iterdir()) if each.suffix in (".json", ".yaml", ".yml")]
    files = [each for each in files if each.name != "SOURCES.json"]
    files += [folder / "deep-circular" / "deep-circular.yaml", folder / "petstore-separate" / "spec" / "swagger.json"]
    options = ImportOptions(base_url="https://api.example.com", has_auth=True)
    made = [import_description(file_documents(file, max_bytes=4_000_000), options) for file in files]
    schemas = [dict(each.specification.parameters.schema) for imported in made for each in imported.operations]
    texts = Counter(json.dumps(schema, sort_keys=True) for schema in schemas)
    return [(json.loads(text), count) for text, count in texts.items()]


@pytest.mark.parametrize("name", COUNTS)
def test_most_tools_can_be_strict(tools: list[tuple[dict[str, Any], int]], name: str) -> None:
    """What cannot takes any value somewhere, or any properties, or holds itself where that is not allowed."""
    compiled = [(compile_schema(schema, SUBSETS[name]), count) for schema, count in tools]
    strict = [(made, count) for made, count in compiled if not made.problems]
    found = compiled, strict, [(made, count) for made, count in strict if not made.notices]
    assert tuple(sum(count for _, count in each) for each in found) == COUNTS[name]
    known = {"any_value", "open_object", "empty_object", "recursion", "limit", "unsatisfiable"}
    assert {problem.code for made, _ in compiled for problem in made.problems} <= known


@BY_SUBSET
def test_every_tool_has_a_form_for_every_profile(tools: list[tuple[dict[str, Any], int]], subset: SchemaSubset) -> None:
    """Strict where that can be; else wider. What keeps it from that has a place and a reason, it takes little time, and
    it does not grow beyond what the schema is. Of every seventh, as the many of one description are alike."""
    start = time.process_time()
    for schema in [*(schema for schema, _ in tools[:: 7 if len(tools) > 7 else 1]), *SERVERS.values()]:
        strict, plain = compile_schema(schema, subset), compile_schema(schema, subset, strict=False)
        assert strict.problems or outside(strict.schema, subset) == []
        assert all(problem.text for problem in strict.problems)
        assert {problem.code for problem in plain.problems} <= {"name", "limit"}
        assert outside(plain.schema, subset, strict=False) == [] or any(
            problem.code == "limit" for problem in plain.problems
        )
        assert len(json.dumps(plain.schema)) < max(6_000, 4 * len(json.dumps(schema)))
    assert time.process_time() - start < 20


@BY_SUBSET
@pytest.mark.parametrize("schema", SERVERS.values(), ids=SERVERS)
def test_tools_of_servers_are_inside_and_sound(schema: dict[str, Any], subset: SchemaSubset) -> None:
    for strict in (True, False):
        is_inside_and_stays(schema, subset, strict=strict)
        holds_what_it_promises(schema, subset, 1, strict=strict)


@pytest.mark.parametrize("name", ["standard", "portable", "gemini-openapi", "ollama"])
def test_forms_of_real_tools_are_inside_and_sound(tools: list[tuple[dict[str, Any], int]], name: str) -> None:
    """Of every thirteenth, strict and not."""
    looked_at = 0
    for schema, _ in tools[::13]:
        for strict in (True, False):
            is_inside_and_stays(schema, SUBSETS[name], strict=strict)
            looked_at += holds_what_it_promises(schema, SUBSETS[name], 1, strict=strict)
    assert looked_at > 200


def test_messages_that_inherit_from_what_lists_them_are_no_circle(
    tools: list[tuple[dict[str, Any], int]],
) -> None:
    """A kind means what all kinds share, not the list of kinds once more: no circle is left in any description."""
    for schema, _ in tools:
        made = compile_schema(schema)
        assert not {"recursion", "too_large"} & {problem.code for problem in made.problems}
