"""The tools of real descriptions in strict modes: how many can be strict, and that what is sent is in the subset."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentforge.model import ToolSpecification
from agentforge.tool.spec import PORTABLE, STANDARD, SchemaSubset, compile_schema
from agentforge_http.openapi.documents import file_documents
from agentforge_http.openapi.importing import ImportOptions, import_description
from agentforge_openai import subsets
from tests.support.strict_schemas import holds_what_it_promises, is_inside_and_stays

#: Of how many tools how many can be strict, and how many of those without anything that is not held. What writes out
#: every reference takes its time: every third is enough.
COUNTS = {
    STANDARD: (854, 729, 661),
    PORTABLE: (285, 238, 194),
    subsets.OPENAI: (854, 729, 661),
    subsets.AZURE: (854, 729, 572),
    subsets.DEEPSEEK: (285, 242, 196),
}


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


@pytest.mark.parametrize("subset", COUNTS, ids=lambda subset: subset.name)
def test_most_tools_can_be_strict(tools: list[ToolSpecification], subset: SchemaSubset) -> None:
    """What cannot takes any value somewhere, or any properties, or holds itself where that is not allowed."""
    assert len(tools) == 854
    some = tools if COUNTS[subset][0] == 854 else tools[::3]
    compiled = [compile_schema(tool.parameters.schema, subset) for tool in some]
    strict = [made for made in compiled if not made.problems]
    assert (len(some), len(strict), sum(not made.notices for made in strict)) == COUNTS[subset]
    known = {"any_value", "open_object", "empty_object", "recursion", "limit", "unsatisfiable"}
    assert {problem.code for made in compiled for problem in made.problems} <= known


@pytest.mark.parametrize("subset", [STANDARD, PORTABLE], ids=lambda subset: subset.name)
def test_strict_forms_of_real_tools_are_inside_and_sound(tools: list[ToolSpecification], subset: SchemaSubset) -> None:
    """Of every ninth, as the many of one description are alike."""
    looked_at = 0
    for tool in tools[::9]:
        schema = dict(tool.parameters.schema)
        is_inside_and_stays(schema, subset)
        looked_at += holds_what_it_promises(schema, subset, 1)
    assert looked_at > 300
