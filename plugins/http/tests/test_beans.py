"""The bean types `http.tool` and `http.tools`: what a file can say of an endpoint, and what is found wrong in it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.config import ConfigurationFaults
from agentforge.tool import BoundTool
from agentforge.tool.execution import Run, ToolOutcome
from plugins.http.tests.support import executed
from tests.support.loopback import plain, serve

__all__ = ("faults_of", "faults_of_each")

BASE = {"type": "http.tool", "url": "https://api.test/x"}


def faults_of(bean: Mapping[str, Any], **beans: Any) -> list[tuple[str, str, str | None]]:
    """Path, message and next step of each fault of a file with this bean."""
    app = AgentForge.from_mapping({"beans": {"probe": bean, **beans}})
    try:
        app.check()
    except ConfigurationFaults as faults:
        return [(each.path, each.message, each.next_step) for each in faults.diagnostics]
    return []


def faults_of_each(beans: Iterable[Mapping[str, Any]]) -> list[list[tuple[str, str, str | None]]]:
    """The same for many beans, as if each stood alone; in one file, which takes the time of one."""
    named = {f"probe{number}": bean for number, bean in enumerate(beans)}
    app = AgentForge.from_mapping({"beans": named})
    with pytest.raises(ConfigurationFaults) as caught:
        app.check()
    found: list[list[tuple[str, str, str | None]]] = [[] for _ in named]
    for each in caught.value.diagnostics:
        _, bean, *rest = each.path.split(".", 2)
        found[int(bean.removeprefix("probe"))].append((".".join(rest), each.message, each.next_step))
    return found


async def tools_of(app: AgentForge, name: str = "probe") -> dict[str, BoundTool]:
    """The tools of a bean by name."""
    return {tool.name: tool for tool in await app.get(name).tools(Run())}


async def requested(bean: Mapping[str, Any], arguments: Mapping[str, Any], **run: Any) -> Any:
    """What a server on loopback receives for a call; AT in the bean is its address."""
    async with serve(plain(b'{"a": {"b": 1}}')) as server:
        made = json.loads(json.dumps({"type": "http.tool", **bean}).replace("AT", server.url("")))
        async with AgentForge.from_mapping({"beans": {"probe": made}}) as app:
            (tool,) = (await tools_of(app)).values()
            execution = await executed(tool, arguments, run_options=run)
        assert execution.outcome is ToolOutcome.OK, execution.result_text()
        (seen,) = server.requests
        return seen


GOOD: list[tuple[dict[str, Any], dict[str, Any], str, str, str]] = [
    ({"url": "AT/v1/users/{id}", "parameters": {"id": "string"}}, {"id": "a/b"}, "GET", "/v1/users/a%2Fb", ""),
    (
        {"url": "AT/s?units={u}&fix=a+b", "parameters": {"u": {"type": "string"}, "q": {"type": "integer"}}},
        {"u": "c", "q": 3},
        "GET",
        "/s?fix=a%20b&units=c&q=3",
        "",
    ),
    (
        {"url": "AT/s", "parameters": {"f": {"type": "object", "style": "deepObject", "additionalProperties": True}}},
        {"f": {"a": 1}},
        "GET",
        "/s?f%5Ba%5D=1",
        "",
    ),
    (
        {
            "url": "AT/s",
            "parameters": {"l": {"type": "array", "items": {"type": "string"}, "explode": False, "wire_name": "ids"}},
        },
        {"l": ["a", "b"]},
        "GET",
        "/s?ids=a,b",
        "",
    ),
    (
        {
            "url": "AT/o/{no}",
            "method": "POST",
            "parameters": {"no": "string", "amount": "number", "dry": {"type": "boolean", "in": "query"}},
        },
        {"no": "7", "amount": 2.5, "dry": True},
        "POST",
        "/o/7?dry=true",
        '{"amount":2.5}',
    ),
    (
        {
            "url": "AT/o",
            "method": "PUT",
            "parameters": {
                "type": "object",
                "properties": {"o": {"$ref": "#/$defs/order"}},
                "required": ["o"],
                "$defs": {"order": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            },
            "body": {"format": "json", "argument": "o", "media_type": "application/vnd.order+json"},
        },
        {"o": {"n": 1}},
        "PUT",
        "/o",
        '{"n":1}',
    ),
    (
        {"url": "AT/f", "method": "POST", "body": "form", "parameters": {"a": "string"}},
        {"a": "x y"},
        "POST",
        "/f",
        "a=x%20y",
    ),
    ({"url": "AT/t", "method": "POST", "body": "text", "parameters": {"a": "string"}}, {"a": "hi"}, "POST", "/t", "hi"),
    (
        {"url": "AT/b", "method": "POST", "body": "binary", "parameters": {"a": "string"}},
        {"a": "aGk="},
        "POST",
        "/b",
        "hi",
    ),
    ({"url": "AT/d/{id}", "method": "DELETE", "parameters": {"id": "integer"}}, {"id": 5}, "DELETE", "/d/5", ""),
    ({"url": "AT/n", "method": "POST"}, {}, "POST", "/n", ""),
    ({"url": "AT/grüß/{a}", "parameters": {"a": "string"}}, {"a": "ü"}, "GET", "/gr%C3%BC%C3%9F/%C3%BC", ""),
]


@pytest.mark.parametrize(("bean", "arguments", "method", "target", "body"), GOOD)
async def test_endpoints_as_a_file_writes_them(
    bean: dict[str, Any], arguments: dict[str, Any], method: str, target: str, body: str
) -> None:
    """Where the arguments go, by placeholders, by method, and as it is said."""
    seen = await requested(bean, arguments)

    assert (seen.method, seen.target, seen.body.decode()) == (method, target, body)


async def test_headers_cookies_and_credentials() -> None:
    """Arguments, constants and auth beside each other."""
    bean = {
        "url": "AT/x",
        "parameters": {
            "trace": {"type": "string", "in": "header", "wire_name": "X-Trace"},
            "lang": {"type": "string", "in": "cookie"},
        },
        "headers": {"X-Team": "blue"},
        "query": {"v": "2"},
        "auth": {
            "basic": {"username": "ann", "password": "pw-12345"},
            "api_key": {"name": "sid", "in": "cookie", "value": "s1"},
        },
        "from_context": {
            "header.X-Tenant": "tenant",
            "header.X-Token": {"value": "user_data.t", "prefix": "T ", "required": False},
        },
    }
    seen = await requested(bean, {"trace": "t1", "lang": "de"}, tenant="acme", user_data={"t": "tok"})

    assert seen.target == "/x?v=2"
    wanted = {"x-trace": "t1", "x-team": "blue", "x-tenant": "acme", "x-token": "T tok", "cookie": "lang=de; sid=s1"}
    assert {name: seen.headers.get(name) for name in wanted} == wanted
    assert seen.headers["authorization"] == "Basic YW5uOnB3LTEyMzQ1"


async def test_a_file_is_sent_as_a_part() -> None:
    """The model gives text or base64, with a name and a type where it likes."""
    bean = {
        "url": "AT/up",
        "method": "POST",
        "body": "multipart",
        "parameters": {"doc": {"type": "file", "required": True, "description": "the document"}, "note": "string"},
    }
    seen = await requested(bean, {"doc": {"text": "hello", "file_name": "a.txt"}, "note": "n"})

    assert b'name="doc"; filename="a.txt"\r\nContent-Type: application/octet-stream\r\n\r\nhello\r\n' in seen.body
    assert b'name="note"\r\n\r\nn\r\n' in seen.body


async def test_several_endpoints_share_what_they_have_in_common() -> None:
    """Address, credentials, connections; each with its own name, effect and pick."""
    async with serve(plain(b'{"a": {"b": 1}}')) as server:
        bean = {
            "type": "http.tools",
            "base_url": server.url("/api/v2/"),
            "auth": {"bearer": "tok-12345"},
            "timeout": "5s",
            "tools": [
                {"name": "get_order", "path": "/orders/{no}", "parameters": {"no": "string"}, "pick": "/a/b"},
                {
                    "name": "refund",
                    "path": "/orders/{no}/refunds?dry={dry}",
                    "method": "POST",
                    "serial": "refunds",
                    "parameters": {"no": "string", "dry": "boolean", "amount": {"type": "number", "required": True}},
                },
            ],
        }
        async with AgentForge.from_mapping({"beans": {"orders": bean}}) as app:
            tools = await tools_of(app, "orders")
            assert app.get("orders").known_tools() == tuple(tools.values())
            picked = await executed(tools["get_order"], {"no": "A"})
            await executed(tools["refund"], {"no": "A", "dry": True, "amount": 1})
        await server.all_closed()

    assert picked.result_text() == "1"
    assert [(seen.method, seen.target) for seen in server.requests] == [
        ("GET", "/api/v2/orders/A"),
        ("POST", "/api/v2/orders/A/refunds?dry=true"),
    ]
    assert {seen.headers["authorization"] for seen in server.requests} == {"Bearer tok-12345"}
    assert server.connections == 2  # what writes has a connection of its own
    assert (tools["get_order"].effect, tools["refund"].effect, tools["refund"].serial) == ("read", "write", "refunds")
    assert {tool.timeout for tool in tools.values()} == {5.0} and {tool.source_name for tool in tools.values()} == {
        "orders"
    }


async def test_a_token_bean_serves_several_beans() -> None:
    """Declared once, or in place; it fetches one token for all of them."""
    token = plain(b'{"access_token": "at-12345", "token_type": "bearer", "expires_in": 60}')
    async with serve(token, plain()) as server:
        beans = {
            "login": {
                "type": "http.client_credentials",
                "token_url": server.url("/token"),
                "client_id": "me",
                "client_secret": "secret-1",
                "scope": ["read", "write"],
            },
            "one": {"type": "http.tool", "url": server.url("/1"), "auth": {"token": "login"}},
            "two": {"type": "http.tool", "url": server.url("/2"), "auth": {"token": "login"}},
        }
        async with AgentForge.from_mapping({"beans": beans}) as app:
            for name in ("one", "two"):
                await executed((await tools_of(app, name))[name])

    assert [seen.target for seen in server.requests] == ["/token", "/1", "/2"]
    assert b"scope=read+write" in server.requests[0].body
    assert {seen.headers["authorization"] for seen in server.requests[1:]} == {"Bearer at-12345"}


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"url": "https://{host}/x", "parameters": {"host": "string"}}, "url", "the host of url holds a placeholder"),
    ({"url": "{scheme}://api.test"}, "url", "url is no whole address"),
    ({"url": "/x"}, "url", "url is no whole address"),
    ({"url": "ftp://api.test/x"}, "url", "not an http or https address"),
    ({"url": "https://user:pw@api.test/x"}, "url", "holds credentials"),
    ({"url": "https://api.test/x#f"}, "url", "fragment"),
    ({"url": "https://api.test/a/../b"}, "url", "segment . or .."),
    ({"url": "https://api.test/{a"}, "url", "brace"),
    ({"url": "https://api.test/{}"}, "url", "names no argument"),
    ({"url": "https://api.test/x?q=a{b}", "parameters": {"b": "string"}}, "url", "neither constant nor"),
    ({"url": "https://api.test/{usr}", "parameters": {"user": "string"}}, "url", "{usr} names no argument"),
    ({"method": "FETCH"}, "method", "'GET'"),
    ({"parameters": {"a": "strng"}}, "parameters.a", "there is no type 'strng'"),
    ({"parameters": {"a": 5}}, "parameters.a", "neither a type nor a schema"),
    ({"parameters": {"a": {"type": "string", "in": "body"}}}, "parameters.a", "a GET has no body"),
    ({"body": "json", "parameters": {"a": "string"}}, "body", "a GET has no body"),
    ({"parameters": {"a": {"type": "string", "in": "fragment"}}}, "parameters.a.in", "no place 'fragment'"),
    ({"parameters": {"a": {"type": "string", "in": "path"}}}, "parameters.a.in", "stands nowhere in the path"),
    (
        {"url": "https://api.test/{a}", "parameters": {"a": {"type": "string", "in": "query"}}},
        "parameters.a.in",
        "stands in the path",
    ),
    ({"parameters": {"a": {"type": "string", "style": "matrix"}}}, "parameters.a.style", "no style 'matrix' for query"),
    ({"parameters": {"a": {"type": "string", "explode": "yes"}}}, "parameters.a.explode", "true or false"),
    ({"parameters": {"a": {"type": "string", "wire_name": ""}}}, "parameters.a.wire_name", "wire_name"),
    ({"parameters": {"a": {"type": "string", "in": "header", "wire_name": "A B"}}}, "parameters.a", "not valid HTTP"),
    ({"parameters": {"Host": {"type": "string", "in": "header"}}}, "parameters.Host", "belongs to the connection"),
    ({"parameters": {"Cookie": {"type": "string", "in": "header"}}}, "parameters.Cookie", "given as auth"),
    ({"parameters": {"Content-Type": {"type": "string", "in": "header"}}}, "parameters.Content-Type", "cannot be set"),
    (
        {"parameters": {"x-a": {"type": "string", "in": "header"}}, "headers": {"X-A": "1"}},
        "parameters.x-a",
        "constant in headers",
    ),
    (
        {"parameters": {"type": "object", "properties": {}, "additionalProperties": True}},
        "parameters.additionalProperties",
        "would go nowhere",
    ),
    ({"pick": "items[*"}, "pick", "no JMESPath"),
    ({"pick": "/a~2"}, "pick", "no JSON pointer"),
    ({"method": "POST", "body": "text", "parameters": {"a": "string", "b": "string"}}, "body", "2 arguments go there"),
    ({"method": "POST", "body": "binary"}, "body", "no argument goes there"),
    (
        {"method": "POST", "body": {"argument": "pyload"}, "parameters": {"payload": "string"}},
        "body.argument",
        "not declared",
    ),
    (
        {"method": "POST", "body": {"argument": "a"}, "parameters": {"a": "object", "b": "string"}},
        "body",
        "'b' goes nowhere",
    ),
    (
        {"method": "POST", "body": {"format": "text", "media_type": "text/x\r\nX: y"}, "parameters": {"a": "string"}},
        "body.media_type",
        "'text/x\\r\\nX: y' is not of the format text",
    ),
    (
        {"method": "POST", "body": {"format": "json", "media_type": "text/plain"}, "parameters": {"a": "string"}},
        "body.media_type",
        "not of the format json",
    ),
    ({"name": "get user"}, "name", "no name for a tool"),
    ({"auth": {"bearer": "a", "basic": {"username": "u", "password": "p"}}}, "auth", "several values"),
    ({"auth": {"basic": {"username": "a:b", "password": "p"}}}, "auth.basic", "colon"),
    ({"auth": {"api_key": {"name": "X-K", "value": "a\nb"}}}, "auth.api_key", "control character"),
    ({"auth": {"api_key": {"name": "s", "in": "cookie", "value": "a;b"}}}, "auth.api_key", "cookie"),
    ({"auth": {"bearr": "x"}}, "auth.bearr", "bearr"),
    (
        {"idempotency_header": "I", "idempotency_argument": "no", "method": "POST", "parameters": {"order": "string"}},
        "idempotency_argument",
        "no argument 'no'",
    ),
    ({"idempotency_header": "Idempotency-Key"}, "idempotency_header", "only tools that write"),
    ({"retries": 2, "method": "POST"}, "retries", "only tools that read"),
    ({"timeout": 0}, "timeout", "more than 0"),
]  # fmt: skip


@pytest.fixture(scope="module")
def found_in_all() -> list[list[tuple[str, str, str | None]]]:
    """What is found in each of the beans."""
    return faults_of_each({**BASE, **bean} for bean, _, _ in FAULTS)


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=lambda number: FAULTS[number][1])
def test_what_is_wrong_is_found_when_the_file_is_checked(number: int, found_in_all: Any) -> None:
    """At the setting that is wrong; no secret is in what is said."""
    _, path, says = FAULTS[number]
    found = found_in_all[number]

    assert [message for at, message, _ in found if at == path and says in message], found
    assert "pw@" not in str(found)


def test_all_that_is_wrong_is_found_at_once() -> None:
    """Each with what to do."""
    bean = {
        "type": "http.tools",
        "base_url": "https://api.test",
        "tools": [
            {"name": "a", "path": "/{usr}", "parameters": {"user": "string"}, "pick": "a["},
            {"name": "a", "path": "x"},
            {"name": "c", "path": "/c", "parameters": {"x": {"type": "string", "in": "body"}}},
        ],
    }
    found = faults_of(bean)

    assert {at for at, _, _ in found} == {
        "beans.probe.tools.0.path",
        "beans.probe.tools.0.pick",
        "beans.probe.tools.1.path",
        "beans.probe.tools.1.name",
        "beans.probe.tools.2.parameters.x",
    }
    assert all(step for _, _, step in found)
    assert "Did you mean {user}?" in str(found)


@pytest.mark.parametrize("base_url", ["https://{h}/", "https://api.test/{v}", "https://api.test?x=1", "api.test"])
def test_a_base_url_is_constant(base_url: str) -> None:
    """And a whole address."""
    bean = {"type": "http.tools", "base_url": base_url, "tools": [{"name": "a", "path": "/a"}]}
    assert [at for at, _, _ in faults_of(bean)] == ["beans.probe.base_url"]


def test_two_tools_of_one_name_in_two_beans_are_found() -> None:
    """Where a client offers both."""
    service = {"type": "tool_service", "tools": ["probe", "other"]}
    found = faults_of({**BASE, "name": "same"}, other={**BASE, "name": "same"}, service=service)

    assert any("same" in message for _, message, _ in found)


def test_the_defaults_are_said() -> None:
    """A bean of two settings: its id is the tool's name, a GET reads."""
    with AgentForge.from_mapping({"beans": {"ping": {**BASE, "description": "Pings."}}}) as app:
        (tool,) = app.get("ping").known_tools()

    assert (tool.name, tool.effect, tool.specification.description) == ("ping", "read", "Pings.")
    assert tool.specification.parameters.schema == {
        "additionalProperties": False,
        "type": "object",
        "properties": {},
        "required": [],
    }


def test_what_is_called_is_told_to_the_doctor(tmp_path: Path) -> None:
    """Origins without paths and secrets; none behind a proxy."""
    from agentforge.plugin import BeanContext, Catalogue, Components, Plugins

    context = BeanContext("probe", tmp_path, Components((), tmp_path))
    catalogue = Catalogue(Plugins())
    for name, settings, expected in (
        ("http.tool", {"url": "https://api.test/x?key=1"}, ("https://api.test",)),
        ("http.tool", {"url": "https://api.test/x", "proxy": "http://p.test"}, ()),
        (
            "http.tools",
            {"base_url": "https://a.test/v1", "tools": [{"name": "a", "path": "/a"}]},
            ("https://a.test/v1",),
        ),
        (
            "http.client_credentials",
            {"token_url": "https://l.test/t?x=1", "client_id": "i", "client_secret": "s"},
            ("https://l.test/t",),
        ),
    ):
        kind: Any = catalogue.find(name)
        assert tuple(kind.endpoints(kind.settings(**settings), context)) == expected


def test_a_strangers_file_names_no_internal_host(tmp_path: Path) -> None:
    """Read as data, its hosts have to be public, that of its tokens too, and it cannot allow others."""
    file = tmp_path / "agentforge.yaml"
    internal = "http://127.0.0.1:9/x"
    login = {"type": "http.client_credentials", "token_url": internal, "client_id": "a", "client_secret": "b"}

    async def called() -> str:
        async with AgentForge.load(file, trust="data") as app:
            return (await executed((await tools_of(app))["probe"])).result_text()

    for probe in ({"url": internal}, {"url": "https://api.test/x", "auth": {"token": login}}):
        file.write_text(json.dumps({"beans": {"probe": {"type": "http.tool", **probe}}}))
        assert "the host '127.0.0.1' is not on the public Internet" in asyncio.run(called())
    file.write_text("beans:\n  probe: {type: http.tool, url: 'http://127.0.0.1:9/x', allow_hosts: [127.0.0.1]}\n")
    with pytest.raises(ConfigurationFaults, match="allow_hosts"):
        AgentForge.load(file, trust="data").check()


def test_nothing_heavy_is_loaded_with_the_plugin() -> None:
    """Its package and its module: what only a bean needs comes with the bean."""
    code = (
        "import sys, agentforge_http, agentforge_http.plugin\n"
        "heavy = {'pydantic', 'httpx', 'httpcore', 'jsonschema_rs', 'yaml', 'jmespath'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_program_calls_a_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`agentforge tools call`, on the whole way."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from agentforge.cli.main import run

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"path": self.path}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/c/{{city}}"
        bean = {"type": "http.tool", "url": url, "parameters": {"city": "string"}, "pick": "path"}
        beans = {"weather": bean, "service": {"type": "tool_service", "tools": ["weather"]}}
        file = tmp_path / "agentforge.yaml"
        file.write_text(json.dumps({"beans": beans}))
        code = run(["tools", "call", "weather", '{"city": "a b"}', "--config", str(file)])
        thread.join()

    assert (code, capsys.readouterr().out) == (0, "/c/a%20b\n")
