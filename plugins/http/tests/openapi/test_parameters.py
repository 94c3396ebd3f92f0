"""Where each parameter goes and how it is written there, by OpenAPI's rules."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge_http.operation import HttpParameter
from plugins.http.tests.openapi.support import body, imported, notes, one, refusal

TEXT = {"type": "string"}


def parameter(**fields: Any) -> HttpParameter:
    place = fields.get("in", "query")
    path = "/x/{v}" if place == "path" else "/x"
    made = one({"parameters": [{"name": "v", "in": place, "schema": TEXT, **fields}]}, path)
    return made.parameters[0]


@pytest.mark.parametrize(
    ("fields", "style", "explode"),
    [
        ({"in": "query"}, "form", True),
        ({"in": "cookie"}, "form", True),
        ({"in": "path"}, "simple", False),
        ({"in": "header"}, "simple", False),
        ({"in": "query", "explode": False}, "form", False),
        ({"in": "query", "style": "spaceDelimited"}, "spaceDelimited", False),
        ({"in": "query", "style": "pipeDelimited", "explode": True}, "pipeDelimited", True),
        ({"in": "query", "style": "deepObject"}, "deepObject", True),
        ({"in": "query", "style": "deepObject", "explode": False}, "deepObject", True),
        ({"in": "path", "style": "matrix"}, "matrix", False),
        ({"in": "path", "style": "label", "explode": True}, "label", True),
        ({"in": "header", "explode": True}, "simple", True),
    ],
)
def test_styles_and_their_defaults(fields: Any, style: str, explode: bool) -> None:
    """As section «Style Values» of the standard says."""
    made = parameter(**fields)
    assert (made.place, made.style, made.explode) == (fields["in"], style, explode)
    assert (made.argument, made.name, made.required) == ("v", "v", fields["in"] == "path")


@pytest.mark.parametrize(
    ("fields", "style"),
    [
        ({"in": "path", "style": "form"}, "simple"),
        ({"in": "query", "style": "matrix"}, "form"),
        ({"in": "header", "style": {}}, "simple"),
        ({"in": "cookie", "style": "simple"}, "form"),
    ],
)
def test_a_style_that_its_place_does_not_have_is_replaced_and_noted(fields: Any, style: str) -> None:
    """By the default of the place."""
    assert parameter(**fields).style == style
    path = "/x/{v}" if fields["in"] == "path" else "/x"
    (note,) = notes({"parameters": [{"name": "v", "schema": TEXT, **fields}]}, path)
    assert "cannot have the style" in note and f"it is sent as {style}" in note


def test_reserved_characters_are_allowed_in_a_query_alone() -> None:
    """In a path they would lead elsewhere."""
    assert parameter(allowReserved=True).allow_reserved
    assert not parameter(**{"in": "path", "allowReserved": True}).allow_reserved


@pytest.mark.parametrize("media_type", ["application/json", "application/problem+json; charset=utf-8"])
def test_a_parameter_with_content_goes_as_json(media_type: str) -> None:
    """Its schema is that of the media type."""
    made = one({"parameters": [{"name": "v", "in": "query", "content": {media_type: {"schema": {"type": "object"}}}}]})
    assert made.parameters[0].content_type == media_type.partition(";")[0]
    assert made.schema["properties"]["v"] == {"type": "object"}


def test_a_parameter_of_another_media_type_is_left_out_or_leaves_its_operation_out() -> None:
    """Where it may be missing it is only noted."""
    content = {"name": "v", "in": "query", "content": {"application/xml": {"schema": TEXT}}}
    assert notes({"parameters": [content]}) == (
        "the parameter 'v' is to be sent as application/xml, which it cannot be, and was left out",
    )
    assert "application/xml" in refusal({"parameters": [{**content, "required": True}]})


def test_parameters_of_the_path_are_inherited_and_replaced_by_name_and_place() -> None:
    """The same name in another place is another parameter."""
    made = imported(
        {
            "/x/{id}": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": TEXT},
                    {"name": "page", "in": "query", "schema": TEXT},
                    {"name": "page", "in": "header", "schema": TEXT},
                ],
                "get": {"parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}]},
                "delete": {},
            }
        }
    )
    get, delete = made.operations
    assert [(each.argument, each.place) for each in get.parameters] == [
        ("id", "path"),
        ("query_page", "query"),
        ("header_page", "header"),
    ]
    assert get.schema["properties"]["query_page"] == {"type": "integer"}
    assert delete.schema["properties"]["query_page"] == {"type": "string"}


@pytest.mark.parametrize("name", ["Accept", "content-type", "AUTHORIZATION"])
def test_headers_that_belong_to_the_client_are_no_arguments(name: str) -> None:
    """Also where they are required; OpenAPI says that such a parameter is ignored."""
    operation = {"parameters": [{"name": name, "in": "header", "required": True, "schema": TEXT}]}
    assert one(operation).schema["properties"] == {}
    assert notes(operation) == (f"the header {name} is not an argument: OpenAPI keeps it for the client",)


@pytest.mark.parametrize(
    ("value", "required", "fault"),
    [
        ({"name": "v", "in": "body"}, False, "the parameter 'v' in 'body' cannot be sent"),
        ({"name": "v"}, True, "the parameter 'v' in 'None' cannot be sent"),
        ({"in": "query"}, True, "the parameter 'None' in 'query' cannot be sent"),
        ({"name": "a b", "in": "header"}, True, "the header 'a b' has a name that cannot be sent"),
        ({"name": "a\r\nX: y", "in": "header"}, False, "has a name that cannot be sent"),
        ({"name": "v", "in": "querystring"}, True, "in 'querystring' cannot be sent"),
    ],
)
def test_a_parameter_that_cannot_be_sent(value: Any, required: bool, fault: str) -> None:
    """Leaves the operation out where it is required; else only itself, with a note."""
    if required:
        assert fault in refusal({"parameters": [{**value, "required": True}]})
    said = notes({"parameters": [value]})
    assert len(said) == 1 and fault in said[0] and said[0].endswith("left out")


def test_path_parameters_and_the_path_need_not_agree() -> None:
    """What is in the path alone is taken as text, what is not in it is left out; both are said."""
    operation = {"parameters": [{"name": "gone", "in": "path", "required": True, "schema": TEXT}]}
    made = one(operation, "/x/{id}/{id}/{my-key}")
    assert [(each.argument, each.name) for each in made.parameters] == [("id", "id"), ("my-key", "my-key")]
    assert made.schema["required"] == ["id", "my-key"]
    assert notes(operation, "/x/{id}/{id}/{my-key}") == (
        "the path parameter 'gone' is not in the path and was left out",
        "the path parameter 'id' is declared nowhere and was taken as text",
        "the path parameter 'my-key' is declared nowhere and was taken as text",
    )


def test_descriptions_of_parameters_go_before_those_of_their_schemas() -> None:
    """And a parameter that is deprecated says so."""
    made = one(
        {
            "parameters": [
                {
                    "name": "a",
                    "in": "query",
                    "description": "Ours.",
                    "schema": {"type": "string", "description": "No."},
                },
                {"name": "b", "in": "query", "schema": {"type": "string", "description": "Kept."}},
                {"name": "c", "in": "query", "deprecated": True, "description": "Old.", "schema": TEXT},
            ]
        }
    )
    assert made.schema["properties"] == {
        "a": {"type": "string", "description": "Ours."},
        "b": {"type": "string", "description": "Kept."},
        "c": {"type": "string", "description": "Deprecated. Old.", "deprecated": True},
    }


def test_defaults_and_what_is_required_are_told_to_the_model() -> None:
    """A default is not sent by us; only what the model gives is."""
    made = one(
        {"parameters": [{"name": "a", "in": "query", "required": True, "schema": {"type": "integer", "default": 3}}]}
    )
    assert made.schema["properties"]["a"]["default"] == 3
    assert made.schema["required"] == ["a"] and made.parameters[0].required


OBJECT = {"type": "object", "properties": {"id": {"type": "integer"}, "n": TEXT}}


@pytest.mark.parametrize(
    ("path", "parameters", "schema", "arguments"),
    [
        ("/x/{id}", [], OBJECT, ["path_id", "body"]),
        ("/x/{id}", [], {"type": "object", "properties": {"n": TEXT}}, ["id", "n"]),
        ("/x/{id}", ["id"], None, ["path_id", "query_id"]),
        ("/x/{id}", ["id"], OBJECT, ["path_id", "query_id", "body"]),
        ("/x/{body}", [], {"type": "array", "items": TEXT}, ["path_body", "body"]),
        ("/x/{body}", [], {"type": "object", "properties": {"n": TEXT}}, ["body", "n"]),
        ("/x/{id}", ["path_id", "id"], None, ["path_id_2", "path_id", "query_id"]),
        ("/x/{a.b}", ["a[b]"], None, ["a.b", "a_b"]),
        ("/x/{a_b}", ["a[b]"], None, ["path_a_b", "query_a_b"]),
        ("/x", ["n"], OBJECT, ["query_n", "body"]),
    ],
)
def test_one_name_in_two_places_gets_its_place_in_front(
    path: str, parameters: list[str], schema: Any, arguments: list[str]
) -> None:
    """Both can be given; the body stays ``body``, and what does not clash keeps its name."""
    operation = {"parameters": [{"name": name, "in": "query", "schema": TEXT} for name in parameters]}
    if schema is not None:
        operation.update(body(schema))
    made = one(operation, path)
    assert list(made.schema["properties"]) == arguments
    wire = {each.argument: each.name for each in made.parameters}
    assert all(name in wire or name in ("body", "n") for name in arguments)


def test_many_names_that_clean_up_alike_stay_apart() -> None:
    """Each is another argument, with its own wire name."""
    names = ["a[b]", "a(b)", "a b", "a_b"]
    made = one({"parameters": [{"name": name, "in": "query", "schema": TEXT} for name in names]})
    assert [each.name for each in made.parameters] == names
    assert len({each.argument for each in made.parameters}) == len(names)


@pytest.mark.parametrize(
    ("path", "sent", "query"),
    [
        ("/x?beta=true&q=a%20b", "/x", (("beta", "true"), ("q", "a b"))),
        ("/x#part", "/x", ()),
        ("/a b/é/{id}", "/a%20b/%C3%A9/{id}", ()),
        ("/x/{my id}", "/x/{my id}", ()),
        ("/x/{a}.{b}:run", "/x/{a}.{b}:run", ()),
    ],
)
def test_paths_are_made_such_that_they_can_be_sent(path: str, sent: str, query: Any) -> None:
    """A query in a path goes with every request; a fragment goes nowhere."""
    made = one({}, path)
    assert (made.path, made.constant_query) == (sent, query)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("Host", "the header Host cannot be set: it belongs to the connection, and was left out"),
        ("content-length", "the header content-length cannot be set: it belongs to the connection, and was left out"),
        ("Cookie", "the header Cookie cannot be set here: credentials are given as auth, and was left out"),
    ],
)
def test_a_model_never_sets_what_belongs_to_the_connection(name: str, note: str) -> None:
    """Whatever the description declares: the host never comes from a model (threat S8)."""
    operation = {"parameters": [{"name": name, "in": "header", "required": True, "schema": TEXT}]}
    assert one(operation).parameters == ()
    assert notes(operation) == (note,)


def test_what_the_configuration_gives_is_no_argument() -> None:
    """A key that is declared as a parameter, too, is not for the model to know."""
    operation = {
        "parameters": [
            {"name": "X-API-Key", "in": "header", "required": True, "schema": TEXT},
            {"name": "key", "in": "query", "required": True, "schema": TEXT},
            {"name": "Key", "in": "query", "schema": TEXT},
            {"name": "Idempotency-Key", "in": "header", "schema": TEXT},
        ]
    }
    options = {
        "given": frozenset({("header", "x-api-key"), ("query", "key")}),
        "idempotency_header": "idempotency-key",
    }
    assert list(one(operation, options=options).schema["properties"]) == ["Key"]
    assert list(one(operation, method="get", options=options).schema["properties"]) == ["Key", "Idempotency-Key"]
    assert notes(operation, options=options) == (
        "the header parameter 'X-API-Key' is given by the configuration",
        "the query parameter 'key' is given by the configuration",
        "the header parameter 'Idempotency-Key' is given by the configuration",
    )


@pytest.mark.parametrize(("version", "expected"), [("3.1.0", "Beside."), ("3.0.3", "Own.")])
def test_a_description_beside_a_reference_holds_in_the_present_version(version: str, expected: str) -> None:
    """OpenAPI 3.1 allows summary and description there, and nothing else; before, what stands beside has no meaning."""
    components = {"parameters": {"p": {"name": "v", "in": "query", "description": "Own.", "schema": TEXT}}}
    operation = {"parameters": [{"$ref": "#/components/parameters/p", "description": "Beside.", "name": "other"}]}
    made = one(operation, version=version, components=components)
    assert made.schema["properties"] == {"v": {"type": "string", "description": expected}}
