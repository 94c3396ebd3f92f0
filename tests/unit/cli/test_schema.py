"""`agentforge schema`: what an editor knows of the file, with the bean types that are installed."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

_printed: list[Any] = []


@pytest.fixture
def printed(project: Any) -> Any:
    """How `agentforge schema` ends, in any project: it takes half a second."""
    if not _printed:
        _printed.append(project.run("schema"))
    return _printed[0]


@pytest.fixture
def any_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small one in its place, where the matter is what becomes of it."""
    monkeypatch.setattr("agentforge.plugin.json_schema.configuration_schema", lambda types: {"definitions": [*types]})


def test_the_schema_is_printed(project: Any, printed: Any) -> None:
    """One document of JSON, which takes the project's own file."""
    import yaml

    ended = printed
    schema = json.loads(ended.out)

    assert (ended.code, ended.err) == (0, "")
    assert schema["$schema"].endswith("/draft-07/schema#")
    file = yaml.safe_load(Path(project.file).read_text("utf-8"))
    assert list(jsonschema_rs.Draft7Validator(schema).iter_errors(file)) == []


def test_it_is_the_same_as_data(project: Any, printed: Any) -> None:
    """In one line."""
    assert json.loads(project.run("schema", "--json").out) == json.loads(printed.out)


def test_it_is_written_and_the_first_line_of_the_file_named(project: Any, printed: Any) -> None:
    """With the path as an editor reads it, from the folder of the configuration; folders on the way are made."""
    path = project.folder / "editor" / "schema.json"
    ended = project.run("schema", "-o", str(path))

    assert ended.code == 0
    assert json.loads(path.read_text("utf-8")) == json.loads(printed.out)
    assert f"{path}: written, with" in ended.out
    assert ended.out.endswith("# yaml-language-server: $schema=editor/schema.json\n")
    assert [each.name for each in path.parent.iterdir()] == ["schema.json"]


@pytest.mark.usefixtures("any_schema")
def test_what_was_written_as_data(project: Any) -> None:
    """The file and the types in it."""
    path = project.folder / "schema.json"
    told = json.loads(project.run("schema", "-o", str(path), "--json").out)

    assert told["file"] == str(path) and "chat_client" in told["types"]


@pytest.mark.usefixtures("any_schema")
def test_a_place_that_cannot_be_written(project: Any) -> None:
    """Is one readable block, and leaves nothing behind."""
    (project.folder / "taken").write_text("", "utf-8")
    ended = project.run("schema", "-o", str(project.folder / "taken" / "schema.json"))

    assert ended.code == 1 and "cannot be written" in ended.err
    assert (project.folder / "taken").read_text("utf-8") == ""


def test_a_broken_plugin_is_named_and_left_out(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others' types are there; a plugin that is switched off is no news."""
    module = f"{project.module}_types"
    project.write(
        f"{module}.py",
        "from agentforge.plugin import BeanSettings, BeanType, hookimpl\n"
        "@hookimpl\ndef agentforge_bean_types(register):\n"
        "    register(BeanType('good.door', BeanSettings, lambda _: 1, int, 'A door.'))\n",
    )
    project.write(f"{module}_broken.py", "raise SystemExit(3)")
    project.install("good", module)
    project.install("broken", f"{module}_broken")
    project.install("quiet", f"{module}_broken")
    monkeypatch.syspath_prepend(project.folder)
    ended = project.run("schema", environment={"AGENTFORGE_DISABLE_PLUGINS": "quiet"})
    sys.modules.pop(module, None)

    assert ended.code == 0
    assert "good.door" in json.loads(ended.out)["definitions"]
    assert "warning: plugin 'broken'" in ended.err and "SystemExit" in ended.err and "'quiet'" not in ended.err


@pytest.mark.usefixtures("any_schema")
@pytest.mark.parametrize("place", ["", ".", "/", "editor"])
def test_a_folder_is_no_place_for_it(project: Any, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(project.folder)
    (project.folder / "editor").mkdir()
    ended = project.run("schema", "-o", place)

    assert ended.code == 1
    assert f"the file '{Path(place)}' cannot be written: it is a folder" in ended.err


@pytest.mark.usefixtures("any_schema")
def test_a_link_stays_one(project: Any) -> None:
    """And what it leads to is written."""
    link = project.folder / "link.json"
    link.symlink_to("there.json")

    assert project.run("schema", "-o", str(link)).code == 0
    assert link.is_symlink() and json.loads((project.folder / "there.json").read_text("utf-8"))


@pytest.mark.usefixtures("any_schema")
def test_a_pipe_is_written_to_and_not_replaced(project: Any) -> None:
    """As a device is: a file in its place would be found by everybody else."""
    pipe = project.folder / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")))
    reader.start()

    assert project.run("schema", "-o", str(pipe)).code == 0
    reader.join()
    assert json.loads(read[0]) and pipe.is_fifo()
