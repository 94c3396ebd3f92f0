"""`agentforge explain`: the graph, the order, the conditions, who set what; never a secret."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

FILE = """\
agentforge: 1
scan: [MODULE]
include: [common.yaml]
beans:
  model:
    type: scripted
    name: "${MODEL_NAME:demo}"
    turns: [Hello.]
    bean: {aliases: [main]}
  weather: {type: python_tools, component: WeatherTools, bean: {lazy: true}}
  spare: {type: scripted, turns: [Bye.], bean: {when: {profile: night}}}
  barred: {type: component, api_key: sk-literal, bean: {when: {profile: day}}}
  vault: {type: component, component: Vault, arguments: {token: "Bearer ${secret:DOOR_KEY}", api_key: sk-literal}}
  assistant:
    type: chat_client
    model: model
    tools: [weather]
    error_handlers: {arguments: mask}
    max_threads: 3
"""
VAULT = """
class Vault:
    def __init__(self, token: object, api_key: str) -> None:
        self.token = token
"""


@pytest.fixture
def desk(project: Any) -> Any:
    """A project with every layer; the secret is in the environment."""
    path = project.folder / f"{project.module}.py"
    path.write_text(path.read_text("utf-8") + VAULT, "utf-8")
    project.write("agentforge.yaml", FILE)
    project.write("common.yaml", "beans:\n  model: {repeat: true}\n")
    project.write("agentforge-night.yaml", "beans:\n  assistant: {system: Be brief.}\n")
    project.write(".env", "MODEL_NAME=from-dotenv\nAGENTFORGE_BEANS__ASSISTANT__MAX_RESULT_BYTES=99\n")
    project.environment["DOOR_KEY"] = "sesame-9000"
    return project


def told(desk: Any, *words: str, **environment: str) -> dict[str, Any]:
    """What is told, as data."""
    ended = desk.run("explain", *words, "--json", environment=environment)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_the_graph_as_a_tree(desk: Any) -> None:
    """Roots are the beans that nobody uses; what is shared stands once; marks say what is special."""
    tree = desk.run("explain").out.split("\n\n")[1].splitlines()

    assert tree == [
        "vault: component",
        "assistant: chat_client",
        "├─ tools.0: weather (python_tools, lazy)",
        "├─ error_handlers.arguments: mask, in place",
        "└─ model: model (scripted, alias main)",
    ]


def test_a_shared_bean_is_shown_once(desk: Any) -> None:
    """And named where it is used again."""
    desk.write("agentforge.yaml", FILE + "  second: {type: chat_client, model: model}\n")
    out = desk.run("explain").out

    assert "└─ model: model (scripted, alias main)" in out and "└─ model: model (shown above)" in out


def test_order_of_building_and_of_lists(desk: Any) -> None:
    """Each bean after those it needs; each item of a list with its reason."""
    data = told(desk)

    order = data["build_order"]
    assert order.index("assistant") > max(order.index("model"), order.index("weather"))
    [tools] = [each for each in data["lists"] if each["setting"] == "tools"]
    assert tools["bean"] == "assistant"
    assert [item["bean"] for item in tools["items"]] == ["weather"] and tools["items"][0]["reason"]


@pytest.mark.parametrize(("words", "included"), [([], False), (["--profile", "night"], True)])
def test_why_a_conditional_bean_is_in_or_out(desk: Any, words: list[str], included: bool) -> None:
    """With the reason, in text and as data."""
    condition = told(desk, *words)["conditions"][0]
    text = desk.run("explain", *words).out

    assert (condition["bean"], condition["included"]) == ("spare", included)
    assert "night" in condition["reasons"][0]
    assert f"spare is {'in' if included else 'out'}: {condition['reasons'][0]}" in text


def test_a_bean_that_is_not_built_is_explained_all_the_same(project: Any) -> None:
    """By its name alone: why it is out, or that it is a base, and who set its values."""
    project.write(
        "agentforge.yaml",
        "beans:\n"
        "  base: {type: scripted, turns: [Hi.], bean: {abstract: true}}\n"
        "  night: {type: scripted, turns: [Hi.], bean: {when: {profile: night}}}\n",
    )
    out, base = (project.run("explain", name).out.splitlines() for name in ("night", "base"))

    assert out[:2] == ["beans.night: not built", "  its bean is out: the profile 'night' is not active"]
    assert base[:2] == ["beans.base: not built", "  it is there to be extended"]
    assert any(line.startswith("beans.base.turns") for line in base)


def test_a_value_of_a_bean_that_is_out_says_so(desk: Any) -> None:
    """The file still knows it."""
    data = told(desk, "beans.spare.turns")

    assert data["value"] == ["Bye."] and "night" in data["out"][0]
    assert "its bean is out" in desk.run("explain", "beans.spare.turns").out


@pytest.mark.parametrize(
    ("path", "value", "layer", "place"),
    [
        ("beans.model.repeat", True, "include common.yaml", "common.yaml:2:19"),
        ("beans.assistant.max_threads", 3, "file", "agentforge.yaml:19:18"),
        ("beans.assistant.system", "Be brief.", "profile night", "agentforge-night.yaml:2:23"),
        ("beans.assistant.max_result_bytes", 99, ".env", ".env:2:1"),
        (
            "beans.assistant.max_concurrent_tools",
            5,
            "environment",
            "environment AGENTFORGE_BEANS__ASSISTANT__MAX_CONCURRENT_TOOLS",
        ),
        ("beans.assistant.tool_choice", "auto", "command line", "command line --set beans.assistant.tool_choice"),
        ("beans.assistant.argument_limits.max_depth", 64, "default", None),
        ("beans.assistant.error_handlers.execution", None, "default", None),
        ("beans.main.turns", ["Hello."], "file", "agentforge.yaml:8:12"),
        ("agentforge", 1, "file", "agentforge.yaml:1:13"),
    ],
)
def test_which_layer_set_a_value(desk: Any, path: str, value: object, layer: str, place: str | None) -> None:
    """With its place; the same in the list of all and for the one."""
    words = ["--profile", "night", "--set", "beans.assistant.tool_choice=auto"]
    variables = {"AGENTFORGE_BEANS__ASSISTANT__MAX_CONCURRENT_TOOLS": "5"}
    found = told(desk, path, *words, **variables)
    listed = {each["path"]: each for each in told(desk, *words, **variables)["values"]}

    for each in (found, listed[path.replace("beans.main", "beans.model")]):
        assert (each["value"], each["layer"]) == (value, layer)
        assert (place is None and each["place"] is None) or str(each["place"]).endswith(str(place))


@pytest.mark.parametrize(
    ("environment", "through"),
    [
        ({"MODEL_NAME": "x"}, "${MODEL_NAME} from the environment"),
        ({}, "${MODEL_NAME} from .env"),
    ],
)
def test_a_placeholder_says_where_its_value_came_from(desk: Any, environment: dict[str, str], through: str) -> None:
    """The file holds the placeholder, somebody else the value."""
    assert told(desk, "beans.model.name", **environment)["through"] == [through]
    assert through in desk.run("explain", "beans.model.name", environment=environment).out


def test_a_placeholder_with_its_default(desk: Any) -> None:
    """Nobody set the variable."""
    desk.write(".env", "")
    found = told(desk, "beans.model.name")

    assert (found["value"], found["through"]) == ("demo", ["${MODEL_NAME} by its default"])


def test_one_value_says_what_it_is_and_would_be(desk: Any) -> None:
    """Its default and its description."""
    assert desk.run("explain", "beans.assistant.max_threads").out.splitlines() == [
        "beans.assistant.max_threads = 3",
        f"  set by file ({desk.file}:19:18)",
        "  default: 32",
        "  How many worker threads run synchronous tools.",
    ]
    assert "  set by default" in desk.run("explain", "beans.assistant.tool_timeout").out


def test_one_bean(desk: Any) -> None:
    """What it uses, who uses it, its values; by its path or its name alone."""
    data = told(desk, "beans.model")

    assert data["used_by"] == [{"bean": "assistant", "setting": "model"}]
    assert {each["path"] for each in data["values"]} > {"beans.model.type", "beans.model.repeat", "beans.model.file"}
    assert told(desk, "model") == told(desk, "main") == data
    assert "used by assistant as model" in desk.run("explain", "model").out


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("beans.assistant.modle", "Did you mean 'model'?"),
        ("beans.assistant.typ", "Did you mean 'type'?"),
        ("beans.assistnat", "Did you mean 'assistant'?"),
        ("beans.assistant.argument_limits.max_dept", "Did you mean 'max_depth'?"),
        ("beens", "Did you mean 'beans'?"),
        ("AF999", "docs/reference/errors.md lists all codes."),
    ],
)
def test_a_path_that_leads_nowhere(desk: Any, path: str, step: str) -> None:
    """Is answered with the nearest that does."""
    ended = desk.run("explain", path)

    assert (ended.code, ended.out) == (1, "")
    assert step in ended.err


@pytest.mark.parametrize(
    "words", [[], ["beans.vault"], ["beans.vault.arguments.token"], ["beans.vault.arguments.api_key"]]
)
@pytest.mark.parametrize("form", ["text", "json", "mermaid", "dot"])
def test_no_secret_is_ever_shown(desk: Any, words: list[str], form: str) -> None:
    """Neither one of a secret source, nor a text that holds one, nor what a file gives literally."""
    ended = desk.run("explain", *words, "--format", form)

    assert ended.code == 0
    for secret in ("sesame", "sk-literal", "Bearer"):
        assert secret not in ended.out + ended.err
    if words and form in ("text", "json"):
        assert "***" in ended.out


def test_short_secrets_of_settings_are_masked_too(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kind of the setting, where the value itself is too short to be looked for in texts; a default as well."""
    module = f"{project.module}_safe"
    project.write(
        f"{module}.py",
        "from agentforge.plugin import BeanSettings, BeanType, SecretStr, hookimpl\n"
        "class Settings(BeanSettings):\n    pin: SecretStr\n    old: SecretStr = SecretStr('q7')\n"
        "    more: dict[str, SecretStr] = {}\n"
        "@hookimpl\ndef agentforge_bean_types(register):\n"
        "    register(BeanType('safe.box', Settings, lambda _: object(), object, 'A box.'))\n",
    )
    project.install("safe", module)
    monkeypatch.syspath_prepend(project.folder)
    project.write("agentforge.yaml", "agentforge: 1\nbeans:\n  box: {type: safe.box, pin: '42x', more: {a: 8zz}}\n")
    shown = "".join(
        project.run("explain", *words).out
        for words in ([], ["beans.box"], ["beans.box.pin"], ["beans.box.old"], ["beans.box.more"], ["--json"])
    )

    assert not re.search("42x|q7|8zz", shown) and shown.count("***") >= 8


@pytest.mark.parametrize("form", ["json", "mermaid", "dot", "text"])
def test_a_faulty_file_is_reported_as_check_does(desk: Any, form: str) -> None:
    """Faults alone."""
    desk.write("agentforge.yaml", "agentforge: 1\nbeans:\n  model: {type: scripte}\n")
    ended = desk.run("explain", "--format", form)

    assert (ended.code, ended.out) == (1, "") and "AF211" in ended.err


def test_the_graph_for_mermaid(desk: Any) -> None:
    """Ids of our own; every name in quotes and without what would end them."""
    lines = desk.run("explain", "--format", "mermaid").out.splitlines()
    node = re.compile(r'  b\d+\["[^"<>]+<br/>[^"<>]+"\]')
    edge = re.compile(r'  b\d+ (?:-->|-\.->)\|"[^"|]+"\| b\d+')

    assert lines[0] == "flowchart TD"
    assert all(node.fullmatch(line) or edge.fullmatch(line) for line in lines[1:])
    assert sum(bool(edge.fullmatch(line)) for line in lines) == 3


def test_the_graph_for_dot(desk: Any) -> None:
    """As its grammar has it: statements of quoted names, each with attributes in brackets."""
    out = desk.run("explain", "--format", "dot").out
    body = re.fullmatch(r"digraph beans \{\n(.*)\n\}\n", out, re.DOTALL)
    quoted = r'"(?:[^"\\]|\\.)*"'
    statement = re.compile(
        rf"  (?:node|(?P<from>{quoted})(?: -> (?P<to>{quoted}))?) \[\w+=(?:{quoted}|\w+)(?:, \w+=\w+)?\];"
    )
    assert body is not None
    found = [statement.fullmatch(line) for line in body[1].splitlines()]

    assert all(found)
    nodes = {each["from"] for each in found if each and each["from"] and not each["to"]}
    edges = {(each["from"], each["to"]) for each in found if each and each["to"]}
    assert ('"assistant"', '"model"') in edges
    assert {end for edge in edges for end in edge} <= nodes


def test_both_ways_to_ask_for_data(desk: Any) -> None:
    """`--json` and `--format json`."""
    assert desk.run("explain", "--json").out == desk.run("explain", "--format", "json").out


def test_a_code_is_explained_without_a_configuration(project: Any) -> None:
    """In letters of either case; meaning, broken and right example, where more is said."""
    Path(project.file).unlink()
    out = project.run("explain", "af107").out

    assert out.startswith("AF107 UNKNOWN_KEY: ")
    assert "turn: [Hello.]" in out and "turns: [Hello.]" in out
    assert out.rstrip().endswith("documentation: docs/reference/errors.md#af107")
    assert told(project, "AF107")["help"] == "docs/reference/errors.md#af107"


@pytest.mark.parametrize("format", ["mermaid", "dot"])
def test_data_and_a_drawing_are_two_things(project: Any, format: str) -> None:
    """What says ``--json`` is JSON or nothing."""
    ended = project.run("explain", "--json", "--format", format)

    assert (ended.code, ended.out) == (2, "")
    assert json.loads(ended.err)["error"]["message"].endswith(f"--json and --format {format} ask for two things")
