"""Bodies: which media type is sent, and when their members are arguments of their own."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.tool.execution import bound_tool_from
from agentforge_http.operation import BodyEncoding
from plugins.http.tests.openapi.support import body, notes, one, refusal

TEXT = {"type": "string"}
FORM = "application/x-www-form-urlencoded"


def flat(schema: Any, *, required: bool = True) -> bool:
    made = one(body(schema, required=required))
    assert made.body is not None
    return made.body.argument is None


@pytest.mark.parametrize(
    ("schema", "required", "is_flat"),
    [
        ({"type": "object", "properties": {"a": TEXT}}, True, True),
        ({"properties": {"a": TEXT}}, True, True),
        ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}, True, True),
        ({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, True, True),
        ({"type": "object", "properties": {"a": TEXT}}, False, True),
        ({"allOf": [{"type": "object", "properties": {"a": TEXT}}], "description": "D"}, True, True),
        ({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, False, False),
        ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": True}, True, False),
        ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}, True, False),
        ({"type": ["object", "null"], "properties": {"a": TEXT}}, True, False),
        ({"type": "object", "properties": {"a": TEXT}, "minProperties": 1}, True, False),
        ({"type": "object", "properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}, {}]}, True, False),
        ({"allOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]}, True, False),
        ({"type": "object"}, True, False),
        ({"type": "array", "items": TEXT}, True, False),
        ({"properties": {"a b": TEXT, "a_b": TEXT}}, True, False),
        ({}, True, False),
    ],
)
def test_members_are_arguments_only_where_that_says_the_same(schema: Any, required: bool, is_flat: bool) -> None:
    """Else the body is one argument, with all that its schema says."""
    assert flat(schema, required=required) is is_flat


def test_a_flat_body_says_which_argument_is_which_member() -> None:
    """A member whose name no argument can have gets another; what is required is so by its new name."""
    made = one(body({"type": "object", "properties": {"user[name]": TEXT, "n": TEXT}, "required": ["user[name]"]}))
    assert made.body is not None
    assert made.body.members == {"user_name": "user[name]", "n": "n"}
    assert made.schema["required"] == ["user_name"]
    assert (made.body.argument, made.body.required, made.body.media_type) == (None, True, "application/json")


@pytest.mark.parametrize(("required", "expected"), [(True, ["body"]), (False, [])])
def test_a_whole_body_is_required_where_the_description_says_so(required: bool, expected: list[str]) -> None:
    """It is described in the words of the description."""
    given = body({"type": "array", "items": TEXT}, required=required)
    given["requestBody"]["description"] = "The words."
    made = one(given)
    assert made.schema["required"] == expected
    assert made.schema["properties"]["body"] == {"type": "array", "items": TEXT, "description": "The words."}


@pytest.mark.parametrize(
    ("types", "sent"),
    [
        (["application/xml", "application/json"], "application/json"),
        (["application/vnd.api+json", "application/json"], "application/json"),
        (["multipart/form-data", "application/merge-patch+json"], "application/merge-patch+json"),
        (["text/json", "application/x-www-form-urlencoded"], "text/json"),
        (["application/json; charset=utf-8"], "application/json"),
        (["multipart/form-data", FORM], FORM),
        (["text/plain", "multipart/form-data"], "multipart/form-data"),
        (["text/csv"], "text/csv"),
        (["*/*"], "application/json"),
        (["application/xml", "text/plain"], "text/plain"),
    ],
)
def test_one_media_type_is_chosen(types: list[str], sent: str) -> None:
    """JSON, then a form, multipart, text and bytes."""
    schema: Any = TEXT if sent.startswith("text/") else {"type": "object", "properties": {"a": TEXT}}
    made = one({"requestBody": {"content": {kind: {"schema": schema} for kind in types}}})
    assert made.body is not None and made.body.media_type == sent


@pytest.mark.parametrize(
    ("media_type", "media", "sent"),
    [
        ("image/png", {}, "image/png"),
        ("application/octet-stream", {"schema": {"type": "string", "format": "binary"}}, "application/octet-stream"),
        ("application/x-custom", {"schema": {"type": "string", "format": "binary"}}, "application/x-custom"),
        ("application/xml", {"schema": {"type": "string", "format": "binary"}}, "application/xml"),
        ("*/*", {"schema": {"type": "string", "format": "binary"}}, "application/octet-stream"),
        ("application/pdf", {"schema": {"type": "object"}}, "application/pdf"),
    ],
)
def test_bytes_are_given_as_base64_text(media_type: str, media: Any, sent: str) -> None:
    """And the argument says so."""
    made = one({"requestBody": {"required": True, "content": {media_type: media}}})
    assert made.body is not None and made.body.media_type == sent and made.body.argument == "body"
    assert made.schema["properties"]["body"]["contentEncoding"] == "base64"
    assert "base64" in made.schema["properties"]["body"]["description"]


@pytest.mark.parametrize(
    "media_type", ["application/xml", "multipart/mixed", "application/x-yaml", "application/graphql", "image/*", "x"]
)
def test_what_cannot_be_sent_leaves_the_operation_out(media_type: str) -> None:
    """With its name in the reason; never a tool without arguments."""
    reason = refusal(body({"type": "object", "properties": {"a": TEXT}}, media_type))
    assert reason == f"its body is {media_type}, which cannot be sent"


@pytest.mark.parametrize("content", [None, {}])
def test_a_body_without_media_types_is_none(content: Any) -> None:
    """There is nothing that could be sent."""
    assert one({"requestBody": {"content": content}}).body is None


@pytest.mark.parametrize(
    ("schema", "encoding", "expected"),
    [
        (TEXT, {}, BodyEncoding()),
        ({"type": "array", "items": TEXT}, {}, BodyEncoding()),
        ({"type": "object"}, {}, BodyEncoding(content_type="application/json")),
        ({"type": "array", "items": TEXT}, {"explode": False}, BodyEncoding(explode=False)),
        ({"type": "array", "items": TEXT}, {"style": "pipeDelimited"}, BodyEncoding("pipeDelimited", False)),
        ({"type": "object"}, {"style": "deepObject", "explode": True}, BodyEncoding("deepObject", True)),
        (TEXT, {"allowReserved": True}, BodyEncoding(allow_reserved=True)),
        (TEXT, {"contentType": "application/json"}, BodyEncoding(content_type="application/json")),
        ({"type": "object"}, {"contentType": "application/xml", "style": "form"}, BodyEncoding()),
    ],
)
def test_members_of_a_form(schema: Any, encoding: Any, expected: BodyEncoding) -> None:
    """An object is JSON unless a style says otherwise; a style goes before a media type."""
    made = one(body({"type": "object", "properties": {"a": schema}}, FORM, encoding={"a": encoding}))
    assert made.body is not None and made.body.encodings == {"a": expected}


FILE = {"type": "string", "format": "binary"}


@pytest.mark.parametrize(
    ("schema", "encoding", "expected"),
    [
        (FILE, {}, BodyEncoding(is_binary=True)),
        ({"type": "array", "items": FILE}, {}, BodyEncoding(is_binary=True)),
        (FILE, {"contentType": "image/png, image/jpeg"}, BodyEncoding(content_type="image/png", is_binary=True)),
        (FILE, {"contentType": "image/*"}, BodyEncoding(is_binary=True)),
        ({"type": "string", "format": "byte"}, {}, BodyEncoding()),
        ({"type": "string", "contentMediaType": "application/pdf"}, {}, BodyEncoding(is_binary=True)),
        ({"type": "object"}, {}, BodyEncoding(content_type="application/json")),
    ],
)
def test_members_of_a_multipart_body(schema: Any, encoding: Any, expected: BodyEncoding) -> None:
    """What is bytes goes as bytes, with the first media type that is one."""
    made = one(body({"type": "object", "properties": {"a": schema}}, "multipart/form-data", encoding={"a": encoding}))
    assert made.body is not None and made.body.encodings == {"a": expected}


@pytest.mark.parametrize(
    ("file", "fits"),
    [
        ("AAEC", True),
        ({"base64": "AAEC"}, True),
        ({"text": "a;b", "file_name": "a.csv", "content_type": "text/csv"}, True),
        ({"file_name": "a.csv"}, False),
        ({"text": "a", "content_type": "csv"}, False),
        ({"text": "a", "path": "/etc/passwd"}, False),
    ],
)
def test_a_file_may_have_a_name_and_be_given_as_text(file: Any, fits: bool) -> None:
    """It is base64 text, or an object that says what it is; never a path."""
    made = one(body({"type": "object", "properties": {"file": FILE}, "required": ["file"]}, "multipart/form-data"))
    bind = bound_tool_from(made.specification, lambda request: "").bind
    if fits:
        assert bind({"file": file}) == {"file": file}
    else:
        with pytest.raises(Exception, match="AF401"):
            bind({"file": file})


def test_members_behind_references_and_parts_have_their_encodings() -> None:
    """Also where the body is one argument."""
    schemas = {
        "Upload": {"allOf": [{"$ref": "#/components/schemas/Named"}, {"properties": {"file": FILE}}]},
        "Named": {"type": "object", "properties": {"name": TEXT}},
    }
    made = one(body({"$ref": "#/components/schemas/Upload"}, "multipart/form-data"), components={"schemas": schemas})
    assert made.body is not None and made.body.argument == "body"
    assert made.body.encodings == {"name": BodyEncoding(), "file": BodyEncoding(is_binary=True)}


def test_a_body_of_a_method_that_has_none_is_still_sent() -> None:
    """The description knows its API."""
    assert one(body({"type": "object", "properties": {"a": TEXT}}), method="get").body is not None


def test_what_may_be_of_any_type_is_said() -> None:
    """In the report."""
    assert notes(body({"type": "object"}, "*/*")) == ("its body may be */*; it is sent as application/json",)
