"""The beans `mcp.stdio` and `mcp.http`: what a file may say, what is found in it, and how they live."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from agentforge import AgentForge, Run, ScriptedChatModel
from agentforge.errors import AgentForgeError
from agentforge.model import ToolSpecification
from agentforge.tool.execution import bound_tool_from
from agentforge_mcp.beans import _pins_of
from agentforge_mcp.pins import pins_of, read_pins, write_pins
from agentforge_mcp.server_view import ServerView
from agentforge_mcp.settings import _VERSIONS, McpStdioSettings
from agentforge_mcp.source import McpTools
from plugins.mcp.tests.support import HttpProcess, named, run_tool, script_command, source_of

COMMAND = list(script_command({"tools": ["read_a", "write_b"], "name": "desk"}))
STDIO = {"type": "mcp.stdio", "command": COMMAND}


def file_of(folder: Path, beans: dict[str, Any], **more: Any) -> Path:
    """A configuration with these beans."""
    path = folder / "agentforge.yaml"
    path.write_text(yaml.safe_dump({"agentforge": 1, **more, "beans": beans}), "utf-8")
    return path


VIEWS = [
    ({}, ["read_a", "write_b"]),
    ({"only": ["read_*"]}, ["read_a"]),
    ({"except": ["read_*"], "prefix": "fs_"}, ["fs_write_b"]),
    ({"rename": {"read_a": "look"}, "describe": {"read_a": "Looks."}}, ["look", "write_b"]),
    ({"prefix": "x" * 60 + "_"}, None),
    ({"max_tools": 1}, ["read_a"]),
    ({"effects": {"read_*": "read"}, "serial": True, "call_timeout": "2s"}, ["read_a", "write_b"]),
]


@pytest.mark.parametrize(("settings", "names"), VIEWS)
async def test_a_file_says_which_tools_are_offered_and_how(
    settings: dict[str, Any], names: list[str] | None, tmp_path: Path
) -> None:
    """As of any source: which, under which names; a name that gets too long is cut so that it stays its own."""
    app = AgentForge.load(file_of(tmp_path, {"desk": {**STDIO, **settings}}))
    async with app:
        source = app.get("desk")
        assert isinstance(source, McpTools)
        tools = await source.tools(Run())
        assert await source.tools(Run()) is tools is source.known_tools()
        if names is None:
            assert all(len(name) == 64 for name in named(tools)) and len(set(named(tools))) == 2
        else:
            assert named(tools) == names
        assert (await run_tool(tools[0], {"n": 1})).text == '{"n": 1}'
        if "effects" in settings:
            assert [(each.effect, each.timeout) for each in tools] == [("read", 2.0), (None, 2.0)]
            assert tools[0].serial == tools[1].serial is not None
        if "describe" in settings:
            assert tools[0].specification.description == "Looks."


FAULTS = [
    ({"type": "mcp.stdio"}, "command"),
    ({**STDIO, "command": []}, "command"),
    ({**STDIO, "command": "npx server"}, "command"),
    ({**STDIO, "protocol": "2020-01-01"}, "protocol must be one of auto"),
    ({**STDIO, "effects": {"a": "reed"}}, "'a' is 'read' or 'write'"),
    ({**STDIO, "send_context": ["io.modelcontextprotocol/x"]}, "send_context"),
    ({**STDIO, "on_change": "ignore"}, "on_change"),
    ({**STDIO, "start_timeout": 0}, "start_timeout"),
    ({**STDIO, "comand": []}, "comand"),
    ({"type": "mcp.http", "url": "ftp://api.example.com"}, "url must be an http or https address"),
    ({"type": "mcp.http", "url": "http://user:pw@api.example.com/mcp"}, "url must not hold a user"),
    (
        {
            "type": "mcp.http",
            "url": "https://api.example.com",
            "auth": {
                "bearer": "a",
                "oauth": {"client_id": "a", "client_secret": "b", "issuer": "https://login.example.com"},
            },
        },
        "exclude each other",
    ),
]


@pytest.mark.parametrize(("settings", "message"), FAULTS)
def test_what_cannot_hold_is_found_when_the_file_is_checked(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Nothing is started for that."""
    with pytest.raises(AgentForgeError, match=message):
        AgentForge.load(file_of(tmp_path, {"desk": settings})).check()


def test_the_versions_that_a_file_may_name_are_those_of_the_sdk() -> None:
    """The settings do without it, so they have a list of their own."""
    assert set(_VERSIONS) == {"auto", *HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS}


LISTED = [bound_tool_from(ToolSpecification(name, ""), lambda request: "") for name in ("read_a", "write_b")]


def viewed(settings: dict[str, Any]) -> ServerView:
    """The view that these settings are of a server that is not started."""
    view = ServerView(McpStdioSettings.model_validate({"command": ["x"], **settings}), "desk")
    view.source = source_of({})
    return view


MISNAMED = [
    ({"rename": {"reed": "look"}}, "rename of 'desk' names 'reed'.*\n.*It offers read_a, write_b"),
    ({"only": ["reed_a"]}, "only of 'desk' names 'reed_a'.*\n.*Did you mean 'read_a'?"),
    ({"except": ["wirte_b"]}, "except of 'desk' names 'wirte_b'.*\n.*Did you mean 'write_b'?"),
    ({"without": ["wirte_b"]}, "without of 'desk' names 'wirte_b'"),
    ({"effects": {"raed_a": "read"}}, "effects of 'desk' names 'raed_a'.*\n.*Did you mean 'read_a'?"),
    ({"serial": ["raed_a"]}, "serial of 'desk' names 'raed_a'"),
]


@pytest.mark.parametrize(("settings", "message"), MISNAMED, ids=[next(iter(row[0])) for row in MISNAMED])
def test_a_name_that_fits_no_tool_is_found_when_the_server_is_listed(settings: dict[str, Any], message: str) -> None:
    """The program does not start with it; later, when it is the server that changed, the rest is offered."""
    view = viewed(settings)
    with pytest.raises(AgentForgeError, match=message):
        view(LISTED)


async def test_a_program_does_not_start_with_a_name_that_fits_no_tool(tmp_path: Path) -> None:
    """The file is wrong, and nothing was asked yet."""
    app = AgentForge.load(file_of(tmp_path, {"desk": {**STDIO, "except": ["wirte_b"]}}))
    with pytest.raises(AgentForgeError, match="except of 'desk' names 'wirte_b'"):
        async with app:
            pass


PATTERNS = [
    ({"only": ["read_*", "wirte_*"]}, "only of 'desk' has 'wirte_*'"),
    ({"except": ["wirte_*"]}, "except of 'desk' has 'wirte_*'"),
    ({"effects": {"read_?": "read", "wirte_*": "write"}}, "effects of 'desk' has 'wirte_*'"),
    ({"serial": ["wirte_*"]}, "serial of 'desk' has 'wirte_*'"),
]


@pytest.mark.parametrize(("settings", "message"), PATTERNS, ids=[next(iter(row[0])) for row in PATTERNS])
def test_a_pattern_that_fits_no_tool_is_a_warning(
    settings: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be for what the server offers at other times."""
    view = viewed(settings)
    view(LISTED)
    view(LISTED)
    (warning,) = [each.getMessage() for each in caplog.records if "fits no tool" in each.getMessage()]
    assert warning.startswith(message) and "Did you mean 'write_b'?" in warning


async def test_what_is_left_out_anyway_is_not_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A definition that cannot be offered is a fault of the server; nobody wanted that one."""
    script = {"tools": ["read_a", {"name": "bad_b", "inputSchema": {"type": "array"}}]}
    bean = {"type": "mcp.stdio", "command": list(script_command(script))}
    warned = []
    for settings in ({}, {"only": ["read_*"]}, {"except": ["bad_b"]}):
        caplog.clear()
        async with AgentForge.load(file_of(tmp_path, {"desk": {**bean, **settings}})) as app:
            assert named(await app.get("desk").tools(Run())) == ["read_a"]
        warned.append(sum("is left out" in each.getMessage() for each in caplog.records))
    assert warned == [1, 0, 0]


async def test_the_tools_of_resources_are_asked_for_by_their_own_setting(tmp_path: Path) -> None:
    """Only and except do not speak of them; new names and the prefix do."""
    script = {"tools": ["read_a", "write_b"], "capabilities": {"tools": {}, "resources": {}}}
    bean = {
        "type": "mcp.stdio",
        "command": list(script_command(script)),
        "resources": "tools",
        "only": ["write_*"],
        "except": ["list_*"],
        "prefix": "d_",
        "rename": {"list_resources": "look_around"},
    }
    async with AgentForge.load(file_of(tmp_path, {"desk": bean})) as app:
        names = named(await app.get("desk").tools(Run()))
    assert names == ["d_write_b", "d_look_around", "d_read_resource"]


@pytest.mark.parametrize("bean", [STDIO, {"type": "mcp.http", "url": "http://127.0.0.1:9/mcp"}])
def test_a_strangers_file_starts_no_program_and_names_no_address(bean: dict[str, Any], tmp_path: Path) -> None:
    """Nor does an include."""
    path = file_of(tmp_path, {"desk": bean})
    with pytest.raises(AgentForgeError, match="trust"):
        AgentForge.load(path, trust="data").check()


async def test_a_lazy_bean_starts_its_server_at_its_first_use(tmp_path: Path) -> None:
    """Also where another bean needs it."""
    beans = {"desk": {**STDIO, "bean": {"lazy": True}}, "service": {"type": "tool_service", "tools": ["desk"]}}
    async with AgentForge.load(file_of(tmp_path, beans)) as app:
        source = app.get("desk")
        assert isinstance(source, McpTools) and source.connection.state == "new"
        result = await app.get("service").chat(ScriptedChatModel([{"text": "done"}]), None, "go")
        assert result.text == "done" and source.connection.state == "connected"
    assert source.connection.state == "closed"


async def test_servers_of_one_application_start_side_by_side_and_a_clash_is_found_at_the_start(tmp_path: Path) -> None:
    """Before the first request."""
    beans = {"one": STDIO, "two": STDIO, "service": {"type": "tool_service", "tools": ["one", "two"]}}
    with pytest.raises(AgentForgeError, match="read_a"):
        async with AgentForge.load(file_of(tmp_path, beans)):
            pass


def test_a_synchronous_program_uses_an_application_with_a_server(tmp_path: Path) -> None:
    """The application's own loop is where the server lives."""
    turns = [{"calls": [{"id": "c1", "name": "read_a", "args": {"n": 1}}]}, {"text": "done"}]
    beans = {"desk": STDIO, "service": {"type": "tool_service", "tools": ["desk"]}}
    with AgentForge.load(file_of(tmp_path, beans)) as app:
        result = app.get("service").chat_sync(ScriptedChatModel(turns), None, "go")
        source = app.get("desk")
    assert result.tool_executions[0].result_text() == '{"n": 1}'
    assert isinstance(source, McpTools) and source.connection.state == "closed"


async def test_components_of_the_scan_roots_filter_and_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed B's filter as a bean; so are the answers to what a server asks."""
    (tmp_path / "mcp_parts.py").write_text(
        "def readers(tool, server):\n    return tool.name.startswith('read') and server.name == 'desk'\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    beans = {"desk": {**STDIO, "filter": {"type": "component", "component": "readers"}}}
    async with AgentForge.load(file_of(tmp_path, beans, scan=["mcp_parts"])) as app:
        source = app.get("desk")
        assert isinstance(source, McpTools) and named(await source.tools(Run())) == ["read_a"]
    sys.modules.pop("mcp_parts", None)


PARTS = """
class Login:
    async def token(self) -> str:
        return "right-token"


async def answer(question):
    return {"city": "Paris"} if question.server == "desk" else None
"""


async def test_answers_models_and_tokens_are_beans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the scan roots, or any other type that gives such a thing."""
    (tmp_path / "mcp_more_parts.py").write_text(PARTS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    form = {"message": "Where?", "requestedSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    asked = {"ask": {"method": "elicitation/create", "params": {"mode": "form", **form}}}
    script = {"tools": ["t"], "on": {"t": [asked]}, "http": {"token": "right-token"}}
    with HttpProcess(script) as process:
        beans = {
            "desk": {
                "type": "mcp.stdio",
                "command": list(script_command(script)),
                "elicitation": {"type": "component", "component": "answer"},
                "sampling": {"type": "scripted", "turns": ["4"]},
            },
            "far": {
                "type": "mcp.http",
                "url": process.url,
                "auth": {"token": {"type": "component", "component": "Login"}},
                "headers": {"X-Key": "sk-canary-header"},
                "proxy": None,
            },
        }
        async with AgentForge.load(file_of(tmp_path, beans, scan=["mcp_more_parts"])) as app:
            desk, far = app.get("desk"), app.get("far")
            answer = json.loads((await run_tool((await desk.tools(Run()))[0])).text)
            assert answer["result"] == {"action": "accept", "content": {"city": "Paris"}}
            assert desk.connection.options.sampling is not None
            assert named(await far.tools(Run())) == ["t"]
            assert far.connection.secrets.mask("sk-canary-header") == "***"
            assert "canary" not in repr(far.connection.server)
    sys.modules.pop("mcp_more_parts", None)


@pytest.mark.parametrize("setting", ["filter", "elicitation"])
def test_what_cannot_be_called_neither_filters_nor_answers(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is found when the file is checked."""
    (tmp_path / "mcp_wrong_parts.py").write_text("class Wrong:\n    pass\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    beans = {"desk": {**STDIO, setting: {"type": "component", "component": "Wrong"}}}
    with pytest.raises(AgentForgeError, match="which cannot be called"):
        AgentForge.load(file_of(tmp_path, beans, scan=["mcp_wrong_parts"])).check()
    sys.modules.pop("mcp_wrong_parts", None)


async def test_only_listed_variables_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the file gives lie over them; what looks like a secret is masked."""
    monkeypatch.setenv("REGION", "eu")
    monkeypatch.setenv("OTHER_TOKEN", "sk-canary-other")
    command = list(script_command({"tools": ["env"], "on": {"env": [{"environment": True}]}}))
    bean = {
        "type": "mcp.stdio",
        "command": command[:1],
        "args": command[1:],
        "environment": {"API_TOKEN": "sk-canary-own"},
        "pass_environment": ["REGION", "NOT_THERE"],
    }
    async with AgentForge.load(file_of(tmp_path, {"desk": bean})) as app:
        source = app.get("desk")
        assert isinstance(source, McpTools)
        (tool,) = await source.tools(Run())
        seen = json.loads((await run_tool(tool)).text)
        assert (seen["REGION"], seen["API_TOKEN"]) == ("eu", "***")
        assert "OTHER_TOKEN" not in seen and "NOT_THERE" not in seen
        assert source.connection.secrets.mask("sk-canary-own eu") == "*** eu"
        assert "sk-canary" not in repr(source.connection.server)


async def test_pins_of_a_file_hold(tmp_path: Path) -> None:
    """A file of pins is for several servers, and keeps what it is not told about."""
    pins = tmp_path / "mcp-pins.json"
    bean = {**STDIO, "pins": "mcp-pins.json", "on_change": "block"}
    async with AgentForge.load(file_of(tmp_path, {"desk": STDIO})) as app:
        definitions = app.get("desk").definitions
    write_pins(pins, "other", {"x": "sha256:1"})
    write_pins(pins, "desk", pins_of(definitions[:1]))
    assert read_pins(pins, "other") == {"x": "sha256:1"} and read_pins(pins, "nobody") is None
    assert read_pins(tmp_path / "nowhere.json", "desk") is None

    async with AgentForge.load(file_of(tmp_path, {"desk": bean})) as app:
        source = app.get("desk")
        assert named(await source.tools(Run())) == ["read_a"] and source.held_back == ("write_b",)

    pins.write_text("[]", "utf-8")
    with pytest.raises(AgentForgeError, match="cannot be read: it is no file of pins"):
        async with AgentForge.load(file_of(tmp_path, {"desk": bean})):
            pass


def test_neither_the_sdk_nor_the_settings_are_loaded_with_the_plugin() -> None:
    """A program that has the plugin and no server pays for neither."""
    import subprocess

    code = (
        "import sys, agentforge_mcp, agentforge_mcp.plugin\n"
        "heavy = {'mcp', 'mcp_types', 'httpx2', 'anyio', 'jsonschema_rs', 'pydantic', 'agentforge_mcp.settings'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_what_is_held_back_may_be_named_in_the_view(tmp_path: Path) -> None:
    """It is there, though it is not offered: the file is right, and the server changed."""
    bean = {**STDIO, "pins": {}, "on_change": "block", "only": ["read_a"]}
    async with AgentForge.load(file_of(tmp_path, {"desk": bean})) as app:
        source = app.get("desk")
        assert list(await source.tools(Run())) == [] and set(source.held_back) == {"read_a", "write_b"}


def test_each_line_of_a_secret_is_masked(tmp_path: Path) -> None:
    """As standard error is read line by line."""
    key = "-----BEGIN KEY-----\ncanary0123456789\n-----END KEY-----"
    app = AgentForge.load(
        file_of(tmp_path, {"desk": {**STDIO, "bean": {"lazy": True}, "environment": {"SIGNING_KEY": key}}})
    )
    with app:
        assert app.get("desk").connection.secrets.mask("at canary0123456789 it ends") == "at *** it ends"


def test_a_credential_in_a_header_is_masked_by_itself(tmp_path: Path) -> None:
    """A server that sends it back may leave out the word before it; words of other headers are no secrets."""
    headers = {"Authorization": "Bearer sk-canary-3", "X-Client": "order desk"}
    bean = {"type": "mcp.http", "url": "http://127.0.0.1:9/mcp", "headers": headers, "bean": {"lazy": True}}
    with AgentForge.load(file_of(tmp_path, {"far": bean})) as app:
        assert app.get("far").connection.secrets.mask("sk-canary-3 of the desk") == "*** of the desk"


UNPINNED: list[Any] = [(None, "is not there"), ({"other": {}}, "has no pins of 'desk'")]


@pytest.mark.parametrize("on_change", ["report", "block"])
@pytest.mark.parametrize(("written", "why"), UNPINNED, ids=["no file", "no entry"])
def test_pins_that_nobody_wrote_open_no_door(
    written: dict[str, Any] | None, why: str, on_change: str, tmp_path: Path
) -> None:
    """A check finds that and says how to write them; a program that does not check does not start either."""
    if written is not None:
        (tmp_path / "mcp-pins.json").write_text(json.dumps({"servers": written}), "utf-8")
    bean = {**STDIO, "pins": "mcp-pins.json", "on_change": on_change}
    with pytest.raises(AgentForgeError, match=f"the file of pins .*mcp-pins.json' {why}") as caught:
        AgentForge.load(file_of(tmp_path, {"desk": bean})).check()
    assert "agentforge mcp inspect desk --pin" in str(caught.value)
    settings = McpStdioSettings.model_validate({"command": ["x"], "pins": "mcp-pins.json", "on_change": on_change})
    with pytest.raises(AgentForgeError, match=why):
        _pins_of(settings, tmp_path, "desk")


def test_a_folder_that_is_not_there_is_found_beside_the_file(tmp_path: Path) -> None:
    """And not said of the program."""
    with pytest.raises(AgentForgeError, match="there is no folder 'nowhere'"):
        AgentForge.load(file_of(tmp_path, {"desk": {**STDIO, "cwd": "nowhere"}})).check()
    AgentForge.load(file_of(tmp_path, {"desk": {**STDIO, "cwd": "."}})).check()
