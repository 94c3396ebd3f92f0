"""References: inside a document, across files of one folder, across addresses of one host, and nowhere else."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.tool.spec import check_schema
from agentforge_http.openapi import documents as documents_module
from agentforge_http.openapi import importing
from agentforge_http.openapi.documents import Documents, Found, fetched_documents, file_documents, one_document
from agentforge_http.openapi.importing import ImportOptions, import_description
from plugins.http.tests.openapi.support import body, document, imported, one, refusal


def written(folder: Path, files: Mapping[str, Any]) -> Documents:
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return file_documents(folder / next(iter(files)), max_bytes=100_000)


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("#", "whole"),
        ("#/a/b", 1),
        ("#/a~1b/c~0d", 2),
        ("#/a%20b", 3),
        ("#/list/1", "two"),
        ("#/paths/~1x~1%7Bid%7D/get", {"summary": "in a path"}),
        ("#/one", 1),
    ],
)
def test_pointers_lead_where_the_standard_says(reference: str, value: Any) -> None:
    """Escaped, percent-encoded, into lists, into paths, and through references to references."""
    root = {
        "a": {"b": 1},
        "a/b": {"c~d": 2},
        "a b": 3,
        "list": ["one", "two"],
        "paths": {"/x/{id}": {"get": {"summary": "in a path"}}},
        "one": {"$ref": "#/two"},
        "two": {"$ref": "#/a/b"},
    }
    found = one_document(root).find(reference, "document")
    assert isinstance(found, Found)
    assert found.value == (root if value == "whole" else value)


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        ("#/nowhere", "leads nowhere"),
        ("#/list/01", "leads nowhere"),
        ("#/list/-1", "leads nowhere"),
        (f"#/list/{'9' * 5000}", "leads nowhere"),
        ("#anchor", "leads nowhere"),
        ("#/me", "leads back to itself"),
        ("#/you", "leads back to itself"),
        ("other.yaml#/a", "leads nowhere: it was not read"),
    ],
)
def test_what_leads_nowhere_says_so(reference: str, fault: str) -> None:
    """As a text for the report, not as an error."""
    root = {"list": ["x"], "me": {"$ref": "#/me"}, "you": {"$ref": "#/they"}, "they": {"$ref": "#/you"}}
    found = one_document(root).find(reference, "document")
    assert isinstance(found, str) and fault in found and reference[:200] in found


def test_files_refer_to_files_relative_to_themselves(tmp_path: Path) -> None:
    """Path items, parameters and schemas, each with references of its own."""
    documents = written(
        tmp_path,
        {
            "api.json": document({"/x/{id}": {"$ref": "paths/x.yaml"}}),
            "paths/x.yaml": """
parameters: [{$ref: '../parts/parameters.json#/id'}]
put:
  operationId: op
  requestBody: {required: true, content: {application/json: {schema: {$ref: '../parts/thing.yaml'}}}}
""",
            "parts/parameters.json": {
                "id": {"name": "id", "in": "path", "required": True, "schema": {"$ref": "#/key"}},
                "key": {"type": "integer", "minimum": 1},
            },
            "parts/thing.yaml": """
type: object
properties: {inner: {$ref: thing.yaml}, key: {$ref: 'parameters.json#/key'}}
""",
        },
    )
    (operation,) = import_description(documents, ImportOptions(base_url="https://api.example.com")).operations
    assert documents.faults == {}
    assert operation.schema["properties"] == {
        "id": {"type": "integer", "minimum": 1},
        "inner": {"$ref": "#/$defs/thing"},
        "key": {"type": "integer", "minimum": 1},
    }
    assert operation.schema["$defs"]["thing"]["properties"]["inner"] == {"$ref": "#/$defs/thing"}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("../secret.json", "outside the folder of the description"),
        ("/etc/passwd", "outside the folder of the description"),
        ("sub/../../secret.json", "outside the folder of the description"),
        ("..%2Fsecret.json", "outside the folder of the description"),
        ("link.json", "outside the folder of the description"),
        ("https://evil.test/schema.json", "nothing is fetched"),
        ("file:///etc/passwd", "nothing is fetched"),
        ("missing.json", "No such file"),
        ("broken.yaml", "it is not YAML"),
        (".", "Is a directory"),
    ],
)
def test_no_file_outside_the_folder_is_read_and_nothing_is_fetched(tmp_path: Path, target: str, reason: str) -> None:
    """The operation that needs it is left out with the reason; the others stay."""
    (tmp_path / "secret.json").write_text('{"type": "string", "description": "canary"}')
    folder = tmp_path / "api"
    folder.mkdir()
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    schema = {"type": "object", "properties": {"a": {"$ref": target}}}
    paths = {
        "/x": {"post": {"operationId": "bad", "requestBody": {"content": {"application/json": {"schema": schema}}}}},
        "/y": {"get": {"operationId": "good"}},
    }
    documents = written(folder, {"api.json": document(paths), "broken.yaml": "a: ["})
    made = import_description(documents, ImportOptions(base_url="https://api.example.com"))
    assert [each.name for each in made.operations] == ["good"]
    (left,) = made.report.left_out
    assert left.name == "bad" and reason in left.reason
    assert "canary" not in repr(made.report)


async def test_addresses_of_the_same_host_are_fetched_and_no_others() -> None:
    """Relative to the document they stand in; each once."""
    asked: list[str] = []
    answers = {
        "https://api.test/docs/api.json": document({"/x": {"$ref": "x.json"}, "/y": {"$ref": "/y.json#/item"}}),
        "https://api.test/docs/x.json": {
            "get": {"operationId": "x", "parameters": [{"$ref": "x.json#/p"}]},
            "p": {"name": "q", "in": "query", "schema": {"$ref": "https://evil.test/s"}},
        },
        "https://api.test/y.json": {"item": {"get": {"operationId": "y"}}},
    }

    async def fetch(url: str) -> bytes:
        asked.append(url)
        return json.dumps(answers[url]).encode()

    documents = await fetched_documents("https://api.test/docs/api.json", fetch, max_bytes=10_000)
    made = import_description(documents, ImportOptions())
    assert sorted(asked) == sorted(answers)
    assert [(each.name, each.base_url) for each in made.operations] == [("y", "https://api.test")]
    assert "it is on another host than the description, and is not fetched" in made.report.left_out[0].reason


async def test_a_part_that_cannot_be_fetched_is_a_fault_of_what_needs_it() -> None:
    """The rest of the description is imported."""

    async def fetch(url: str) -> bytes:
        if url.endswith("part.json"):
            raise ConfigurationError("the status is 404")
        return json.dumps(document({"/x": {"$ref": "part.json"}, "/y": {"get": {"operationId": "y"}}})).encode()

    documents = await fetched_documents("https://api.test/api.json", fetch, max_bytes=10_000)
    made = import_description(documents, ImportOptions())
    assert [each.name for each in made.operations] == ["y"]
    assert "the status is 404" in made.report.left_out[0].reason


def test_recursive_schemas_are_bundled_once() -> None:
    """A schema that holds itself, by another one, ends in ``$defs``; what is plain stands where it is used."""
    schemas = {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Edge"}}},
        "Edge": {
            "type": "object",
            "properties": {"to": {"$ref": "#/components/schemas/Node"}, "kind": {"$ref": "#/components/schemas/Kind"}},
        },
        "Kind": {"type": "string", "enum": ["a", "b"]},
        "Unused": {"type": "object", "properties": {"x": {"type": "string"}}},
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}
    made = one({"requestBody": {"required": True, "content": content}}, components={"schemas": schemas})
    assert made.schema["properties"] == {"next": {"$ref": "#/$defs/Edge"}}
    assert made.schema["$defs"] == {
        "Edge": {
            "type": "object",
            "properties": {"to": {"$ref": "#/$defs/Node"}, "kind": {"type": "string", "enum": ["a", "b"]}},
        },
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Edge"}}},
    }


def test_definitions_of_one_name_stay_apart() -> None:
    """Two places whose last words are alike."""
    schemas = {
        "a": {"properties": {"x": {"$ref": "#/components/schemas/Item"}}},
        "Item": {"type": "object", "properties": {"n": {"$ref": "#/components/parts/Item"}}},
    }
    parts = {"Item": {"type": "object", "properties": {"m": {"type": "integer"}}}}
    reference = {"schema": {"$ref": "#/components/schemas/Item"}}
    made = one(
        {"requestBody": {"content": {"application/json": {"schema": {"type": "array", "items": reference["schema"]}}}}},
        components={"schemas": schemas, "parts": parts},
    )
    assert sorted(made.schema["$defs"]) == ["Item", "Item_2"]
    assert made.schema["$defs"]["Item"]["properties"]["n"] == {"$ref": "#/$defs/Item_2"}


@pytest.mark.parametrize(
    "operation",
    [
        {"parameters": [{"$ref": "#/components/parameters/gone"}]},
        {"parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/gone"}}]},
        {"requestBody": {"$ref": "#/components/requestBodies/gone"}},
        {"requestBody": {"content": {"application/json": {"schema": {"items": {"$ref": "#/gone"}, "type": "array"}}}}},
    ],
)
def test_an_operation_that_needs_what_is_not_there_is_left_out(operation: dict[str, Any]) -> None:
    """A parameter, a body or a schema, however deep; with the reference in the reason."""
    assert "leads nowhere" in refusal(operation)


def test_a_path_that_leads_nowhere_is_reported() -> None:
    """Its operations are not known."""
    made = imported({"/x": {"$ref": "#/components/pathItems/gone"}, "/y": {"get": {"operationId": "y"}}})
    assert [each.name for each in made.operations] == ["y"]
    assert [(each.place, "leads nowhere" in each.reason) for each in made.report.left_out] == [("* /x", True)]


def chain(length: int, *, circle: bool) -> dict[str, Any]:
    """Schemas of which each refers to the next."""
    schemas: dict[str, Any] = {
        f"S{number}": {"type": "object", "properties": {"next": {"$ref": f"#/components/schemas/S{number + 1}"}}}
        for number in range(length)
    }
    schemas[f"S{length}"] = schemas["S0"] if circle else {"type": "object", "properties": {"end": {"type": "string"}}}
    return schemas


@pytest.mark.parametrize("circle", [False, True])
def test_a_long_chain_of_references_is_no_recursion(circle: bool) -> None:
    """Two thousand schemas, each behind another, are a description like any other."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    schemas = chain(2_000, circle=circle)
    made = one({"requestBody": {"required": True, "content": content}}, components={"schemas": schemas})
    assert len(made.schema["$defs"]) in (1_999, 2_000, 2_001)


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/A", "description": "D"}},
        {
            "A": {"$ref": "#/components/schemas/B", "minLength": 1},
            "B": {"$ref": "#/components/schemas/A", "default": 1},
        },
    ],
)
def test_a_schema_that_is_nothing_but_a_circle_leaves_its_operation_out(schemas: Any) -> None:
    """It says nothing of any value."""
    operation = {"parameters": [{"name": "v", "in": "query", "schema": {"$ref": "#/components/schemas/A"}}]}
    assert "refers to nothing but itself" in refusal(operation, components={"schemas": schemas})


def test_schemas_that_are_too_large_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation alone may be large; what hundreds of them come to is bounded, with what to do in the reason."""
    monkeypatch.setattr(importing, "MAX_PARTS", 2_000)
    monkeypatch.setattr(importing, "MAX_SCHEMA_PARTS", 500)
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    paths = {f"/x{number}": {"post": {"requestBody": {"required": True, "content": content}}} for number in range(20)}
    made = imported(paths, components={"schemas": chain(200, circle=False)})
    assert len(made.operations) == 4  # of 401 parts each
    reasons = {each.reason for each in made.report.left_out}
    assert reasons == {
        "the schemas of all operations have more than 2,000 parts; choose fewer with only, tags or methods"
    }
    alone = {"/x": {"post": {"requestBody": {"content": content}}}}
    made = imported(alone, components={"schemas": chain(600, circle=False)})
    assert [each.reason for each in made.report.left_out] == ["its schema has more than 500 parts"]


def test_the_bounds_are_those_of_the_core() -> None:
    """A schema that is let through here is one that a tool can be made of."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(importing.MAX_SCHEMA_DEPTH - 2):
        deep = {"type": "array", "items": deep}
    parameter = {"name": "v", "in": "query", "schema": deep}
    made = one({"parameters": [parameter]})
    check_schema(made.schema, tool="op")
    parameter["schema"] = {"type": "array", "items": deep}
    assert "nested deeper than 64 levels" in refusal({"parameters": [parameter]})
    wide = {f"p{number}": {"type": "string"} for number in range(importing.MAX_SCHEMA_PARTS - 1)}
    made = one(body({"type": "object", "properties": wide}))
    check_schema(made.schema, tool="op")
    assert "more than 20,000 parts" in refusal(body({"type": "object", "properties": {**wide, "q": {}}}))


def test_a_parameter_that_refers_to_itself_leaves_its_operation_out() -> None:
    """Also where something stands beside the reference."""
    circle = {"p": {"$ref": "#/components/parameters/p", "description": "D"}}
    reason = refusal({"parameters": [{"$ref": "#/components/parameters/p"}]}, components={"parameters": circle})
    assert reason == "a part of it refers to itself"


def test_a_description_has_a_bounded_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond is a fault of what needs it."""
    monkeypatch.setattr(documents_module, "MAX_DOCUMENTS", 2)
    paths = {f"/{name}": {"$ref": f"{name}.json"} for name in "ab"}
    documents = written(tmp_path, {"api.json": document(paths), "a.json": {"get": {}}, "b.json": {"get": {}}})
    made = import_description(documents, ImportOptions(base_url="https://api.example.com"))
    assert len(made.operations) == 1
    assert "the description has more than 2 files" in made.report.left_out[0].reason


@pytest.mark.parametrize("target", ["https://[", "a\0b", "x" * 5_000, "//[/x", "https://h:99999/x"])
async def test_a_reference_that_is_no_name_at_all_leaves_its_operation_out(tmp_path: Path, target: str) -> None:
    """Of a file and of an address."""
    root = document(
        {"/x": {"post": body({"$ref": f"{target}#/a"})}, "/y": {"get": {}}}, servers=[{"url": "https://a.test"}]
    )

    async def fetch(url: str) -> bytes:
        if url == "https://a.test/api.json":
            return json.dumps(root).encode()
        raise ConfigurationError("there is no such document")

    for documents in (written(tmp_path, {"api.json": root}), await fetched_documents("https://a.test/api.json", fetch)):
        made = import_description(documents)
        assert [each.path for each in made.operations] == ["/y"]
        assert "leads nowhere" in made.report.left_out[0].reason


async def test_what_is_fetched_is_bounded_as_a_whole() -> None:
    """And not each of its documents alone, of which there may be two hundred."""
    fetched: list[str] = []

    async def fetch(url: str) -> bytes:
        fetched.append(url)
        targets = [f"part{number}.json" for number in range(50)] if url.endswith("api.json") else []
        return json.dumps({"text": "x" * 4_000, "all": [{"$ref": target} for target in targets]}).encode()

    documents = await fetched_documents("https://a.test/api.json", fetch, max_bytes=20_000)
    assert len(fetched) < 6 and len(documents.values) < 6
    assert "the description has more than 20,000 bytes" in documents.faults.values()


def test_no_part_of_an_address_but_its_path_gets_into_a_schema() -> None:
    """A definition without a name is called as its document, whose query may hold a key."""
    url = "https://a.test/api?key=canary"
    root = {**document({"/x": {"post": body({"properties": {"a": {"$ref": "#"}}})}}), "properties": {"a": {}}}
    made = import_description(one_document(root, url=url))
    assert list(made.operations[0].schema["$defs"]) == ["api"]


SIZE = 10_000
MANY = [
    {"/x": {"post": body({"enum": list(range(SIZE))})}},
    {"/x": {"get": {"parameters": [{"name": f"p {n}", "in": "query"} for n in range(SIZE)]}}},
    {"/x": {"get": {"parameters": [{"name": "!" * (n + 1), "in": "query"} for n in range(1_000)]}}},
    {"/x": {"post": body({"$ref": "#/components/schemas/S0"})}},
]


@pytest.mark.parametrize("number", range(len(MANY)))
def test_nothing_takes_the_square_of_the_time(number: int) -> None:
    """Of choices, of parameters whose names are alike once they are cleaned, and of heirs of heirs."""
    heirs = {f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}], "properties": {}} for n in range(1_500)}
    schemas = {**heirs, "S1500": {"type": "object"}}
    before = time.process_time()
    imported(MANY[number], components={"schemas": schemas} if number == 3 else {})

    assert time.process_time() - before < 30
