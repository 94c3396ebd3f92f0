"""Schemas that inherit: where the parent is asked for, an argument may be any of its kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ToolArgumentsError
from agentforge.tool.execution import bound_tool_from
from agentforge.tool.spec import compile_schema
from agentforge_http.openapi.documents import file_documents
from agentforge_http.openapi.importing import ImportOptions, import_description
from plugins.http.tests.openapi.support import body, one, refusal

TEXT = {"type": "string"}


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def schemas(discriminator: Any, **more: Any) -> dict[str, Any]:
    """A pet, which is a cat or a dog, and a kitten, which is a cat."""
    return {
        "Pet": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": TEXT, "name": TEXT},
            "discriminator": discriminator,
        },
        "Cat": {"allOf": [reference("Pet"), {"type": "object", "properties": {"lives": {"type": "integer"}}}]},
        "Dog": {
            "allOf": [
                reference("Pet"),
                {
                    "type": "object",
                    "required": ["tricks"],
                    "properties": {"tricks": {"type": "array", "items": reference("Pet")}},
                },
            ]
        },
        **more,
    }


MAPPING = {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog", "hound": "Dog"}}
BY_NAME = {"propertyName": "kind"}


def fits(discriminator: Any, value: Any, schema: Any = None, **more: Any) -> bool:
    """Whether a list of pets may hold the value."""
    given = {"type": "object", "properties": {"pet": schema or reference("Pet")}, "required": ["pet"]}
    made = one(body(given), components={"schemas": schemas(discriminator, **more)})
    bind = bound_tool_from(made.specification, lambda request: "").bind
    try:
        bind({"pet": value})
    except ToolArgumentsError:
        return False
    return True


@pytest.mark.parametrize(
    ("discriminator", "value", "expected"),
    [
        (MAPPING, {"kind": "cat", "lives": 9}, True),
        (MAPPING, {"kind": "cat", "name": "Tom"}, True),
        (MAPPING, {"kind": "dog", "tricks": []}, True),
        (MAPPING, {"kind": "hound", "tricks": [{"kind": "cat", "lives": 1}]}, True),
        (MAPPING, {"kind": "dog"}, False),
        (MAPPING, {"kind": "cat", "lives": "nine lives"}, False),
        (MAPPING, {"kind": "bird"}, False),
        (MAPPING, {"lives": 9}, False),
        (MAPPING, {"kind": "cat", "wings": 2}, False),
        (MAPPING, {"kind": "hound", "tricks": [{"kind": "dog"}]}, False),
        (BY_NAME, {"kind": "Cat", "lives": 9}, True),
        (BY_NAME, {"kind": "Dog", "tricks": []}, True),
        (BY_NAME, {"kind": "anything"}, True),
        (BY_NAME, {"kind": "Cat", "lives": "x y"}, False),
    ],
)
def test_an_argument_is_one_of_the_kinds(discriminator: Any, value: Any, expected: bool) -> None:
    """By the word that the mapping has for it, else by its name; with the members of that kind."""
    assert fits(discriminator, value) is expected


def test_a_kind_itself_is_only_that_kind() -> None:
    """It inherits from the parent, and not from all of its kinds."""
    assert fits(MAPPING, {"kind": "x", "lives": 1}, reference("Cat"))
    assert not fits(MAPPING, {"kind": "x", "tricks": []}, reference("Cat"))


def test_a_parent_that_is_named_with_a_description_is_still_any_kind() -> None:
    """``allOf`` with one part is how that is written before 3.1."""
    assert fits(MAPPING, {"kind": "cat", "lives": 1}, {"allOf": [reference("Pet")], "description": "D"})
    assert fits(MAPPING, {"kind": "cat", "lives": 1}, {"allOf": [reference("Pet")]})


def test_a_parent_may_be_one_of_its_own_kinds() -> None:
    """A mapping can lead back to it."""
    own = {"propertyName": "kind", "mapping": {"cat": "Cat", "plain": "#/components/schemas/Pet"}}
    assert fits(own, {"kind": "plain", "name": "x"}) and fits(own, {"kind": "cat", "lives": 2})
    assert not fits(own, {"kind": "other", "name": "x"})


@pytest.mark.parametrize(
    "discriminator",
    [{}, {"propertyName": 5}, 7, {"mapping": {"a": "Cat"}}, {"propertyName": "kind", "mapping": {"a": 5}}],
)
def test_a_discriminator_that_says_nothing_changes_nothing(discriminator: Any) -> None:
    """The schema is what it says without it."""
    assert fits(discriminator, {"kind": "cat", "name": "x"}) and not fits(discriminator, {"kind": "cat", "lives": 2})


def test_a_schema_that_lists_its_kinds_stays_as_it_is() -> None:
    """``oneOf`` with a discriminator says all itself."""
    union = {"Union": {"oneOf": [reference("Cat"), reference("Dog")], "discriminator": MAPPING}}
    assert fits(MAPPING, {"kind": "x", "lives": 1}, reference("Union"), **union)
    assert not fits(MAPPING, {"kind": "x", "wings": 1}, reference("Union"), **union)


@pytest.mark.parametrize("discriminator", [MAPPING, BY_NAME], ids=["by its word", "by its name"])
def test_a_kind_that_adds_nothing_means_what_all_share(discriminator: Any) -> None:
    """``allOf`` with the parent alone, in a schema that is one of its kinds, is no other way to name all of them: the
    kinds would be a circle, and no tool with them could be strict."""
    plain = {"Cat": {"type": "object", "allOf": [reference("Pet")]}}
    word = "cat" if discriminator is MAPPING else "Cat"
    assert fits(discriminator, {"kind": word, "name": "Tom"}, **plain)
    assert fits(discriminator, {"kind": "any", "name": "Tom"}, reference("Cat"), **plain)
    assert not fits(discriminator, {"kind": word, "lives": 9}, reference("Cat"), **plain)
    given = {"type": "object", "properties": {"cat": reference("Cat")}, "required": ["cat"]}
    made = one(body(given), components={"schemas": schemas(discriminator, **plain)})
    assert compile_schema(made.specification.parameters.schema).problems == ()


LISTED = {
    "Pet": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": TEXT, "name": TEXT},
        "oneOf": [reference("Cat"), {"anyOf": [reference("Dog")]}],
        "discriminator": BY_NAME,
    },
    "Cat": {"allOf": [reference("Pet"), {"properties": {"kind": {"const": "Cat"}, "lives": {"type": "integer"}}}]},
    "Dog": {"allOf": [reference("Pet"), {"properties": {"kind": {"const": "Dog"}, "tricks": {"type": "array"}}}]},
    "Owner": {"allOf": [reference("Pet"), {"properties": {"phone": TEXT}}]},
}


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ({"kind": "Cat", "name": "Tom", "lives": 9}, "Pet", True),
        ({"kind": "Dog", "tricks": [1]}, "Pet", True),
        ({"kind": "Owl"}, "Pet", False),
        ({"kind": "Cat", "lives": 9}, "Cat", True),
        ({"name": "Tom", "lives": 9}, "Cat", False),
        ({"kind": "Dog", "tricks": []}, "Cat", False),
        ({"kind": "Cat", "lives": 9, "phone": "1"}, "Owner", True),
        ({"kind": "Owl", "phone": "1"}, "Owner", False),
    ],
)
def test_a_base_that_lists_its_kinds_is_only_itself_where_one_names_it(value: Any, name: str, expected: bool) -> None:
    """Its own members, and not the list; what is no kind of it means any of them."""
    assert fits({}, value, reference(name), **LISTED) is expected


def test_kinds_that_are_listed_are_no_circle() -> None:
    """So that a tool with them can be strict."""
    given = {"type": "object", "properties": {"pet": reference("Pet"), "cat": reference("Cat")}, "required": ["pet"]}
    made = one(body(given), components={"schemas": {**LISTED, "Dog": LISTED["Cat"]}})
    assert compile_schema(made.specification.parameters.schema).problems == ()


def test_a_mapping_that_leads_nowhere_leaves_the_operation_out() -> None:
    """Its kind is missing, and nobody can say which."""
    gone = {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Gone"}}
    given = body({"type": "object", "properties": {"pet": reference("Pet")}})
    assert "Gone' leads nowhere" in refusal(given, components={"schemas": schemas(gone)})


def test_the_older_version_has_the_name_of_the_member_alone() -> None:
    """Swagger 2.0: kinds are found by who inherits."""
    definitions = {
        "Pet": {"type": "object", "discriminator": "kind", "required": ["kind"], "properties": {"kind": TEXT}},
        "Cat": {"allOf": [{"$ref": "#/definitions/Pet"}, {"properties": {"lives": {"type": "integer"}}}]},
    }
    parameter = {"name": "b", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
    made = one({"parameters": [parameter]}, version="2.0", definitions=definitions)
    bind = bound_tool_from(made.specification, lambda request: "").bind
    assert bind({"body": {"kind": "Cat", "lives": 9}})
    with pytest.raises(ToolArgumentsError):
        bind({"body": {"kind": "Cat", "wings": 9}})


def test_a_message_can_be_sent_to_a_real_api(shared: Path) -> None:
    """Its description inherits: without the kinds there would be no way to give the text of a message."""
    documents = file_documents(shared / "openapi" / "line-messaging.yml")
    made = import_description(documents, ImportOptions(only=("pushMessage",))).operations[0]
    bind = bound_tool_from(made.specification, lambda request: "").bind
    assert bind(
        {
            "to": "U1",
            "messages": [{"type": "text", "text": "hello"}, {"type": "sticker", "packageId": "1", "stickerId": "2"}],
        }
    )
    for message in ({"type": "text"}, {"type": "text", "text": "x", "colour": "red"}, {"type": "song", "text": "x"}):
        with pytest.raises(ToolArgumentsError):
            bind({"to": "U1", "messages": [message]})
