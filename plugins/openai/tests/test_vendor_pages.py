"""What the pages say of vendors is what the rows say."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from agentforge.provider.field_notes import field_notes
from agentforge_openai import VENDORS, ResponsesForm, ThinkingRule, VendorRow

DOCS = Path(__file__).parents[3] / "docs" / "providers"
CODE = re.compile(r"`([^`]+)`")


def table(page: str, heading: str) -> list[list[str]]:
    """The cells of the rows of the first table below a heading."""
    text = (DOCS / page).read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_page_of_this_form_has_each_vendor_with_address_and_key() -> None:
    """In alphabetical order: its addresses, then the variable of one, then those of other places."""
    rows = table("chat-completions.md", "Vendors")
    assert [CODE.findall(name)[0] for name, *_ in rows] == sorted(VENDORS)
    for name, address, key, knows in rows:
        row = VENDORS[name.strip("| `")]
        variable = [row.base_url_variable] if row.base_url_variable else []
        assert CODE.findall(address) == [row.base_url or "base_url", *variable, *row.further_base_urls], name
        assert CODE.findall(key) == [row.key_variable or "api_key"], name
        assert (", if " in key) is not row.key_required, name
        assert knows.rstrip("| "), name


@pytest.mark.parametrize("kind", [VendorRow, ThinkingRule, ResponsesForm])
def test_the_page_of_rows_says_what_each_field_is(kind: type) -> None:
    lines = [line for line in (DOCS / "vendor-rows.md").read_text("utf-8").splitlines() if line.startswith("|")]
    said = {word for each in CODE.findall("\n".join(lines)) for word in re.findall(r"[a-z_]+", each)}
    no_setting = {"named_by_user"}
    assert [each.name for each in fields(kind) if each.name not in said | no_setting] == []


@pytest.mark.parametrize("kind", [VendorRow, ThinkingRule, ResponsesForm])
def test_an_editor_explains_each_field(kind: type) -> None:
    assert [each.name for each in fields(kind) if each.name not in ("name", *field_notes(kind))] == []


def test_the_page_of_the_plugin_names_each_vendor() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    assert [name for name in VENDORS if f"`{name}`" not in readme] == []
