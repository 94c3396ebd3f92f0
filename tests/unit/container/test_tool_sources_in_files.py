"""Sources of tools as beans: views over them, and tools that are data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest

from agentforge import AgentForge, ReturnBehavior, Run, ToolOutcome, ToolSource
from agentforge.client import ChatClient
from agentforge.config import ConfigurationFaults
from agentforge.errors import ConfigurationError
from agentforge.tool import BoundTool
from tests.unit.container.kit import Kit, faults_of, marked

PARTS = """
from agentforge import tool

class Shop:
    @tool
    def find(self, text: str) -> str:
        "Find."
        return f"found {text}"

    @tool
    def book(self, item: str) -> str:
        "Book."
        return f"booked {item}"

    @tool
    def cancel(self, item: str) -> str:
        "Cancel."
        return f"cancelled {item}"

def run_it(request, context):
    return f"{request.name} {request.arguments_as_map()} for {context.tenant}"

class Runner:
    def execute(self, request, memory_id):
        return f"{request.name} in {memory_id}"

class NoRunner: ...
"""


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """With a module of components beside the file, which is forgotten afterwards."""
    kit.write("container_shop.py", PARTS)
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


def scanned(kit: Kit, beans: str) -> AgentForge:
    return kit.load("scan: [container_shop]\nbeans:\n" + indent(beans, "  "))


async def offered(app: AgentForge, bean: str) -> dict[str, BoundTool]:
    async with app:
        source = app.get(bean)
        assert isinstance(source, ToolSource)
        return {each.name: each for each in await source.tools(Run())}


SHOP = "shop: {type: python_tools, component: Shop}\n"

SETTINGS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "nothing": ("", [("find", "Find."), ("book", "Book."), ("cancel", "Cancel.")]),
    "only": ("only: [find, can*]", [("find", "Find."), ("cancel", "Cancel.")]),
    "without": ("without: [find]", [("book", "Book."), ("cancel", "Cancel.")]),
    "except": ("except: [find]", [("book", "Book."), ("cancel", "Cancel.")]),
    "without and except": ("without: [find], except: [book]", [("cancel", "Cancel.")]),
    "rename": ("rename: {find: search}", [("search", "Find."), ("book", "Book."), ("cancel", "Cancel.")]),
    "describe": ("describe: {find: Look.}", [("find", "Look."), ("book", "Book."), ("cancel", "Cancel.")]),
    "prefix": ("prefix: s_", [("s_find", "Find."), ("s_book", "Book."), ("s_cancel", "Cancel.")]),
    "all of them": (
        "only: ['*'], except: [c*], rename: {find: search}, describe: {find: Look.}, prefix: s_",
        [("s_search", "Look."), ("s_book", "Book.")],
    ),
    "names that change places": (
        "only: [find, book], rename: {find: book, book: find}",
        [("book", "Find."), ("find", "Book.")],
    ),
}


@pytest.mark.parametrize(("settings", "expected"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize(
    "beans",
    [
        "it: {type: python_tools, component: Shop, «}\n",
        SHOP + "it: {type: tool_view, source: shop, «}\n",
        SHOP + "half: {type: tool_view, source: shop}\nit: {type: tool_view, source: half, «}\n",
    ],
    ids=["python_tools", "tool_view", "a view of a view"],
)
async def test_settings_of_a_view_mean_the_same_everywhere(
    kit: Kit, beans: str, settings: str, expected: list[tuple[str, str]]
) -> None:
    """Whether the source itself has them or a view over it."""
    found = await offered(scanned(kit, beans.replace("«", settings)), "it")

    assert [(name, each.specification.description) for name, each in found.items()] == expected


async def test_a_tool_runs_under_whatever_name(kit: Kit) -> None:
    beans = SHOP + (
        "desk: {type: tool_view, source: shop, only: [book], rename: {book: reserve}, prefix: d_}\n"
        "model: {type: scripted, turns: [{calls: [{name: d_reserve, arguments: {item: hat}}]}, Done.]}\n"
        "client: {type: chat_client, model: model, tools: [shop, desk]}\n"
    )
    async with scanned(kit, beans) as app:
        result = await app.get(ChatClient).prompt("q").call()

    assert [each.result_text() for each in result.tool_executions] == ["booked hat"]


PING = "name: ping, description: Ping., parameters: {type: object, properties: {n: {type: integer}}, required: [n]}"
RUNNER = "runner: {type: component, component: run_it}\n"


async def test_tools_that_are_data_run_by_one_executor(kit: Kit) -> None:
    """Some in the file, some beside it; arguments are checked against their schemas."""
    kit.write("more.yaml", "- name: pong\n  description: Pong.\n")
    beans = RUNNER + (
        f"data: {{type: declared_tools, executor: runner, tools: [{{{PING}}}], file: more.yaml}}\n"
        "model: {type: scripted, turns: ["
        "{calls: [{name: ping, arguments: {n: '3'}}, {name: pong}, {name: ping, arguments: {m: 1}}]}, Done.]}\n"
        "client: {type: chat_client, model: model, tools: [data], error_handlers: {arguments: return_to_model}}\n"
    )
    async with scanned(kit, beans) as app:
        result = await app.get(ChatClient).prompt("q").tenant("acme").call()

    texts = [each.result_text() for each in result.tool_executions]
    assert texts[:2] == ["ping {'n': 3} for acme", "pong {} for acme"]
    assert result.tool_executions[2].outcome is ToolOutcome.INVALID_ARGUMENTS


async def test_all_that_a_tool_may_say_can_be_said_in_the_file(kit: Kit) -> None:
    beans = RUNNER + (
        "data:\n  type: declared_tools\n  executor: runner\n  tools:\n"
        "    - {name: a, strict: true, metadata: {team: till}, return_direct: true, effect: write, timeout: 2s,\n"
        "       serial: till, sequential: true}\n"
        "    - {name: b, return_behavior: immediate_if_last}\n"
    )
    found = await offered(scanned(kit, beans), "data")
    a, b = found["a"], found["b"]

    assert (a.specification.strict, dict(a.specification.metadata)) == (True, {"team": "till"})
    assert (a.return_behavior, a.effect, a.timeout, a.serial, a.sequential, a.source_name) == (
        ReturnBehavior.IMMEDIATE,
        "write",
        2.0,
        "till",
        True,
        "data",
    )
    assert (b.return_behavior, b.specification.description) == (ReturnBehavior.IMMEDIATE_IF_LAST, None)


async def test_a_file_of_tools_may_be_json_and_the_executor_an_object(kit: Kit) -> None:
    kit.write("tools.json", '[{"name": "ping", "parameters": {"type": "object", "properties": {}}}]')
    beans = (
        "runner: {type: component, component: Runner}\n"
        "data: {type: declared_tools, executor: runner, file: tools.json}\n"
        "model: {type: scripted, turns: [{calls: [{name: ping}]}, Done.]}\n"
        "client: {type: chat_client, model: model, tools: [{type: tool_view, source: data}]}\n"
    )
    async with scanned(kit, beans) as app:
        result = await app.get(ChatClient).prompt("q").memory_id("m-1").call()

    assert [each.result_text() for each in result.tool_executions] == ["ping in m-1"]


DATA = RUNNER + "data: {type: declared_tools, executor: runner, "
WRONG: dict[str, tuple[str, str, str | None]] = {
    "except that fits none": (
        "it: {type: python_tools, component: Shop, except: [«fnd]}",
        "no tool of the component 'Shop' is named 'fnd'",
        "It has find, book, cancel.",
    ),
    "a new name for none": (
        "it: {type: python_tools, component: Shop, rename: {fnd: «search}}",
        "no tool of the component 'Shop' is named 'fnd'",
        "It has find, book, cancel.",
    ),
    "a description of none": (
        SHOP + "it: {type: tool_view, source: shop, describe: {fnd: «Look.}}",
        "no tool of 'shop' is named 'fnd'",
        "It has find, book, cancel.",
    ),
    "a new name for one that is left out": (
        SHOP + "it: {type: tool_view, source: shop, except: [find], rename: {find: «search}}",
        "the tool 'find' of 'shop' is left out",
        "Leave this out, too.",
    ),
    "two tools that get one name": (
        "it: {type: python_tools, component: Shop, rename: «{find: book}}",
        "two tools of the component 'Shop' get the name 'book': 'find' and 'book'",
        "Give one of them another name.",
    ),
    "a view speaks of the names of the view below": (
        SHOP + "half: {type: tool_view, source: shop, prefix: s_}\nit: {type: tool_view, source: half, only: [«find]}",
        "no tool of 'half' is named 'find'",
        "It has s_find, s_book, s_cancel.",
    ),
    "a view beside its source": (
        SHOP + "it: {type: tool_view, source: shop, only: [find]}\nservice: {type: tool_service, tools: [shop, «it]}",
        "two tools are named 'find': of 'shop' and of 'it'",
        "Give one of the sources a 'prefix', or leave the tool out with 'without'.",
    ),
    "data beside a source": (
        SHOP + DATA + "tools: [{name: find}]}\nservice: {type: tool_service, tools: [shop, «data]}",
        "two tools are named 'find': of 'shop' and of 'data'",
        "Give one of the sources a 'prefix', or leave the tool out with 'without'.",
    ),
    "two tools that are data": (
        DATA + "tools: [{name: a}, {name: «a}]}",
        "two tools are named 'a'",
        "Give one of them another name.",
    ),
    "no file": (
        DATA + "file: «none.yaml}",
        "does not exist",
        "Check the path; it starts at the folder of the file in which it stands.",
    ),
    "a file with a slip": (DATA + "file: «slip.yaml}", "slip.yaml:2:3: a tool does not fit: nme: ", None),
    "a file that is no list": (
        DATA + "file: «map.yaml}",
        "holds no list of tools",
        "Begin each tool with '- name: NAME'.",
    ),
    "a schema that is no object": (
        DATA + "tools: [«{name: a, parameters: {type: string}}]}",
        "the schema of tool 'a' has the root type 'string'",
        "Put the value below a property of an object.",
    ),
    "parameters without a schema around them": (
        DATA + "tools: [«{name: a, parameters: {host: {type: string}}}]}",
        "the schema of tool 'a' has no type at its root",
        "Write {type: object, properties: …}.",
    ),
    "a schema that cannot be used": (
        DATA + "tools: [«{name: a, parameters: {type: object, properties: {b: {$ref: 'https://example.org/b'}}}}]}",
        "https://example.org/b",
        None,
    ),
    "behaviours that contradict": (
        DATA + "tools: [«{name: a, return_direct: true, return_behavior: to_llm}]}",
        "return_direct and return_behavior contradict each other",
        None,
    ),
    "nothing declared": (RUNNER + "data: «{type: declared_tools, executor: runner}", "give tools or file", None),
}


@pytest.mark.parametrize(("beans", "message", "step"), WRONG.values(), ids=WRONG)
def test_mistakes_are_found_when_the_file_is_checked(kit: Kit, beans: str, message: str, step: str | None) -> None:
    """One fault each, at its place."""
    kit.write("slip.yaml", "- name: fine\n- nme: a\n  name: b\n")
    kit.write("map.yaml", "name: a\n")
    text, places = marked("scan: [container_shop]\nbeans:\n" + indent(beans, "  "))
    (fault,) = faults_of(kit.load(text))

    assert fault.code == "AF108" and message in fault.message
    assert step is None or fault.next_step == step
    assert [f"{fault.mark.line}:{fault.mark.column}"] == places


def test_an_executor_that_cannot_be_called_is_told(kit: Kit) -> None:
    beans = (
        "runner: {type: component, component: NoRunner}\n"
        "data: {type: declared_tools, executor: runner, tools: [{name: a}]}\n"
    )
    with pytest.raises(ConfigurationFaults, match="'runner' is a NoRunner, which runs no tool"):
        scanned(kit, beans).check()


def test_a_file_of_tools_is_read_once_for_all_checks(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many beans ask for its tools; the source reads it when it is made, and a later check reads it anew."""
    from agentforge.config import text_file

    kit.write("tools.yaml", "- name: ping\n")
    beans = RUNNER + (
        "data: {type: declared_tools, executor: runner, file: tools.yaml}\n"
        "half: {type: tool_view, source: data, only: [ping]}\n"
        "model: {type: scripted, turns: [Done.]}\n"
        "one: {type: chat_client, model: model, tools: [data], tool_choice: ping}\n"
        "two: {type: chat_client, model: model, tools: [half], tool_choice: ping}\n"
    )
    read: list[str] = []
    as_before = text_file.read_text_file

    def counting(path: Path) -> str:
        read.append(path.name)
        return as_before(path)

    monkeypatch.setattr(text_file, "read_text_file", counting)
    scanned(kit, beans).check()
    assert read == ["tools.yaml"]
    with scanned(kit, beans) as app:
        app.get("one")
    assert read == ["tools.yaml"] * 3

    kit.write("tools.yaml", "- name: pong\n")
    found = faults_of(scanned(kit, beans))
    assert any("no tool of 'data' is named 'ping'" in fault.message for fault in found)


def test_a_file_of_tools_that_may_not_be_read_is_not_read(kit: Kit) -> None:
    """Not for its names either, which a fault of another bean would tell."""
    folder = kit.folder / "inner"
    folder.mkdir()
    kit.write("secret.yaml", "- name: launch\n")
    (folder / "agentforge.yaml").write_text(
        "agentforge: 1\nbeans:\n"
        "  runner: {type: scripted, turns: []}\n"
        "  data: {type: declared_tools, executor: runner, file: ../secret.yaml}\n"
        "  client: {type: chat_client, model: {type: scripted, turns: []}, tools: [data], tool_choice: lunch}\n",
        "utf-8",
    )
    app = AgentForge.load(folder / "agentforge.yaml", environment={}, plugins=kit.plugins(), trust="data")
    with pytest.raises(ConfigurationError) as caught:
        app.check()

    assert "outside the folder" in str(caught.value) and "launch" not in str(caught.value)
