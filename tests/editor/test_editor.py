"""What an editor makes of a configuration with the schema of `agentforge schema`: by a real language server where one
is installed, and always by the schema's own rules."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from agentforge.cli.main import run
from agentforge.config import MappingNode, Node, SequenceNode, read_yaml
from tests.editor.language_server import LanguageServer

SERVER = Path(__file__).parent / ".server" / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
FILE = """\
# yaml-language-server: $schema=schema/agentforge.schema.json
agentforge: 1
beans:
  model:
    type: scripted
    turnz: [Hello.]
  assistant:
    type: chat_client
    tools: []
    max_threads: many
    system: "${PROMPT}"
  other:
    type: nowhere.chat
  inner:
    type: chat_client
    model:
      type: scripted
      replay: true
    bean: {lasy: true}
"""
#: Line and the name that stands there (for a missing key: where its mapping begins).
UNDERLINED = {6: "turnz", 7: "model", 10: "integer", 13: "nowhere.chat", 18: "replay", 19: "lasy"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the schema, as a user makes it."""
    out = io.StringIO()
    words = ["schema", "-o", str(tmp_path / "schema" / "agentforge.schema.json")]
    assert run(words, stdout=out, stderr=out, environment={"AGENTFORGE_LOAD_PLUGINS": ""}) == 0, out.getvalue()
    return tmp_path


@pytest.fixture
def server(project: Path) -> Iterator[LanguageServer]:
    """The language server over that folder."""
    node = shutil.which("node")
    if node is None or not SERVER.exists():
        pytest.skip("no language server is installed here; `make test` installs it where there are node and npm")
    with LanguageServer([node, str(SERVER), "--stdio"], project) as running:
        yield running


def test_an_editor_underlines_completes_and_explains(server: LanguageServer) -> None:
    """Misspelt and missing keys at their lines; inside a bean its settings; over a key its description."""
    faults = dict(server.faults("agentforge.yaml", FILE))

    assert sorted(faults) == sorted(UNDERLINED)
    assert "turnz" in faults[6] and "not allowed" in faults[6]
    assert 'Missing property "model"' in faults[7]
    assert '"scripted"' in faults[13]

    text = FILE.replace("    tools: []\n", "    tools: []\n    \n")
    assert server.faults("second.yaml", text)
    offered = server.offers("second.yaml", 10, 5)
    assert {"model", "tool_choice", "tool_timeout", "bean", "gates"} <= offered
    assert not {"turns", "component", "tools", "ChatClientSettings"} & offered

    assert "How many worker threads run synchronous tools." in server.words_at("second.yaml", 11, 6)
    assert "A model with its tools, limits, error strategies and system prompt." in server.words_at(
        "second.yaml", 8, 14
    )


def test_the_schemas_own_rules_say_the_same(project: Path) -> None:
    """Without an editor: the places of the same faults, read from the same file."""
    schema = json.loads((project / "schema" / "agentforge.schema.json").read_text("utf-8"))
    root = read_yaml(FILE, "agentforge.yaml", layer="file")
    assert root is not None

    found = dict(underlined(schema, FILE, root))

    assert sorted(found) == sorted(UNDERLINED)
    assert "turnz" in found[6] and "model" in found[7] and "replay" in found[18] and "lasy" in found[19]


def test_a_good_file_has_nothing_underlined(project: Path) -> None:
    """Its placeholders and its references in every form included."""
    schema = json.loads((project / "schema" / "agentforge.schema.json").read_text("utf-8"))
    text = """\
agentforge: 1
beans:
  model: {type: scripted, turns: [Hello.], repeat: "${AGAIN:false}"}
  assistant:
    type: chat_client
    model: {ref: model}
    tools: [{type: python_tools, component: Desk}, "${DESK:desk}"]
    error_handlers: {arguments: mask, execution: {type: template, text: "{error}"}}
    tool_timeout: "${SECONDS:10s}"
    bean: {lazy: "${LAZY:true}", when: {profile: [day, night], property: "A=1"}}
  desk: {type: python_tools, component: Desk}
  base: {type: scripted, bean: {abstract: true}}
  slow: {name: slow, bean: {extends: base}}
"""
    root = read_yaml(text, "agentforge.yaml", layer="file")
    assert root is not None

    assert list(underlined(schema, text, root)) == []


def underlined(schema: dict[str, Any], text: str, root: Node) -> Iterator[tuple[int, str]]:
    """The line and the words of everything that does not fit the schema."""
    for error in jsonschema_rs.Draft7Validator(schema).iter_errors(yaml.safe_load(text)):
        names = getattr(error.kind, "unexpected", [])
        for name in names or [None]:
            yield line_of(root, [*error.instance_path, *([name] if name else [])]), error.message


def line_of(node: Node, path: list[str | int]) -> int:
    """The line of the last key on the way."""
    line = node.mark.line
    for step in path:
        if isinstance(node, MappingNode):
            entry = node.entries[str(step)]
            line, node = entry.key_mark.line, entry.node
        elif isinstance(node, SequenceNode):
            node = node.items[int(step)]
            line = node.mark.line
    return line
