"""Thirty descriptions as their owners published them: imported whole, with a reason for whatever is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentforge.model import ToolSpecification
from agentforge.provider import Endpoint, profile_of
from agentforge.tool.execution import bound_tool_from
from agentforge.tool.spec import check_schema
from agentforge_http.openapi.documents import Documents, file_documents
from agentforge_http.openapi.importing import Imported, ImportOptions, import_description
from agentforge_openai.profile import VendorRow
from agentforge_openai.vendors import VENDORS
from agentforge_openai.wire.tools import encode_tools

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
SEVERAL_FILES = {"deep-circular": "deep-circular.yaml", "petstore-separate": "spec/swagger.json"}

#: Operations that cannot be tools, by description.
LEFT_OUT = {
    "event-backend.json": {
        f"PUT /{name}/{{id}}": f"the reference '#/components/schemas/{name[:-1]}' leads nowhere"
        for name in ("places", "sessionTalks", "speakers", "sponsors")
    },
    "python-client-baseline-v3.1.yaml": {
        "POST /config/content-type-override": "its body is openapi/python/client, which cannot be sent"
    },
}


@pytest.fixture(scope="module")
def descriptions(shared: Path) -> dict[str, tuple[Documents, Imported]]:
    """Each with its import, by the name of its file."""
    folder = shared / "openapi"
    files = [each for each in sorted(folder.iterdir()) if each.suffix in (".json", ".yaml", ".yml")]
    files = [each for each in files if each.name != "SOURCES.json"]
    files += [folder / name / file for name, file in SEVERAL_FILES.items()]
    options = ImportOptions(base_url="https://api.example.com", has_auth=True)
    made: dict[str, tuple[Documents, Imported]] = {}
    for file in files:
        documents = file_documents(file, max_bytes=4_000_000)
        made[str(file.relative_to(folder))] = documents, import_description(documents, options)
    return made


def specifications(descriptions: dict[str, tuple[Documents, Imported]]) -> Iterator[ToolSpecification]:
    for _, imported in descriptions.values():
        for operation in imported.operations:
            yield operation.specification


def written(value: Any) -> set[str]:
    """The operations of a description, counted without the import."""
    return {
        f"{method.upper()} {path}"
        for path, item in value.get("paths", {}).items()
        for method in item
        if method in METHODS
    }


def test_every_operation_is_imported_or_left_out_with_a_reason(
    descriptions: dict[str, tuple[Documents, Imported]],
) -> None:
    """None is missing, none is there twice, and what is left out is known, with why."""
    assert len(descriptions) == 30
    for name, (documents, imported) in descriptions.items():
        done = [f"{each.method} {each.path}" for each in imported.report.operations]
        left = {each.place: each.reason for each in imported.report.left_out if each.kind == "operation"}
        assert left == LEFT_OUT.get(name, {}), name
        paths = {place.partition("#")[0] for place in written(documents.value)}
        assert {*done, *left} == paths, name
        assert len(imported.operations) == len(imported.report.operations)
    total = sum(len(each.operations) for _, each in descriptions.values())
    assert total + sum(map(len, LEFT_OUT.values())) == 859


def test_webhooks_and_callbacks_are_named_as_what_they_are(
    descriptions: dict[str, tuple[Documents, Imported]],
) -> None:
    """They are calls to us; one of the descriptions has nothing else."""
    hooks = {
        name: [each.kind for each in imported.report.left_out if each.kind != "operation"]
        for name, (_, imported) in descriptions.items()
    }
    assert hooks["adyen-transfer-webhooks.json"] == ["webhook", "webhook"]
    assert hooks["resend.yaml"] == ["webhook"] * 17
    assert sorted(hooks["tictactoe.yaml"]) == ["callback", "webhook"]
    assert descriptions["adyen-transfer-webhooks.json"][1].operations == ()


def test_names_are_legal_distinct_and_map_back(descriptions: dict[str, tuple[Documents, Imported]]) -> None:
    """Also those that their owners made 80 characters long."""
    for name, (_, imported) in descriptions.items():
        names = [each.name for each in imported.operations]
        assert len(set(names)) == len(names), name
        assert len({each.own_name for each in imported.operations}) == len(names), name
        for each in names:
            assert 1 <= len(each) <= 64 and each.replace("-", "_").isidentifier(), each
        for operation in imported.operations:
            for argument in operation.schema["properties"]:
                assert len(argument) <= 64 and argument.replace("-", "_").replace(".", "_").isidentifier()


def test_every_schema_is_one_that_arguments_can_be_checked_with(
    descriptions: dict[str, tuple[Documents, Imported]],
) -> None:
    """By the core, whose validator compiles each of them; no argument is without a place."""
    for _, imported in descriptions.values():
        for operation in imported.operations:
            check_schema(operation.schema, tool=operation.name)
            bind: Any = bound_tool_from(operation.specification, lambda request: "").bind
            bind.prepare()
            body = operation.body
            placed = {each.argument for each in operation.parameters}
            if body is not None:
                placed |= {body.argument} if body.argument is not None else set(body.members)
            assert placed == set(operation.schema["properties"]), operation.name


def test_nothing_of_a_schema_is_of_openapi_alone(descriptions: dict[str, tuple[Documents, Imported]]) -> None:
    """No keyword that JSON Schema does not know is left where a schema stands."""
    foreign = {"nullable", "readOnly", "writeOnly", "discriminator", "xml", "externalDocs", "example", "examples"}

    def walk(schema: Any) -> None:
        if isinstance(schema, dict):
            assert not foreign.intersection(schema), schema
            assert not any(key.startswith("x-") for key in schema), schema
            for key, inner in schema.items():
                if key in ("properties", "$defs", "patternProperties", "dependentSchemas"):
                    for each in inner.values():
                        walk(each)
                elif key in ("items", "additionalProperties", "not", "if", "then", "else"):
                    walk(inner)
                elif key in ("allOf", "anyOf", "oneOf", "prefixItems"):
                    for each in inner:
                        walk(each)

    for specification in specifications(descriptions):
        walk(specification.parameters.schema)


def kinds_of_rows() -> list[VendorRow]:
    """One row of each kind, as far as tools are concerned."""
    found = {}
    for row in VENDORS.values():
        found[
            str(profile_of(row, "m", base_url="https://llm.test/v1").tool_name_pattern),
            row.subset,
            row.schemas,
            row.sends_strict_false,
        ] = row
    return list(found.values())


@pytest.mark.parametrize("row", kinds_of_rows(), ids=lambda row: row.name)
@pytest.mark.parametrize("strict", [False, True])
def test_every_tool_can_be_sent_to_every_vendor(
    descriptions: dict[str, tuple[Documents, Imported]], row: VendorRow, strict: bool
) -> None:
    """Also strict, where the schema can be brought there; where not, it goes out as it is, and says so. Where a vendor
    refuses names of properties, it goes out without these if the user lets it."""
    profile = profile_of(row, "m", base_url="https://llm.test/v1", overrides={"unsupported": {"tool_schema": "drop"}})
    endpoint = Endpoint(row, profile, "m", "https://llm.test/v1")
    for name, (_, imported) in descriptions.items():
        tools = tuple(each.specification for each in imported.operations)
        if strict:
            tools = tuple(ToolSpecification(each.name, each.description, each.parameters, True) for each in tools)
        block = encode_tools(tools, endpoint)
        assert len(block.aliases) <= len(tools), name
        assert {each.code for each in block.notices} <= {"not_strict", "schema_narrowed", "schema_simplified"}
