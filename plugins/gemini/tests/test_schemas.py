"""What Gemini gets of a tool's schema: JSON Schema with what counts there, or the older schemas of the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ToolParameters, ToolSpecification
from agentforge.tool.spec import SchemaSubset, compile_schema
from agentforge_gemini.subset import JSON_SCHEMA, OPEN_API
from agentforge_http.openapi.documents import file_documents
from agentforge_http.openapi.importing import ImportOptions, import_description
from plugins.gemini.tests.support import body_of, notice_codes
from tests.support.strict_schemas import CALM, holds_what_it_promises, is_inside_and_stays, schemas, takes_what_fits

NEW, OLD = "gemini-3.5-flash", "gemini-2.0-flash"
STRING, INTEGER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))
NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}

#: A schema, what the newer models get of it, and what the older ones.
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "bounds": ({"type": "integer", "minimum": 1, "maximum": 9},) * 3,
    "bounds that exclude": (
        {"type": "integer", "exclusiveMinimum": 1},
        {"type": "integer", "description": "exclusiveMinimum: 1"},
        {"type": "integer", "description": "exclusiveMinimum: 1"},
    ),
    "a multiple": (
        {"type": "integer", "multipleOf": 2, "description": "pairs"},
        {"type": "integer", "description": "pairs (multipleOf: 2)"},
        {"type": "integer", "description": "pairs (multipleOf: 2)"},
    ),
    "a length": (
        {"type": "string", "maxLength": 3},
        {"type": "string", "description": "maxLength: 3"},
        {"type": "string", "maxLength": 3},
    ),
    "a pattern": (
        {"type": "string", "pattern": "^a"},
        {"type": "string", "description": "pattern: ^a"},
        {"type": "string", "pattern": "^a"},
    ),
    "a constant": ({"const": "x"}, {"type": "string", "enum": ["x"]}, {"type": "string", "enum": ["x"]}),
    "a constant number": (
        {"const": 3},
        {"type": "integer", "enum": [3]},
        {"type": "integer", "description": "one of: 3"},
    ),
    "one of several": ({"oneOf": [STRING, INTEGER]}, *({"anyOf": [STRING, INTEGER]},) * 2),
    "all of several": (
        {"allOf": [STRING, {"description": "a name"}]},
        *({"type": "string", "description": "a name"},) * 2,
    ),
    "null among types": (
        {"type": ["string", "null"]},
        {"type": ["string", "null"]},
        {"type": "string", "nullable": True},
    ),
    "null among alternatives": (
        {"anyOf": [STRING, NULL]},
        {"anyOf": [STRING, NULL]},
        {"type": "string", "nullable": True},
    ),
    "several types": ({"type": ["string", "integer"]}, {"type": ["string", "integer"]}, {"anyOf": [STRING, INTEGER]}),
    "a reference": (
        {"$ref": "#/$defs/name", "description": "whose"},
        {"anyOf": [{"$ref": "#/$defs/name"}], "description": "whose"},
        {"type": "string", "description": "whose\na name"},
    ),
    "a mapping": (
        {"type": "object", "additionalProperties": STRING},
        {"type": "object", "additionalProperties": STRING},
        {"type": "object", "description": "keys of any name, each of type string"},
    ),
    "fixed places": (
        {"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
        {"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
        {
            "type": "array",
            "description": "In this order: string, integer",
            "items": {"anyOf": [STRING, INTEGER]},
            "maxItems": 2,
        },
    ),
    "different items": (
        {"type": "array", "items": STRING, "uniqueItems": True},
        *({"type": "array", "items": STRING, "description": "uniqueItems: true"},) * 2,
    ),
    "a format": ({"type": "string", "format": "date-time"},) * 3,
    "another format": ({"type": "string", "format": "uri"}, *({"type": "string", "description": "format: uri"},) * 2),
    "a default": ({"type": "integer", "default": 3}, *({"type": "integer", "description": "default: 3"},) * 2),
    "examples and titles": ({"type": "string", "examples": ["a"], "title": "A"}, STRING, STRING),
}


def sent(schema: dict[str, Any], model: str, strict: bool | None = None) -> dict[str, Any]:
    """The whole schema that goes out."""
    tool = ToolSpecification("t", "a tool", ToolParameters(schema), strict=strict)
    [declared] = body_of("q", ChatRequestParameters(tools=[tool]), model=model)["tools"][0]["functionDeclarations"]
    found: dict[str, Any] = declared["parametersJsonSchema" if model == NEW else "parameters"]
    return found


def root(**properties: Any) -> dict[str, Any]:
    definitions = {"name": {"type": "string", "description": "a name"}, "node": NODE}
    return {"type": "object", "properties": properties, "required": list(properties), "$defs": definitions}


@pytest.mark.parametrize(("schema", "new", "old"), FORMS.values(), ids=FORMS)
def test_a_schema_and_its_two_forms(schema: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> None:
    """A limit without a keyword is told in the description, where the model reads it; no key goes out that fails the
    request."""
    for model, expected in ((NEW, new), (OLD, old)):
        made = sent(root(a=schema), model)
        assert made["properties"]["a"] == expected, model
        assert made["required"] == ["a"]
        assert ("additionalProperties" in made) is (model == NEW)


def test_strict_tools_have_the_same_form() -> None:
    """The mode that holds calls to schemas takes them as they are."""
    schema = root(a={"const": "x"}, b={"type": ["integer", "null"]})
    assert sent(schema, NEW, strict=True) == sent(schema, NEW)


def test_a_schema_that_holds_itself() -> None:
    """The newer models take it, the older ones get as much as can be written out."""
    new = sent(root(a={"$ref": "#/$defs/node"}), NEW)
    assert new["$defs"]["node"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/node"}
    old = sent(root(a={"$ref": "#/$defs/node"}), OLD)
    assert "$ref" not in json.dumps(old) and old["properties"]["a"]["properties"]["kids"]["type"] == "array"


def test_a_schema_without_any_form_is_refused_with_tool_and_reason() -> None:
    """Or sent without the broken part where the policy says so, with a notice."""
    tool = ToolSpecification("lost", "a tool", ToolParameters(root(a={"$ref": "#/$defs/nowhere"})))
    parameters = ChatRequestParameters(tools=[tool])
    for model in (NEW, OLD):
        with pytest.raises(UnsupportedFeatureError, match=r"tool 'lost'.*nowhere"):
            body_of("q", parameters, model=model)
        overrides = {"unsupported": {"tool_schema": "drop"}}
        assert notice_codes("q", parameters, model=model, profile_overrides=overrides) == ["schema_simplified"]


@settings(CALM, max_examples=15)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_has_a_form_that_takes_what_fits(schema: dict[str, Any], seed: int) -> None:
    """In both subsets; the strict forms are inside, and what the older one takes fits the original or is told."""
    for subset in (JSON_SCHEMA, OPEN_API):
        is_inside_and_stays(schema, subset)
        takes_what_fits(schema, subset, seed)
    is_inside_and_stays(schema, OPEN_API, strict=False)
    holds_what_it_promises(schema, OPEN_API, seed)


@pytest.fixture(scope="module")
def tools(shared: Path) -> list[ToolSpecification]:
    """Every operation of every description that is one file."""
    folder = shared / "openapi"
    files = [each for each in sorted(folder.iterdir()) if each.suffix in (".json", ".yaml", ".yml")]
    files = [each for each in files if each.name != "SOURCES.json"]
    files += [folder / "deep-circular" / "deep-circular.yaml", folder / "petstore-separate" / "spec" / "swagger.json"]
    options = ImportOptions(base_url="https://api.example.com", has_auth=True)
    made = [import_description(file_documents(file, max_bytes=4_000_000), options) for file in files]
    return [operation.specification for imported in made for operation in imported.operations]


@pytest.mark.parametrize("subset", [JSON_SCHEMA, OPEN_API], ids=lambda subset: subset.name)
def test_the_tools_of_real_descriptions_compile(tools: list[ToolSpecification], subset: SchemaSubset) -> None:
    """All but those two for which no value fits, where that is found; every other in the newer form, every fourth in
    the older one, whose every key the official types name."""
    assert len(tools) == 854
    some = tools[::2] if subset is JSON_SCHEMA else tools[::4]
    refused: dict[str, str] = {}
    for tool in some:
        made = compile_schema(tool.parameters.schema, subset, strict=False)
        if made.problems:
            refused[tool.name] = str(made.problems[0])
        elif subset is OPEN_API:
            from google.genai.types import Schema

            Schema.model_validate(made.schema)
    assert refused.keys() <= {"quirks_entirelyIncompatibleAllOf", "quirks_partiallyUsableIncompatibleAllOf"}
    assert all("no value fits" in reason for reason in refused.values())
