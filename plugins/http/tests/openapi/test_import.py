"""Which operations of a description become tools, under which names, and what the report says of the others."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.tool.execution import bound_tool_from
from agentforge_http.openapi.description import described
from agentforge_http.openapi.documents import one_document
from agentforge_http.openapi.importing import Imported, import_description
from plugins.http.tests.openapi.support import BASE, document, imported, one

PATHS: Any = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets", "read"]},
        "post": {"operationId": "addPet", "tags": ["pets"], "callbacks": {"onDone": {}}},
    },
    "/pets/{id}": {"delete": {"operationId": "delete pet", "tags": ["pets"]}, "head": {}},
    "/shops": {"options": {"operationId": "shopOptions", "tags": ["shops"]}, "trace": {"operationId": "trace"}},
    "x-more": {"get": {}},
}


def names(**options: Any) -> list[str]:
    return [each.name for each in imported(PATHS, options=options).operations]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["listPets", "addPet", "delete_pet", "head_pets_id", "shopOptions"]),
        ({"only": ("listPets", "delete_pet")}, ["listPets", "delete_pet"]),
        ({"only": ("delete pet",)}, ["delete_pet"]),
        ({"only": ("*Pet*",), "without": ("add*",)}, ["listPets"]),
        ({"only": ("head /pets/{id}",)}, ["head_pets_id"]),
        ({"tags": ("shops", "read")}, ["listPets", "shopOptions"]),
        ({"methods": ("GET", "DELETE")}, ["listPets", "delete_pet"]),
        ({"methods": ("GET",), "tags": ("shops",)}, []),
        ({"only": ("addPet",), "rename": {"addPet": "add"}, "prefix": "shop_"}, ["shop_add"]),
        ({"only": ("delete_pet",), "rename": {"delete pet": "remove"}}, ["remove"]),
    ],
)
def test_operations_are_chosen_by_names_tags_and_methods(options: Any, expected: list[str]) -> None:
    """By their own names or those of their tools, before they are renamed; all conditions hold together."""
    assert names(**options) == expected


def test_what_is_not_chosen_is_in_the_report_with_the_reason() -> None:
    """Apart from what cannot be imported."""
    report = imported(PATHS, options={"only": ("*Pet*",), "without": ("addPet",)}).report
    assert {each.place: each.reason for each in report.left_out} == {
        "POST /pets": "except names it",
        "DELETE /pets/{id}": "only does not name it",
        "HEAD /pets/{id}": "only does not name it",
        "OPTIONS /shops": "only does not name it",
        "TRACE /shops": "only does not name it",
    }
    assert all(each.is_unwanted for each in report.left_out)


def test_the_effect_comes_from_the_method_and_from_the_settings() -> None:
    """A later pattern goes before an earlier one."""
    made = imported(PATHS).operations
    assert {each.method: each.effect for each in made} == {
        "GET": "read",
        "HEAD": "read",
        "OPTIONS": "read",
        "POST": "write",
        "DELETE": "write",
    }
    effects = {"*Pet*": "write", "listPets": "read", "delete pet": "read"}
    changed = {each.name: each.effect for each in imported(PATHS, options={"effects": effects}).operations}
    assert (changed["listPets"], changed["addPet"], changed["delete_pet"]) == ("read", "write", "read")


def test_names_that_are_alike_stay_apart() -> None:
    """Two of one operationId, which is against the rules, and two that clean up alike."""
    made = imported(
        {
            "/a": {"get": {"operationId": "same"}, "post": {"operationId": "same"}},
            "/b": {"get": {"operationId": "get.item"}, "put": {"operationId": "get/item"}},
            "/c/{d}": {"get": {}},
            "/c/d": {"get": {}},
            "/e": {"get": {"operationId": "  "}, "put": {"operationId": 5}},
        }
    ).operations
    assert [each.own_name for each in made] == [
        "same",
        "same post /a",
        "get.item",
        "get/item",
        "get /c/{d}",
        "get /c/d",
        "get /e",
        "put /e",
    ]
    assert [each.name for each in made][:2] == ["same", "same_post_a"]
    assert len({each.name for each in made}) == len(made)


def test_names_do_not_depend_on_what_is_chosen() -> None:
    """So that a policy which names a tool goes on to mean it."""
    paths = {"/b": {"get": {"operationId": "get.item"}, "put": {"operationId": "get/item"}}}
    all_names = [each.name for each in imported(paths).operations]
    assert [each.name for each in imported(paths, options={"only": ("get/item",)}).operations] == all_names[1:]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"summary": "S", "description": "D"}, "S\n\nD"),
        ({"summary": "Get it.", "description": "Get it. All."}, "Get it. All."),
        ({"summary": "S"}, "S"),
        ({}, "POST /x"),
        ({"summary": 5, "description": []}, "POST /x"),
        ({"summary": "S", "deprecated": True}, "Deprecated. S"),
    ],
)
def test_descriptions_come_from_summary_and_description(operation: Any, expected: str) -> None:
    """A tool is never without one."""
    assert one(operation).description == expected
    assert one(operation, options={"describe": {"op": "Ours."}}).description == "Ours."


SCHEMES: Any = {
    "components": {
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "bearer": {"type": "http", "scheme": "Bearer"},
            "oauth": {"type": "oauth2", "flows": {"clientCredentials": {}, "implicit": {}}},
            "tls": {"type": "mutualTLS"},
        }
    }
}


@pytest.mark.parametrize(
    ("security", "root", "expected", "told"),
    [
        (None, None, None, ()),
        (None, [{"key": []}], (frozenset({"key"}),), ("key",)),
        ([], [{"key": []}], (), ()),
        ([{}], [{"key": []}], (frozenset(),), ("none",)),
        (
            [{"key": [], "bearer": []}, {"oauth": ["a"]}],
            None,
            (frozenset({"key", "bearer"}), frozenset({"oauth"})),
            ("bearer + key", "oauth"),
        ),
        ("no", None, None, ()),
    ],
)
def test_each_operation_says_what_it_asks_for(security: Any, root: Any, expected: Any, told: Any) -> None:
    """Its own words go before those of the description; an empty list switches credentials off."""
    operation = {"operationId": "op", **({} if security is None else {"security": security})}
    more = {**SCHEMES, **({} if root is None else {"security": root})}
    made = imported({"/x": {"get": operation}}, **more)
    assert made.operations[0].security == expected
    assert made.report.operations[0].security == told
    assert made.report.schemes == {
        "key": "API key in header 'X-Key'",
        "bearer": "http bearer",
        "oauth": "oauth2 clientCredentials, implicit",
        "tls": "mutualTLS",
    }


def test_operations_that_ask_for_credentials_that_nobody_gives_are_noted() -> None:
    """Those for which they are optional are not."""
    paths: Any = {"/x": {"get": {"security": [{"key": []}]}, "put": {"security": [{}, {"key": []}]}, "post": {}}}
    note = "1 operation asks for credentials (key), and auth gives none"
    assert imported(paths, **SCHEMES).report.notes == (note,)
    assert imported(paths, options={"has_auth": True}, **SCHEMES).report.notes == ()
    assert imported(paths, options={"auth_schemes": frozenset({"key"})}, **SCHEMES).report.notes == ()
    assert imported(paths, options={"auth_schemes": frozenset({"tls"})}, **SCHEMES).report.notes == (note,)


@pytest.mark.parametrize(
    ("responses", "accept"),
    [
        ({"200": {"content": {"application/xml": {}, "application/json": {}}}}, "application/json, */*;q=0.5"),
        ({"200": {"content": {"text/csv": {}}}, "404": {"content": {"application/json": {}}}}, "text/csv, */*;q=0.5"),
        ({"2XX": {"$ref": "#/components/responses/ok"}}, "application/json, */*;q=0.5"),
        ({"204": {}}, "*/*"),
        ({"200": {"content": {"a\r\nb: c": {}}}}, "*/*"),
        (None, "*/*"),
    ],
)
def test_what_is_accepted_is_what_good_answers_have(responses: Any, accept: str) -> None:
    """JSON first, as some servers take the first that they can do."""
    components: Any = {"responses": {"ok": {"content": {"application/json": {}}}}}
    assert one({"responses": responses}, components=components).accept == accept


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], "it holds no mapping"),
        ({}, "it says neither openapi nor swagger with a version"),
        ({"openapi": "4.0.0", "paths": {}}, "its version '4.0.0' is not known"),
        ({"openapi": "2.0", "paths": {}}, "its version '2.0' is not known"),
        ({"swagger": "1.2", "paths": {}}, "its version '1.2' is not known"),
        ({"swaggerVersion": "1.2", "apis": []}, "Swagger 1.2 is too old"),
        ({"openapi": "three"}, "neither openapi nor swagger with a version"),
        ({"openapi": "3.0.0"}, "it has no paths"),
        ({"openapi": "3.1.0", "paths": []}, "it has no paths"),
    ],
)
def test_a_document_that_is_no_description_is_refused(value: Any, fault: str) -> None:
    """With what it would have to be."""
    with pytest.raises(ConfigurationError, match="no description of an API") as caught:
        import_description(one_document(value))
    assert fault in caught.value.message and "OpenAPI 3.0 or 3.1" in str(caught.value.next_step)


@pytest.mark.parametrize("version", ["3.0.0", "3.0.4", "3.1.0", "3.1.2", "3.2.0", "2.0"])
def test_versions_are_told(version: str) -> None:
    """A newer one is read as 3.1, and a note says so."""
    report = imported({"/x": {"get": {}}}, version=version).report
    assert report.format == f"{'Swagger' if version == '2.0' else 'OpenAPI'} {version}"
    assert (report.title, report.version) == ("Shop", "3")
    told = ("version 3.2.0 is read as 3.1; what only newer versions have is left out",)
    assert report.notes == (told if version == "3.2.0" else ())


def test_a_version_that_yaml_reads_as_a_number_is_understood() -> None:
    """``swagger: 2.0`` without quotes, and ``openapi: 3.1``."""
    for told in ({"swagger": 2.0}, {"openapi": 3.1}):
        assert described(one_document({**told, "paths": {}})).title == "document"


def test_methods_of_newer_versions_are_left_out_with_a_reason() -> None:
    """QUERY, and those that a description makes up."""
    item = {"get": {}, "query": {"operationId": "q", "responses": {}}, "additionalOperations": {"COPY": {}}}
    left = {each.place: each.reason for each in imported({"/x": item}, version="3.2.0").report.left_out}
    assert left == {
        "QUERY /x": "the method QUERY is not sent",
        "COPY /x": "methods of its own kind are not sent",
    }


def test_what_is_no_operation_is_left_out() -> None:
    """Paths without a slash, operations that are none, webhooks and callbacks."""
    made = imported(
        {
            "x": {"get": {}},
            "/a/../b": {"get": {}},
            "/a/%2e%2E/b": {"get": {}},
            "/y": {"get": "no", "put": {"callbacks": {"c": {}}}},
            "/z": "no",
        },
        webhooks={"w": {}},
    )
    assert [(each.kind, each.place, each.reason) for each in made.report.left_out] == [
        ("operation", "GET x", "its path 'x' does not begin with a slash"),
        ("operation", "GET /a/../b", "its path '/a/../b' leads to another one"),
        ("operation", "GET /a/%2e%2E/b", "its path '/a/%2e%2E/b' leads to another one"),
        ("operation", "GET /y", "it is no object"),
        ("callback", "PUT /y: c", "it is a call to us, not by us"),
        ("webhook", "w", "it is a call to us, not by us"),
    ]


def test_the_report_stays_in_its_lines() -> None:
    """What a stranger wrote can neither add a line to a log nor steer a terminal."""
    evil = "a\r\n\x1b[2Jb"
    made = imported(
        {
            f"/{evil}": {
                "get": {"operationId": evil, "callbacks": {evil: {}}, "security": [{evil: []}]},
                "put": {"requestBody": {"content": {evil: {}}}},
            }
        },
        webhooks={evil: {}},
        components={"securitySchemes": {evil: {"type": evil}}},
        info={"title": evil, "version": evil},
    )
    told = json.dumps({**made.report.to_json(), "operations": [], "left_out": []})
    told += "".join(f"{each.place} {each.reason}" for each in made.report.left_out)
    told += "".join(f"{each.path} {each.security} {each.notes}" for each in made.report.operations)
    assert len(made.report.left_out) == 3 and len(made.report.operations) == 1
    assert "\\r" not in told and "\\n" not in told and told.isprintable() and "\\u001b" not in told


def test_a_default_that_looks_like_a_reference_is_none() -> None:
    """It is a value, and stays one."""
    default = {"$ref": "#/$defs/nothing"}
    assert one({"parameters": [{"name": "v", "in": "query", "schema": {"default": default}}]}).schema["properties"] == {
        "v": {"default": default}
    }


def test_the_report_can_be_written_as_json() -> None:
    """Whole."""
    made = imported({"/x": {"get": {"operationId": "get x"}}, "/y": {"get": "no"}}).report.to_json()
    assert made["operations"] == [
        {
            "name": "get_x",
            "own_name": "get x",
            "method": "GET",
            "path": "/x",
            "effect": "read",
            "server": BASE,
            "security": [],
            "notes": [],
        }
    ]
    assert made["left_out"] == [
        {
            "kind": "operation",
            "place": "GET /y",
            "name": "get_y",
            "own_name": "get /y",
            "reason": "it is no object",
            "unwanted": False,
        }
    ]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from(["", "#", "#/paths", "#/$defs/A", "string", "query", "a b", "{"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "type", "default", "in", "name", "schema", "properties", "items", "allOf", "content", "a"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
WHOLE = document(
    {
        "/x/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"$ref": "#/components/schemas/A"}}
            ],
            "post": {
                "operationId": "op",
                "parameters": [{"name": "q", "in": "query", "style": "form", "content": {"application/json": {}}}],
                "requestBody": {
                    "content": {
                        "multipart/form-data": {
                            "schema": {"$ref": "#/components/schemas/A"},
                            "encoding": {"a": {"contentType": "image/png"}},
                        }
                    }
                },
                "responses": {"200": {"content": {"application/json": {}}}},
                "security": [{"key": []}],
                "servers": [{"url": "https://{v}.example.com", "variables": {"v": {"default": "a", "enum": ["a"]}}}],
                "tags": ["t"],
            },
        }
    },
    components={
        "schemas": {
            "A": {
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": {"type": "string", "enum": ["x"]},
                    "b": {"$ref": "#/components/schemas/A", "readOnly": True},
                },
                "allOf": [{"minimum": 3}],
            }
        },
        "securitySchemes": {"key": {"type": "apiKey"}},
    },
)


def places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        item = stack.pop()
        pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, inner in pairs:
            found.append((item, key))
            stack.append(inner)
    return found


@settings(deadline=None)
@given(st.data(), st.sampled_from(["3.1.0", "3.0.0", "2.0"]))
def test_no_description_does_more_than_be_refused(data: st.DataObject, version: str) -> None:
    """Whatever stands in it where something else should: each operation is a tool that works, or has its reason."""
    value = copy.deepcopy(WHOLE)
    if version == "2.0":
        del value["openapi"]
    value["swagger" if version == "2.0" else "openapi"] = version
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = data.draw(st.sampled_from(places(value)))
        holder[key] = data.draw(VALUES)
    made: Imported | AgentForgeError
    try:
        made = import_description(one_document(value))
    except AgentForgeError as error:
        made = error
    if isinstance(made, AgentForgeError):
        assert made.next_step
        return
    for operation in made.operations:
        bind: Any = bound_tool_from(operation.specification, lambda request: "").bind
        bind.prepare()
    assert all(each.reason for each in made.report.left_out)


def test_the_public_names_are_those_of_the_package(tmp_path: Path) -> None:
    """A program imports a description without a configuration."""
    from agentforge_http import openapi

    (tmp_path / "api.json").write_text(json.dumps(WHOLE))
    made = openapi.import_description(
        openapi.file_documents(tmp_path / "api.json"), openapi.ImportOptions(only=("o*",))
    )
    assert isinstance(made.report, openapi.ImportReport)
    assert [(each.name, each.base_url) for each in made.operations] == [("op", "https://a.example.com")]
    assert all(getattr(openapi, name) is not None for name in openapi.__all__)


def test_schemes_behind_references_and_other_dialects_are_told() -> None:
    """What is read in another way than it was written is a note."""
    components = {"securitySchemes": {"a": {"$ref": "#/components/x"}, "b": {"$ref": "#/gone"}}, "x": {"type": "basic"}}
    report = imported({}, components=components, jsonSchemaDialect="http://json-schema.org/draft-07/schema#").report
    assert report.schemes == {"a": "http basic", "b": "unknown"}
    told = "its schemas are read as JSON Schema 2020-12, not as 'http://json-schema.org/draft-07/schema#'"
    assert report.notes == (told,)


def test_a_method_that_gives_back_what_was_sent_is_left_out() -> None:
    """TRACE would show a model the credentials of its own request."""
    report = imported(PATHS).report
    assert [(each.place, each.reason) for each in report.left_out if each.kind == "operation"] == [
        ("TRACE /shops", "TRACE gives back what was sent, credentials among it")
    ]
