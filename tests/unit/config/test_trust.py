"""The files of strangers, read as data: they import nothing, and stay in their folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge.config import ConfigurationFaults, load_layers, load_mapping
from agentforge.config.trust import is_inside


def project(folder: Path, files: Mapping[str, str]) -> Path:
    """These files beside a file that lies outside of their folder; the root file."""
    inside = folder / "inside"
    inside.mkdir()
    (folder / "outside.yaml").write_text("beans: {}\n", "utf-8")
    for name, text in files.items():
        (inside / name).write_text(text, "utf-8")
    return inside / "agentforge.yaml"


@pytest.mark.parametrize(
    ("files", "profiles", "place", "message"),
    [
        ({"agentforge.yaml": "scan: [os]\n"}, [], "agentforge.yaml:1:1", "'scan' chooses what is imported"),
        (
            {"agentforge.yaml": "", "agentforge-x.yaml": "scan: [os]\n"},
            ["x"],
            "agentforge-x.yaml:1:1",
            "'scan' chooses what is imported",
        ),
        (
            {"agentforge.yaml": "include: [../outside.yaml]\n"},
            [],
            "agentforge.yaml:1:11",
            "the file '/../outside.yaml' is outside the folder",
        ),
        (
            {"agentforge.yaml": "", ".env": "A=1\nAGENTFORGE_SECRETS_DIR=/\n"},
            [],
            ".env:2:1",
            "AGENTFORGE_SECRETS_DIR is a setting of the program",
        ),
    ],
)
def test_data_neither_chooses_code_nor_leaves_its_folder(
    files: Mapping[str, str], profiles: list[str], place: str, message: str, tmp_path: Path
) -> None:
    """Each is a fault with its place; the same file is read where it is believed."""
    root = project(tmp_path, files)

    with pytest.raises(ConfigurationFaults) as raised:
        load_layers(root, profiles=profiles, environment={}, trust="data")

    [fault] = raised.value.diagnostics
    assert (fault.code, str(fault.mark)) == ("AF123", f"{root.parent}/{place}")
    assert fault.message.replace(str(root.parent), "").startswith(message)
    assert fault.next_step
    assert load_layers(root, profiles=profiles, environment={}).trust == "code"


def test_a_link_leads_no_profile_out_of_the_folder(tmp_path: Path) -> None:
    root = project(tmp_path, {"agentforge.yaml": ""})
    (root.parent / "agentforge-x.yaml").symlink_to(tmp_path / "outside.yaml")

    with pytest.raises(ConfigurationFaults) as raised:
        load_layers(root, profiles=["x"], environment={}, trust="data")

    assert raised.value.code == "AF123"


def test_data_inside_its_folder_is_read(tmp_path: Path) -> None:
    """With includes, profiles, variables, and an empty list of packages."""
    files = {
        "agentforge.yaml": "scan: []\ninclude: [more.yaml]\nbeans: {model: {type: scripted}}\n",
        "more.yaml": "beans: {}\n",
        "agentforge-x.yaml": "beans: {}\n",
        ".env": "A=1\nAGENTFORGE_BEANS__MODEL__NAME=x\n",
    }
    layers = load_layers(project(tmp_path, files), profiles=["x"], environment={}, trust="data")

    assert (layers.trust, layers.profiles, layers.environment["A"]) == ("data", ("x",), "1")


def test_a_mapping_of_a_stranger_is_bound_alike(tmp_path: Path) -> None:
    root = project(tmp_path, {"more.yaml": "beans: {}\n"})
    data: dict[str, Any] = {"scan": ["os"], "include": ["../outside.yaml"]}

    with pytest.raises(ConfigurationFaults) as raised:
        load_mapping(data, folder=root.parent, environment={}, trust="data")

    assert [fault.code for fault in raised.value.diagnostics] == ["AF123", "AF123"]
    assert load_mapping({"include": ["more.yaml"]}, folder=root.parent, environment={}, trust="data").trust == "data"


@pytest.mark.parametrize(
    ("path", "inside"), [("a", True), ("a/../b", True), (".", True), ("../a", False), ("/", False), ("a\0b", False)]
)
def test_a_path_is_inside_a_folder(path: str, inside: bool, tmp_path: Path) -> None:
    assert is_inside(tmp_path / path, tmp_path) is inside
