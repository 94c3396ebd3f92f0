"""``agentforge mcp list``, ``inspect`` and ``call``, as somebody types them, with a server that is a program."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentforge.cli.main import run

SERVER = Path(__file__).parent / "plain_server.py"
WARNING = "warning: the tool 'broken' of the MCP server 'plain' is left out: has the root type 'no type'\n"
MISSING = "/does/not/exist/server"


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Type = Callable[..., Done]


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """A file with a server that is there and one that is not, and with more that these commands have no use for."""
    beans: dict[str, Any] = {
        "plain": {"type": "mcp.stdio", "command": [sys.executable, "-I", "-S", str(SERVER)], "prefix": "p_"},
        "gone": {"type": "mcp.stdio", "command": [MISSING]},
        "model": {"type": "openai.chat", "base_url": "http://127.0.0.1:1", "model": "x", "api_key": "sk-canary-1"},
        "assistant": {"type": "chat_client", "model": "model", "tools": ["plain", "gone"]},
    }
    path = tmp_path / "agentforge.yaml"
    path.write_text(json.dumps({"agentforge": 1, "beans": beans}))
    return path


@pytest.fixture
def typed(configuration: Path) -> Type:
    """Run one command line with that file; the warning about the tool that is left out is not looked at."""

    def done(*words: str, stdin: str = "") -> Done:
        out, err = io.StringIO(), io.StringIO()
        given = ["mcp", *words, "--config", str(configuration)]
        code = run(given, stdin=io.StringIO(stdin), stdout=out, stderr=err, environment={})
        assert "Traceback" not in err.getvalue()
        return Done(code, out.getvalue(), err.getvalue().replace(WARNING, ""))

    return done


def test_list_shows_who_is_there_and_who_is_not(typed: Type) -> None:
    """All of them, whatever became of one; 1 as one is not there."""
    done = typed("list")
    head, plain, gone = done.out.splitlines()
    assert head.split() == ["bean", "transport", "protocol", "server", "tools", "state"]
    assert plain.split() == ["plain", "stdio", "2025-06-18", "plain", "3.1", "2", "connected"]
    assert gone.startswith("gone   stdio") and "down: the MCP server 'gone' could not be started" in gone
    assert done.code == 1


def test_list_as_data(typed: Type) -> None:
    """One object a server, the same keys in each."""
    plain, gone = json.loads(typed("list", "--json").out)
    assert plain == {
        "bean": "plain",
        "transport": "stdio",
        "protocol": "2025-06-18",
        "server": "plain",
        "version": "3.1",
        "tools": 2,
        "state": "connected",
        "error": None,
    }
    assert gone.keys() == plain.keys()
    assert (gone["state"], gone["tools"], MISSING in gone["error"]) == ("down", None, True)


def test_list_is_done_where_all_are_there(typed: Type, configuration: Path) -> None:
    """0, then."""
    data = json.loads(configuration.read_text())
    del data["beans"]["gone"], data["beans"]["assistant"]
    configuration.write_text(json.dumps(data))
    assert typed("list").code == 0


def test_inspect_shows_all_that_a_server_offers(typed: Type) -> None:
    """Each tool with its schema, hints, digest and what it is offered as; what was left out and why; the rest."""
    done = typed("inspect", "plain")
    assert done.code == 0
    assert done.out.startswith(
        "plain 3.1 (bean plain, stdio, 2025-06-18)\n\nAsk for little.\n\necho (offered as p_echo)\n"
    )
    for line in (
        "  Say it again.",
        '  input: {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}',
        '  hints, as the server gives them: {"readOnlyHint": true}',
        "  effect: undeclared",
        "  file:///notes.txt  What was noted.",
        "  greet  A greeting.",
    ):
        assert line in done.out.splitlines(), done.out
    assert "\nbroken: left out, " in done.out


def test_inspect_as_data(typed: Type) -> None:
    """The whole, with schemas as they came."""
    found = json.loads(typed("inspect", "plain", "--json").out)
    echo, fail = found["tools"]
    assert (echo["name"], echo["offered_as"], echo["pin"], echo["effect"]) == ("echo", "p_echo", "none", None)
    assert echo["input_schema"]["required"] == ["text"]
    assert echo["digest"].startswith("sha256:")
    assert fail["digest"] != echo["digest"]
    assert [each["name"] for each in found["dropped"]] == ["broken"]
    assert [each["uri"] for each in found["resources"]] == ["file:///notes.txt"]
    assert found["prompts"] == [{"name": "greet", "description": "A greeting.", "arguments": ["who"]}]


def test_pins_are_written_and_a_change_is_seen(typed: Type, configuration: Path) -> None:
    """What was accepted once is known again; a tool that says something else now, and a new one, are told apart."""
    pins = configuration.with_name("pins.json")
    done = typed("inspect", "plain", "--pin", str(pins), "--json")
    assert (done.code, done.err) == (0, f"pinned 2 tools in {pins}\n")
    data = json.loads(configuration.read_text())
    data["beans"]["plain"] |= {"pins": "pins.json", "on_change": "block"}
    configuration.write_text(json.dumps(data))
    assert [each["pin"] for each in json.loads(typed("inspect", "plain", "--json").out)["tools"]] == ["pinned"] * 2
    data["beans"]["plain"]["command"].append("changed")
    configuration.write_text(json.dumps(data))
    found = json.loads(typed("inspect", "plain", "--json").out)["tools"]
    assert {each["name"]: (each["pin"], each["offered_as"]) for each in found} == {
        "echo": ("changed, held back", None),
        "fail": ("pinned", "p_fail"),
        "late": ("new, held back", None),
    }
    text = typed("inspect", "plain").out
    assert "\necho (not offered)\n" in text


def test_pins_that_are_still_to_be_written_keep_nobody_from_writing_them(typed: Type, configuration: Path) -> None:
    """The command that every other one names; a tool that is not in them is held back, and that is said."""
    data = json.loads(configuration.read_text())
    pins = configuration.with_name("pins.json")
    data["beans"]["plain"] |= {"pins": "pins.json", "on_change": "block"}
    configuration.write_text(json.dumps(data))
    asked = f"agentforge mcp inspect plain --pin {pins}"
    for words in (["list"], ["call", "plain", "echo", '{"text": "x"}']):
        done = typed(*words)
        assert done.code == 1 and "pins.json' is not there" in done.err and asked in done.err
    assert typed("inspect", "plain", "--pin", str(pins)).code == 0
    assert typed("call", "plain", "echo", '{"text": "x"}').out == "x\n"
    written = json.loads(pins.read_text())
    del written["servers"]["plain"]["echo"]
    pins.write_text(json.dumps(written))
    done = typed("call", "plain", "echo", '{"text": "x"}')
    assert "the tool 'echo' of the server 'plain' is held back: it is new" in done.err
    assert "next: 'agentforge mcp inspect plain --pin FILE' accepts it." in done.err


@pytest.mark.parametrize("tool", ["echo", "p_echo"])
def test_call_prints_what_the_tool_gives(typed: Type, tool: str) -> None:
    """By the server's name for it or by ours; arguments as words or on standard input."""
    assert typed("call", "plain", tool, '{"text": "hello"}') == Done(0, "hello\n", "")
    assert typed("call", "plain", tool, "-", stdin='{"text": "hello"}').out == "hello\n"


def test_call_as_data(typed: Type) -> None:
    """The outcome, and the parts that are no text, of which else only the number is told."""
    data = json.loads(typed("call", "plain", "echo", '{"text": "picture"}', "--json").out)
    assert (data["name"], data["outcome"]) == ("p_echo", "ok")
    assert typed("call", "plain", "echo", '{"text": "picture"}') == Done(
        0, "picture\n", "(1 part of the result not shown: no text)\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["call", "plain", "echo", '{"txt": "x"}'], 1, "[AF401] the arguments of tool 'p_echo' do not fit"),
        (["call", "plain", "echo", "{"], 1, "[AF401]"),
        (["call", "plain", "fail"], 1, "it went wrong (tool 'p_fail', failed)"),
        (["call", "plain", "ehco"], 1, "next: Did you mean 'p_echo'?"),
        (["call", "plain", "broken"], 1, "[AF403] the server 'plain' offers no tool 'broken'"),
        (["call", "gone", "echo"], 1, "the MCP server 'gone' could not be started"),
        (["call", "assistant", "echo"], 1, "the bean 'assistant' is no MCP server"),
        (["call", "plian", "echo"], 1, "next: Did you mean 'plain'?"),
        (["call", "plain"], 2, "the following arguments are required: TOOL"),
        (["call", "plain", "echo", "{text:", "hello}"], 2, "Put the JSON into quotes"),
        (["inspect"], 2, "the following arguments are required: NAME"),
        (["inspect", "gone"], 1, "the MCP server 'gone' could not be started"),
        (["inspect", "plain", "--pin", "/does/not/exist/pins"], 1, "the pins cannot be written"),
        (["lst"], 2, "next: Did you mean 'list'?"),
        ([], 2, "next: One of serve, list, inspect, call."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_goes_wrong_is_one_block(typed: Type, words: list[str], code: int, said: str) -> None:
    """On standard error, and no result."""
    done = typed(*words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_a_file_without_servers_is_said_so(typed: Type, configuration: Path) -> None:
    """With what to do."""
    configuration.write_text('{"agentforge": 1, "beans": {"service": {"type": "tool_service"}}}')
    done = typed("list")
    assert (done.code, done.out) == (1, "")
    assert "the configuration has no MCP server" in done.err
    assert "mcp.stdio or mcp.http" in done.err


def test_help_lists_the_commands(typed: Type) -> None:
    """Each with its arguments and what it does."""
    done = typed("--help")
    assert [line.split()[0] for line in done.out.splitlines()[3:]] == ["serve", "list", "inspect", "call"]


def test_inspect_does_not_name_itself_as_the_next_step(typed: Type, configuration: Path) -> None:
    """It is what the others name."""
    data = json.loads(configuration.read_text())
    data["beans"]["gone"]["command"] = [sys.executable, "-c", "raise SystemExit(3)"]
    configuration.write_text(json.dumps(data))
    done = typed("inspect", "gone")
    assert "exited with code 3" in done.err and "next: See what it writes" in done.err
    assert "mcp inspect" not in done.err and "mcp inspect" in typed("call", "gone", "x").err
