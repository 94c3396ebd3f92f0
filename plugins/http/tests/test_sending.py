"""How requests are sent: credentials, redirects, repeats, failures, time-outs, cancellation, pooled connections."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.errors import ModelConnectionError
from agentforge.http import HttpTimeouts, RetryPolicy
from agentforge.model.scripted import call
from agentforge.tool.execution import ToolOutcome
from agentforge_http import Auth, Credentials, HttpBody, HttpSender, HttpToolExecutor, bound_http_tool
from plugins.http.tests.support import FakeTransport, executed, operation, parameter, tool_at
from tests.support.loopback import Answer, hang_up, make_certificate, plain, reset, serve, stall

GOOD = (200, {"content-type": "application/json"}, b'{"ok": true}')


def redirect(location: str, status: int = 302) -> tuple[int, dict[str, str], bytes]:
    return status, {"location": location}, b""


# -- credentials ---------------------------------------------------------------------------------


class Tokens:
    """Gives tokens t1-token, t2-token, ...; ``refused`` are those that were told to be."""

    def __init__(self) -> None:
        self.given = 0
        self.refused: list[str | None] = []

    async def token(self, refused: str | None = None) -> str:
        self.refused.append(refused)
        if refused is not None or not self.given:
            self.given += 1
        return f"t{self.given}-token"


@pytest.mark.parametrize(
    ("credentials", "name", "value"),
    [
        (Credentials(headers=(("authorization", "Bearer tok-123"),)), "authorization", "Bearer tok-123"),
        (Credentials(headers=(("X-Api-Key", "key-123"),)), "x-api-key", "key-123"),
        (Credentials(cookies=(("sid", "cookie-123"),)), "cookie", "lang=de; sid=cookie-123"),
    ],
)
async def test_credentials_go_with_each_request(credentials: Credentials, name: str, value: str) -> None:
    """In the header, or beside the cookies of the arguments."""
    transport = FakeTransport(GOOD)
    made = operation("https://api.test", parameters=(parameter("lang", "cookie"),))
    tool, _ = tool_at(made, transport, sender={"auth": Auth(credentials)})
    await executed(tool, {"lang": "de"})

    assert transport.header(name) == value


async def test_a_key_in_the_query_stands_behind_the_arguments() -> None:
    """Escaped like them."""
    transport = FakeTransport(GOOD)
    sender = {"auth": Auth(Credentials(query=(("key", "a b&c"),))), "query": {"v": "2"}}
    tool, _ = tool_at(operation("https://api.test", parameters=(parameter("q"),)), transport, sender=sender)
    await executed(tool, {"q": "x"})

    assert transport.requests[0].url == "https://api.test/x?q=x&v=2&key=a%20b%26c"


async def test_no_argument_overrides_a_constant_header_or_a_credential() -> None:
    """Whatever a parameter is called."""
    transport = FakeTransport(GOOD)
    made = operation(parameters=(parameter("X-Team", "header"), parameter("x-api-key", "header")))
    sender = {"headers": {"x-team": "blue"}, "auth": Auth(Credentials(headers=(("X-Api-Key", "k-12345"),)))}
    tool, _ = tool_at(made, transport, sender=sender)
    await executed(tool, {"X-Team": "red", "x-api-key": "mine"})

    sent = [(name.decode().lower(), value.decode()) for name, value in transport.requests[0].headers]
    assert [pair for pair in sent if pair[0] in ("x-team", "x-api-key")] == [
        ("x-team", "blue"),
        ("x-api-key", "k-12345"),
    ]


async def test_an_operation_that_asks_for_no_credentials_gets_none() -> None:
    """An empty security of its description, or another auth given for it."""
    auth = Auth(Credentials(headers=(("authorization", "Bearer tok-123"),)))
    for made, own, expected in (
        (operation(security=()), None, None),
        (operation(), Auth(Credentials(headers=(("authorization", "Basic x"),))), "Basic x"),
        (operation(security=(frozenset({"a"}),)), None, "Bearer tok-123"),
    ):
        transport = FakeTransport(GOOD)
        tool, _ = tool_at(made, transport, sender={"auth": auth}, auth=own)
        await executed(tool)
        assert transport.header("authorization") == expected


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_token_that_is_refused_is_renewed_once(method: str) -> None:
    """For tools that write too: after a 401 nothing was done."""
    tokens = Tokens()
    transport = FakeTransport((401, {}, b""), GOOD)
    tool, _ = tool_at(operation(method=method), transport, sender={"auth": Auth(tokens=tokens)})
    execution = await executed(tool)

    assert execution.outcome is ToolOutcome.OK
    assert [transport.header("authorization", number) for number in (0, 1)] == ["Bearer t1-token", "Bearer t2-token"]
    assert tokens.refused == [None, "t1-token"]


async def test_a_token_that_is_refused_again_is_an_error() -> None:
    """No endless asking."""
    transport = FakeTransport((401, {}, b"no"))
    tool, _ = tool_at(operation(), transport, sender={"auth": Auth(tokens=Tokens())})
    execution = await executed(tool)

    assert len(transport.requests) == 2 and "status 401: no" in execution.result_text()


@pytest.mark.parametrize("given", ["", "a\r\nb", None])
async def test_a_provider_that_gives_no_token_fails_the_call(given: Any) -> None:
    """And nothing is sent."""

    class Bad:
        async def token(self, refused: str | None = None) -> Any:
            return given

    transport = FakeTransport(GOOD)
    tool, _ = tool_at(operation(), transport, sender={"auth": Auth(tokens=Bad())})
    execution = await executed(tool)

    assert "no token for the API" in execution.result_text() and not transport.requests


# -- redirects -----------------------------------------------------------------------------------


async def test_redirects_are_not_followed_by_default() -> None:
    """The model is told where to, and no more of it than the host."""
    transport = FakeTransport(redirect("https://login.test/sso?next=secret-path"))
    tool, _ = tool_at(operation("https://api.test"), transport)
    execution = await executed(tool)

    assert len(transport.requests) == 1
    assert "status 302: it redirects to 'login.test', which is not followed" in execution.result_text()
    assert "secret-path" not in str(execution.result.cause)


REDIRECTS = [
    ("/y", "https://api.test/y"),
    ("y?a=1#f", "https://api.test/v1/y?a=1"),
    ("https://api.test:443/y", "https://api.test:443/y"),
    ("//api.test/y", "https://api.test/y"),
    ("?page=2", "https://api.test/v1/x?page=2"),
    ("https://API.TEST/y", "https://API.TEST/y"),
    ("http://api.test/y", None),
    ("https://api.test:444/y", None),
    ("https://b.test/y", None),
    ("https://api.test.evil.test/y", None),
    ("https://api.test@evil.test/y", None),
    ("https://user:pw@api.test/y", None),
    ("http://169.254.169.254/latest/", None),
    ("file:///etc/hosts", None),
    ("javascript:alert(1)", None),
    ("https://[broken/y", None),
    ("\\\\evil.test\\y", None),
    ("/a b", None),
    ("/caf\u00e9", None),
    ("/\udce9", None),
    ("", None),
]


@pytest.mark.parametrize(("location", "target"), REDIRECTS)
async def test_redirects_are_followed_within_the_origin_alone(location: str, target: str | None) -> None:
    """Scheme, host and port have to be the same; credentials never leave them."""
    transport = FakeTransport(redirect(location), GOOD)
    auth = Auth(Credentials(headers=(("authorization", "Bearer tok-123"),)))
    sender = {"follow_redirects": True, "auth": auth}
    tool, _ = tool_at(operation("https://api.test", "/v1/x"), transport, sender=sender)
    execution = await executed(tool)

    if target is None:
        assert len(transport.requests) == 1 and execution.outcome is ToolOutcome.FAILED
        assert "status 302: it redirects" in execution.result_text()
    else:
        assert [sent.url for sent in transport.requests] == ["https://api.test/v1/x", target]
        assert transport.header("authorization") == "Bearer tok-123" and execution.outcome is ToolOutcome.OK


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (302, "GET", "GET"),
        (303, "HEAD", "HEAD"),
    ],
)
async def test_the_method_behind_a_redirect(status: int, method: str, then: str) -> None:
    """RFC 9110 section 15.4: a body goes along where the method stays."""
    transport = FakeTransport(redirect("/y", status), GOOD)
    body = HttpBody("application/json", "a") if method not in ("GET", "HEAD") else None
    tool, _ = tool_at(operation(method=method, body=body), transport, sender={"follow_redirects": True})
    await executed(tool, {"a": 1})
    last = transport.requests[1]

    assert last.method == then
    assert last.content == (b"1" if body is not None and then == method else b"")
    assert (transport.header("content-type") is not None) == bool(last.content)


async def test_what_stands_in_the_query_of_every_request_follows_a_redirect() -> None:
    """As headers do; what the redirect names itself stays."""
    transport = FakeTransport(redirect("/y?v=2"), redirect("/z"), GOOD)
    sender = {"follow_redirects": True, "query": {"v": "1"}, "auth": Auth(Credentials(query=(("key", "k&1234"),)))}
    await executed(tool_at(operation("https://api.test"), transport, sender=sender)[0])

    assert [sent.url.partition("test")[2] for sent in transport.requests] == [
        "/x?v=1&key=k%261234",
        "/y?v=2&key=k%261234",
        "/z?v=1&key=k%261234",
    ]


async def test_no_more_than_three_redirects_are_followed() -> None:
    """A loop ends there."""
    transport = FakeTransport(redirect("/x"))
    tool, _ = tool_at(operation(), transport, sender={"follow_redirects": True})
    execution = await executed(tool)

    assert len(transport.requests) == 4 and execution.outcome is ToolOutcome.FAILED


async def test_each_hop_is_checked_again() -> None:
    """A host from a document that answers differently the second time."""
    answers = [["93.184.215.14"], ["127.0.0.1"]]

    async def resolve(host: str, port: int) -> list[str]:
        return answers.pop(0)

    from agentforge_http import AddressGuard

    transport = FakeTransport(redirect("/y"), GOOD)
    sender = {"follow_redirects": True, "guard": AddressGuard(resolver=resolve)}
    tool, _ = tool_at(operation("https://api.test", host_is_trusted=False), transport, sender=sender)
    execution = await executed(tool)

    assert [sent.connect_to for sent in transport.requests] == ["93.184.215.14"]
    assert "may not be called" in execution.result_text()


# -- repeats -------------------------------------------------------------------------------------


async def told_of_repeats(
    method: str, *answers: Any, retries: int = 2, **more: Any
) -> tuple[int, list[float], ToolOutcome]:
    """How often it was sent, the waits between, and the outcome."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    transport = FakeTransport(*answers)
    sender = {"retry": RetryPolicy(max_retries=retries), "sleep": sleep, "random": lambda: 0.0}
    tool, _ = tool_at(operation(method=method, **more), transport, sender=sender)
    execution = await executed(tool)
    return len(transport.requests), waits, execution.outcome


BROKEN = ModelConnectionError("the connection to 'api.test' broke before the answer was complete: reset")


@pytest.mark.parametrize(
    ("method", "answers", "more", "times", "outcome"),
    [
        ("GET", [(503, {}, b""), GOOD], {}, 2, ToolOutcome.OK),
        ("GET", [(429, {"retry-after": "2"}, b""), GOOD], {}, 2, ToolOutcome.OK),
        ("GET", [BROKEN, BROKEN, GOOD], {}, 3, ToolOutcome.OK),
        ("GET", [(503, {}, b"")], {}, 3, ToolOutcome.FAILED),
        ("GET", [(404, {}, b"")], {}, 1, ToolOutcome.FAILED),
        ("GET", [(501, {}, b"")], {}, 1, ToolOutcome.FAILED),
        ("POST", [(503, {}, b""), GOOD], {}, 1, ToolOutcome.FAILED),
        ("POST", [BROKEN, GOOD], {}, 1, ToolOutcome.IN_DOUBT),
        ("POST", [(503, {}, b""), GOOD], {"effect": "read"}, 2, ToolOutcome.OK),
        ("GET", [(503, {}, b""), GOOD], {"effect": "write"}, 1, ToolOutcome.FAILED),
    ],
)
async def test_only_what_reads_is_sent_again(method: str, answers: Any, more: Any, times: int, outcome: Any) -> None:
    """As often as retries says; declared effects go over those of the method."""
    sent, waits, ended = await told_of_repeats(method, *answers, **more)

    assert (sent, ended) == (times, outcome) and len(waits) == times - 1


async def test_nothing_is_sent_again_unless_that_is_set() -> None:
    """The default is 0, and a wait that an API asks for is kept."""
    assert (await told_of_repeats("GET", (503, {}, b""), GOOD, retries=0))[0] == 1
    assert (await told_of_repeats("GET", (429, {"retry-after": "2"}, b""), GOOD))[1] == [2.0]
    assert (await told_of_repeats("GET", (429, {"retry-after": "3600"}, b""), GOOD))[0] == 1


# -- failures ------------------------------------------------------------------------------------

FAILURES: list[tuple[str, Answer | None, dict[str, Any], ToolOutcome, str]] = [
    ("GET", None, {}, ToolOutcome.FAILED, "nothing listens there ("),
    ("POST", None, {}, ToolOutcome.FAILED, "nothing listens there ("),
    ("GET", reset(), {}, ToolOutcome.FAILED, "broke before the answer was complete"),
    ("POST", reset(), {}, ToolOutcome.IN_DOUBT, "it is not known whether the API acted"),
    (
        "POST",
        hang_up(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
        {},
        ToolOutcome.IN_DOUBT,
        "not known whether",
    ),
    ("GET", stall(), {"read": 0.05}, ToolOutcome.TIMED_OUT, "did not answer in time"),
    ("POST", stall(), {"read": 0.05}, ToolOutcome.IN_DOUBT, "did not answer in time"),
    ("GET", hang_up(b"nonsense\r\n\r\n"), {}, ToolOutcome.FAILED, "broke before the answer was complete"),
]


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
@pytest.mark.parametrize(("method", "answer", "times", "outcome", "says"), FAILURES)
async def test_failures_by_what_the_server_may_have_seen(
    transport: str, method: str, answer: Answer | None, times: dict[str, float], outcome: ToolOutcome, says: str
) -> None:
    """A tool that writes is in doubt once its request is on the way, and never before; nothing speaks of a model."""
    async with serve(answer or plain()) as server:
        url = server.url("")
        if answer is None:
            await server.stop()
        sender = {"timeouts": HttpTimeouts(**times, total=None), "transport": transport}
        tool, used = tool_at(operation(url, method=method), sender=sender)
        execution = await executed(tool)
        await used.aclose()

    assert execution.outcome is outcome, execution.result_text()
    assert says in execution.result_text() and "model" not in str(execution.result.cause).lower()


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
async def test_a_write_is_never_sent_twice_for_a_connection_that_was_kept(transport: str) -> None:
    """A transport that finds one broken cannot know what the server did before."""
    async with serve(plain(), reset(), plain()) as server:
        tool, sender = tool_at(operation(server.url(""), method="POST"), sender={"transport": transport})
        await executed(tool)
        assert (await executed(tool)).outcome is ToolOutcome.IN_DOUBT and len(server.requests) == 2
        await sender.aclose()
        await server.all_closed()


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_servers_are_trusted_by_the_certificates_that_are_given(
    transport: str, method: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By none else; and by the switch that says that nobody is checked."""
    certificate, context = make_certificate(tmp_path)
    broken = tmp_path / "broken.pem"
    broken.write_text("none")
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "is not trusted"),
        ({"ca_bundle": str(certificate)}, '{"ok": true}'),
        ({"verify": False}, '{"ok": true}'),
        ({"ca_bundle": str(broken)}, "cannot be read"),
    ]
    async with serve(plain(), context=context) as server:
        for options, says in cases:
            made = operation(server.url("", host="localhost"), method=method)
            tool, sender = tool_at(made, sender={"transport": transport, "transport_options": options})
            for _ in range(2):
                assert says in (await executed(tool)).result_text()
            await sender.aclose()


async def test_certificates_are_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each write has a connection of its own."""
    certificate, context = make_certificate(tmp_path)
    loaded: list[str] = []
    load = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda **where: loaded.append("") or load(**where))  # type: ignore[func-returns-value]
    async with serve(plain(), context=context) as server:
        options = {"ca_bundle": str(certificate)}
        made = operation(server.url("", host="localhost"), method="POST")
        tool, sender = tool_at(made, sender={"transport_options": options})
        for _ in range(3):
            assert (await executed(tool)).outcome is ToolOutcome.OK
        await sender.aclose()

    assert len(loaded) == 1 and server.connections == 3


async def test_a_tool_may_be_registered_with_its_executor_alone() -> None:
    """As any executor (seed A 3.1.2)."""
    transport = FakeTransport(GOOD)
    made = operation("https://api.test", "/{id}", parameters=(parameter("id", "path"),))
    service = ToolService().tool(made.specification, HttpToolExecutor(made, HttpSender(transport=transport)))
    result = await service.chat(ScriptedChatModel([call(made.name, id="7"), "done"]), None, "go")

    assert result.tool_executions[0].result_text() == '{"ok": true}' and transport.requests[0].url.endswith("/7")


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
async def test_a_proxy_that_refuses_leaves_nothing_in_doubt(transport: str) -> None:
    """The API never saw the request; the proxy's password is in no word of it."""
    async with serve(plain(status="407 Proxy Authentication Required")) as proxy:
        options = {"proxy": f"http://user:pw-12345@127.0.0.1:{proxy.port}"}
        made = operation("https://api.test", method="POST")
        tool, sender = tool_at(made, sender={"transport": transport, "transport_options": options})
        execution = await executed(tool)
        await sender.aclose()

    assert execution.outcome is ToolOutcome.FAILED and "the proxy to" in execution.result_text()
    assert [seen.method for seen in proxy.requests] == ["CONNECT"]
    assert "pw-12345" not in f"{execution.result.cause} {execution.result.cause!r}"


@pytest.mark.parametrize("kind", ["connect", "pool"])
async def test_a_time_out_before_anything_was_sent_leaves_nothing_in_doubt(kind: str) -> None:
    """Waiting for a connection, of the network or of the pool."""
    times = HttpTimeouts(pool=0.05, total=None)
    async with serve(stall()) as server:
        options = {"timeouts": times, "transport_options": {"max_connections": 1}}
        tool, sender = tool_at(operation(server.url("")), sender=options)
        if kind == "pool":
            first = asyncio.create_task(executed(tool))
            await server.asked()
            execution = await executed(tool)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        else:
            from agentforge.errors import ModelTimeoutError

            error = ModelTimeoutError("no connection to 'h' within 0.05 s (the connect limit)")
            error.sent = False
            late, _ = tool_at(operation(method="POST"), FakeTransport(error))
            execution = await executed(late)
        await sender.aclose()

    assert execution.outcome is ToolOutcome.FAILED, execution.result_text()


async def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    """At once, and the next call works."""
    async with serve(stall(), plain()) as server:
        tool, sender = tool_at(operation(server.url("")))
        task = asyncio.create_task(executed(tool))
        await server.asked()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.all_closed()
        assert (await executed(tool)).outcome is ToolOutcome.OK
        await sender.aclose()


async def test_the_limit_of_the_tool_holds_for_the_whole_call() -> None:
    """A declared write that it cuts short is in doubt."""
    async with serve(stall()) as server:
        tool, sender = tool_at(operation(server.url(""), method="POST"), timeout=0.1)
        execution = await executed(tool)
        await server.all_closed()
        await sender.aclose()

    assert execution.outcome is ToolOutcome.IN_DOUBT


async def test_connections_are_kept_and_shared_by_the_tools_of_a_bean() -> None:
    """One pool; side by side they are several, one after the other it is one."""
    async with serve(plain()) as server:
        sender = HttpSender()
        tools = [bound_http_tool(operation(server.url(""), name=name), sender) for name in ("one", "two")]
        for tool in tools * 3:
            await executed(tool)
        assert server.connections == 1 and len(server.requests) == 6
        await sender.aclose()
        await server.all_closed()
