"""Every configuration that a page shows as right is right in an editor, too; so is what `agentforge init` writes."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from agentforge.cli.main import run
from agentforge.plugin import Plugins
from agentforge.plugin.json_schema import configuration_schema
from tests.docs.test_examples import CONFIGURATION, PAGES, ROOT, Block, blocks_of

#: Types that a page makes itself, under names of its own.
OF_THE_PAGE = re.compile(r"(acme|notes|words)\.\w+")
SHOWN = [
    (page, block)
    for page in PAGES
    for block in blocks_of(page.read_text("utf-8"))
    if block.info == "yaml" and CONFIGURATION.search(block.code) and not (block.file and block.file["faulty"])
]


@pytest.fixture(scope="module")
def validator() -> Any:
    """The schema of the core's types and those of the plugins in this checkout."""
    plugins = Plugins()
    types = dict(plugins.builtin_types())
    for folder in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        plugins.load(folder.parent.name)
        types |= plugins.types_of(folder.parent.name)
    return jsonschema_rs.Draft7Validator(configuration_schema(types))


@pytest.mark.parametrize(
    ("page", "block"), SHOWN, ids=[f"{page.relative_to(ROOT).as_posix()}:{block.line}" for page, block in SHOWN]
)
def test_a_shown_configuration_fits(page: Path, block: Block, validator: Any) -> None:
    """Apart from types that the page itself makes."""
    found = [(error.instance_path[-1:], error) for error in validator.iter_errors(yaml.safe_load(block.code))]

    assert [
        error.message for last, error in found if last != ["type"] or not OF_THE_PAGE.fullmatch(str(error.instance))
    ] == []


def test_a_new_project_fits(tmp_path: Path, validator: Any) -> None:
    """From its first moment."""
    out = io.StringIO()
    assert run(["init", str(tmp_path / "new")], stdout=out, stderr=out, environment={}) == 0, out.getvalue()
    text = (tmp_path / "new" / "agentforge.yaml").read_text("utf-8")

    assert list(validator.iter_errors(yaml.safe_load(text))) == []
