"""Every way in which a configuration can be wrong: all its faults, each with its place; and its twin that is right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge.config import (
    ConfigurationFaults,
    Reporter,
    RootDefinition,
    Variables,
    interpolate,
    load_layers,
    read_root,
)
from agentforge.config.nodes import MappingNode

ROWS = yaml.safe_load(Path(__file__).with_name("broken_files.yaml").read_text("utf-8"))


def read(row: Mapping[str, Any], folder: Path) -> RootDefinition:
    """A row's configuration read as a program reads it: layers, placeholders, shape."""
    folder.mkdir()
    for name, text in {"agentforge.yaml": row["text"], **row.get("files", {})}.items():
        (folder / name).write_text(text, "utf-8")
    layers = load_layers(
        folder / "agentforge.yaml",
        profiles=row.get("profiles", ()),
        sets=row.get("sets", ()),
        environment=row.get("environment", {}),
    )
    reporter = Reporter(layers.files)
    root = interpolate(layers.root, Variables(layers.environment), reporter)
    assert isinstance(root, MappingNode)
    definition = read_root(root, reporter)
    reporter.raise_if_any()
    return definition


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_broken_file_shows_all_its_faults(row: Mapping[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "project"

    with pytest.raises(ConfigurationFaults) as raised:
        read(row, folder)

    found = [
        (fault.code, str(fault.mark).replace(f"{folder}/agentforge.yaml:", "").replace(f"{folder}/", ""), fault.message)
        for fault in raised.value.diagnostics
    ]
    assert found == [(code, place, message.replace("{folder}", str(folder))) for code, place, message in row["faults"]]
    assert row.get("next") in (None, raised.value.diagnostics[0].next_step)
    assert raised.value.code == row["faults"][0][0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_its_twin_is_read(row: Mapping[str, Any], tmp_path: Path) -> None:
    definition = read({**row, **row["twin"]}, tmp_path / "project")

    assert definition.version == 1


def test_each_block_of_the_error_shows_code_place_line_and_advice(tmp_path: Path) -> None:
    """What a user sees on the terminal, whole."""
    with pytest.raises(ConfigurationFaults) as raised:
        read({"text": "beans:\n  model: {tpye: scripted}\n  Two: {type: scripted}\n"}, tmp_path / "p")

    file = tmp_path / "p" / "agentforge.yaml"
    assert str(raised.value) == (
        f"[AF109] {file}:2:11: the bean 'model' has no 'type'\n"
        "  2 |   model: {tpye: scripted}\n"
        "    |           ^\n"
        "  next: Did you mean 'type'?\n"
        "\n"
        f"[AF114] {file}:3:3: 'Two' cannot name a bean\n"
        "  3 |   Two: {type: scripted}\n"
        "    |   ^\n"
        "  next: Names are small letters, digits and single underscores, and begin with a letter."
    )


def test_a_missing_file_says_which_and_what_to_do(tmp_path: Path) -> None:
    """There is no line to show; the path is the place."""
    with pytest.raises(ConfigurationFaults) as raised:
        load_layers(tmp_path / "none.yaml", environment={})

    [fault] = raised.value.diagnostics
    assert (fault.code, fault.mark.in_file) == ("AF101", False)
    assert fault.message == f"the file '{tmp_path / 'none.yaml'}' does not exist"
    assert fault.next_step == "Check the path, or name another file with --config."


@pytest.mark.parametrize(
    ("data", "place", "code"),
    [
        (b"beans: {}\nname: caf\xe9\n", (2, 10), "AF102"),
        ("é: 1\nx: ".encode() + b"\xff", (2, 4), "AF102"),
        (b"#" * (1024 * 1024 + 1), (1, 1), "AF104"),
    ],
)
def test_bytes_that_are_no_text_of_ours(data: bytes, place: tuple[int, int], code: str, tmp_path: Path) -> None:
    """Neither another encoding nor a file beyond 1 MiB."""
    (tmp_path / "agentforge.yaml").write_bytes(data)

    with pytest.raises(ConfigurationFaults) as raised:
        load_layers(tmp_path / "agentforge.yaml", environment={})

    [fault] = raised.value.diagnostics
    assert (fault.code, fault.mark.line, fault.mark.column) == (code, *place)
