"""Swagger 2.0: the same tools as from the OpenAPI 3 description that says the same."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge_http.operation import BodyEncoding
from plugins.http.tests.openapi.support import body, imported, one, refusal

TEXT = {"type": "string"}
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


def swagger(operation: Any, path: str = "/x", **more: Any) -> Any:
    return one(operation, path, version="2.0", **more)


@pytest.mark.parametrize(
    ("parameter", "style", "explode"),
    [
        ({"in": "query", "type": "array", "items": TEXT}, "form", False),
        ({"in": "query", "type": "array", "items": TEXT, "collectionFormat": "csv"}, "form", False),
        ({"in": "query", "type": "array", "items": TEXT, "collectionFormat": "multi"}, "form", True),
        ({"in": "query", "type": "array", "items": TEXT, "collectionFormat": "ssv"}, "spaceDelimited", False),
        ({"in": "query", "type": "array", "items": TEXT, "collectionFormat": "pipes"}, "pipeDelimited", False),
        ({"in": "query", "type": "string"}, "form", True),
        ({"in": "header", "type": "array", "items": TEXT}, "simple", False),
        ({"in": "path", "type": "array", "items": TEXT}, "simple", False),
    ],
)
def test_collection_formats_become_styles(parameter: Any, style: str, explode: bool) -> None:
    """A list is joined by commas unless it says otherwise."""
    made = swagger({"parameters": [{"name": "v", "required": True, **parameter}]}, "/x/{v}")
    found = next(each for each in made.parameters if each.place == parameter["in"])
    assert (found.style, found.explode) == (style, explode)


@pytest.mark.parametrize(
    ("place", "how"), [("query", "tsv"), ("header", "pipes"), ("header", "ssv"), ("path", "pipes"), ("formData", 5)]
)
def test_a_collection_format_that_is_not_sent_leaves_the_operation_out(place: str, how: Any) -> None:
    """Tabs have no style in OpenAPI 3, and none here; in a path and a header only commas stand between items."""
    given = {"name": "v", "in": place, "required": True, "type": "array", "items": TEXT, "collectionFormat": how}
    reason = refusal({"parameters": [given]}, "/x/{v}" if place == "path" else "/x", version="2.0")
    assert reason == f"the list 'v' is to be written as {str(how)!r} in {place}, which is not sent"


def test_a_body_parameter_is_the_body() -> None:
    """Of the media type that the operation or the description consumes, JSON where neither says."""
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    given = {"parameters": [{"name": "anything", "in": "body", "required": True, "schema": schema}]}
    assert swagger(given).body == one(body(schema)).body
    assert swagger(given).schema == one(body(schema)).schema
    assert swagger({**given, "consumes": ["application/vnd.x+json"]}).body.media_type == "application/vnd.x+json"
    assert swagger(given, consumes=["application/vnd.y+json"]).body.media_type == "application/vnd.y+json"
    assert refusal({**given, "consumes": ["application/xml"]}, version="2.0") == (
        "its body is application/xml, which cannot be sent"
    )


@pytest.mark.parametrize(
    ("fields", "consumes", "media_type"),
    [
        ([{"name": "a", "type": "string"}], None, FORM),
        ([{"name": "a", "type": "string"}], [MULTIPART], MULTIPART),
        ([{"name": "a", "type": "string"}], [MULTIPART, FORM], FORM),
        ([{"name": "a", "type": "file"}], [FORM], MULTIPART),
    ],
)
def test_fields_of_a_form_are_the_members_of_a_body(fields: Any, consumes: Any, media_type: str) -> None:
    """A file makes it multipart, whatever is said."""
    made = swagger(
        {
            "parameters": [{"in": "formData", "required": True, "description": "D.", **each} for each in fields],
            **({"consumes": consumes} if consumes else {}),
        }
    )
    assert made.body.media_type == media_type
    assert made.body.members == {"a": "a"} and made.schema["required"] == ["a"]
    assert made.body.encodings["a"].is_binary is (fields[0]["type"] == "file")
    assert made.schema["properties"]["a"]["description"].startswith("D.")


def test_lists_in_a_form_are_written_as_they_say() -> None:
    """Joined, or repeated."""
    fields = [
        {"name": "a", "in": "formData", "type": "array", "items": TEXT},
        {"name": "b", "in": "formData", "type": "array", "items": TEXT, "collectionFormat": "multi"},
    ]
    assert swagger({"parameters": fields}).body.encodings == {
        "a": BodyEncoding(explode=False),
        "b": BodyEncoding(explode=True),
    }


def test_a_body_beside_fields_of_a_form_is_refused() -> None:
    """The version does not allow it, and nobody knows what to send."""
    fields = [{"name": "a", "in": "formData", "type": "string"}, {"name": "b", "in": "body", "schema": {}}]
    assert refusal({"parameters": fields}, version="2.0") == "it has a body and fields of a form, too"


def test_definitions_and_shared_parameters_are_found() -> None:
    """By their places in the older document."""
    made = swagger(
        {
            "parameters": [
                {"$ref": "#/parameters/page"},
                {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/T"}},
            ]
        },
        parameters={"page": {"name": "page", "in": "query", "type": "integer", "x-nullable": True}},
        definitions={"T": {"type": "object", "properties": {"next": {"$ref": "#/definitions/T"}}}},
    )
    assert made.schema["properties"] == {
        "page": {"type": ["integer", "null"]},
        "next": {"$ref": "#/$defs/T"},
    }


def test_security_and_answers_are_read() -> None:
    """From securityDefinitions and produces."""
    made = imported(
        {"/x": {"get": {"security": [{"basic": []}]}}},
        version="2.0",
        produces=["application/xml", "application/json"],
        securityDefinitions={"basic": {"type": "basic"}, "o": {"type": "oauth2", "flow": "accessCode"}},
    )
    assert made.report.schemes == {"basic": "http basic", "o": "oauth2 accessCode"}
    assert made.operations[0].security == (frozenset({"basic"}),)
    assert made.operations[0].accept == "application/json, */*;q=0.5"
