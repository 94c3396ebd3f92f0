"""No secret leaves (threat S9): not to the model, the log, an error, a repr or a pickle, however a call fails."""

from __future__ import annotations

import base64
import html
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from agentforge import AgentForge, ScriptedChatModel, ToolService
from agentforge.errors import ToolExecutionError
from agentforge.masking import Secrets
from agentforge.model.scripted import call
from agentforge.tool.execution import Run, ToolExecution, ToolOutcome
from agentforge_http import Auth, ClientCredentials, Credentials, HttpStatusError, HttpTools, RunValue
from agentforge_http.call_secrets import CallSecrets
from agentforge_http.encoding import PreparedRequest
from plugins.http.tests.support import FakeTransport, executed, operation, parameter, tool_at
from tests.support.loopback import Answer, hang_up, plain, reset, serve, stall

BEARER, KEY, COOKIE, QUERY, PASSWORD, USER = (f"canary-{kind}-0123" for kind in ("b", "k", "c", "q", "p", "u"))
BASIC = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()
SAID = " ".join((BEARER, KEY, COOKIE, QUERY, PASSWORD, USER, BASIC))

#: Each way of giving credentials, and what must not be seen.
WAYS: list[tuple[Credentials, tuple[str, ...]]] = [
    (Credentials(headers=(("authorization", f"Bearer {BEARER}"),)), (BEARER,)),
    (Credentials(headers=(("authorization", f"Basic {BASIC}"),)), (BASIC, PASSWORD)),
    (Credentials(headers=(("X-Api-Key", f"Key {KEY}"),)), (KEY,)),
    (Credentials(query=(("key", QUERY),)), (QUERY,)),
    (Credentials(cookies=(("sid", COOKIE),)), (COOKIE,)),
]


def echoing(status: str = "200 OK", kind: str = "application/json", before: str = "") -> Answer:
    """Sends back all that it must not: each credential in a text, a member, an HTML page or a header."""
    body = json.dumps({"said": SAID, "headers": {"authorization": f"Bearer {BEARER}"}}) if not before else before + SAID
    return plain(body.encode(), f"X-Echo: {SAID}", f"Location: https://x.test/?t={QUERY}", status=status, kind=kind)


FAILURES: list[tuple[Answer, dict[str, Any]]] = [
    (echoing(), {}),
    (echoing(), {"pick": "said"}),
    (echoing(), {"pick": "/nothing"}),
    (echoing(kind="text/plain", before="x "), {}),
    (echoing(kind="application/json", before="no json "), {}),
    (echoing(kind="application/json", before="no json "), {"pick": "a"}),
    (echoing("500 Oops"), {}),
    (echoing("401 Unauthorized"), {}),
    (echoing("403 Forbidden", "text/html", "<!doctype html><title>"), {}),
    (echoing("429 Slow", "text/plain", "slow "), {}),
    (echoing("302 Found"), {}),
    (reset(), {}),
    (hang_up(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + SAID[:20].encode()), {}),
    (hang_up(f"{SAID}\r\n\r\n".encode()), {}),
    (stall(), {"timeout": 0.02}),
    (plain(b"x", f"Content-Encoding: {BEARER}"), {}),
]


def shown(execution: ToolExecution, caplog: pytest.LogCaptureFixture) -> str:
    """Everything that anybody could read of a call afterwards, but for the result object and the arguments."""
    cause = execution.result.cause
    parts = [execution.result_text(), repr(execution.result.attributes), caplog.text]
    while cause is not None:
        parts += [str(cause), repr(cause), repr(vars(cause)), *traceback.format_exception(cause)]
        if isinstance(cause, HttpStatusError):
            parts.append(repr(pickle.loads(pickle.dumps(cause)).__dict__) + str(pickle.loads(pickle.dumps(cause))))
        cause = cause.__cause__ or cause.__context__
    return "\n".join(parts)


@pytest.mark.parametrize("number", range(len(FAILURES)))
async def test_no_credential_is_seen_however_a_call_ends(number: int, caplog: pytest.LogCaptureFixture) -> None:
    """Not in the result, the error and its chain, nor in our log at DEBUG."""
    caplog.set_level(logging.DEBUG, "agentforge")
    answer, options = FAILURES[number]
    async with serve(answer) as server:
        for credentials, canaries in WAYS:
            for method in ("GET", "POST"):
                caplog.clear()
                made = operation(server.url(""), method=method)
                tool, sender = tool_at(made, sender={"auth": Auth(credentials)}, **options)
                execution = await executed(tool)
                await sender.aclose()
                text = shown(execution, caplog)
                assert not [canary for canary in canaries if canary in text]
        assert any(SAID.split()[0] in str(seen.headers) for seen in server.requests)  # they were sent


@pytest.mark.parametrize("number", range(len(FAILURES)))
async def test_a_users_token_is_not_seen_either(number: int, caplog: pytest.LogCaptureFixture) -> None:
    """It is a secret of its run alone: another run's masks know nothing of it."""
    caplog.set_level(logging.DEBUG, "agentforge")
    answer, options = FAILURES[number]
    entry = RunValue.parsed("header.X-User", "user_data.token")
    async with serve(answer) as server:
        tool, sender = tool_at(operation(server.url("")), from_context=[entry], **options)
        run = Run(user_data={"token": USER})
        execution = await executed(tool, run=run)
        await sender.aclose()

    assert server.requests[0].headers["x-user"] == USER
    assert USER not in shown(execution, caplog)
    assert USER in sender.secrets.mask(USER) and run.secrets.mask(USER) == "***"


async def test_credentials_of_one_tool_alone_are_masked_as_well() -> None:
    """As those of an operation with a security scheme of its own."""
    auth = Auth(Credentials(headers=(("X-Api-Key", KEY),)))
    tool, _ = tool_at(operation(), FakeTransport((200, {}, f"you are {KEY}".encode())), auth=auth)

    assert (await executed(tool)).result_text() == "you are ***"


async def test_what_is_no_credential_by_its_name_is_not_masked() -> None:
    """A user's id in a header, which the API's answers are full of."""
    transport = FakeTransport((200, {}, b"user u-12345"))
    entry = RunValue.parsed("header.X-User", "user_data.id")
    tool, _ = tool_at(operation(), transport, from_context=[entry], sender={"headers": {"X-Team": "user"}})
    execution = await executed(tool, run_options={"user_data": {"id": "u-12345"}})

    assert execution.result_text() == "user u-12345"


async def test_a_model_is_told_of_no_argument_that_is_a_secret() -> None:
    """A secret of the run that it sends as an argument is masked when the API sends it back in an error."""
    transport = FakeTransport((400, {}, f"bad {USER}".encode()))
    tool, _ = tool_at(operation(parameters=(parameter("q"),)), transport)
    run = Run()
    run.secrets.add(USER)
    service = ToolService(tool)
    await service.chat(model := ScriptedChatModel([call(tool.name, q=USER), "done"]), None, "go", context=run)

    assert USER not in str(model.requests[-1].messages[-1])


def test_the_secrets_of_a_call_end_with_it() -> None:
    """Of a call inside another the inner one's hold."""
    secrets = CallSecrets(Secrets([KEY]))
    with secrets.during_call([USER]):
        with secrets.during_call([BEARER]):
            assert secrets.mask(f"{KEY} {BEARER}") == "*** ***"
        assert secrets.mask(f"{KEY} {USER}") == "*** ***"

    assert secrets.mask(f"{KEY} {USER} {BEARER}") == f"*** {USER} {BEARER}"


def test_tokens_are_forgotten_in_time() -> None:
    """Of those that were fetched the last eight are masked; one twice counts once."""
    secrets = CallSecrets(Secrets())
    for number in range(10):
        secrets.add_token(f"token-{number}")
        secrets.add_token(f"token-{number}")

    assert [secrets.mask(f"token-{number}") == "***" for number in range(10)] == [False] * 2 + [True] * 8


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password": "a\\"b", "x": "y"}', '{"password": "***", "x": "y"}'),
        ('{"accessToken":"abc"}', '{"accessToken":"***"}'),
        ('{"token": "cut off', '{"token": "***"'),
        ('{"tokens": 5, "author": "ann", "errors": {"token": ["is required"]}}', None),
    ],
)
def test_members_of_an_errors_body_that_are_credentials_are_masked(text: str, masked: str | None) -> None:
    """By their names; what only sounds alike, counts and lists stay."""
    assert CallSecrets(Secrets()).mask_members(text) == (masked or text)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Auth(Credentials(headers=(("authorization", f"Bearer {BEARER}"),))),
        lambda: ClientCredentials("https://auth.test/token", "id", BEARER),
        lambda: HttpTools([], tool_at(operation(), FakeTransport())[1]),
        lambda: CallSecrets(Secrets([BEARER]), [BEARER]),
        lambda: Credentials((("authorization", f"Bearer {BEARER}"),), (("k", BEARER),), (("s", BEARER),), BEARER),
        lambda: PreparedRequest("GET", f"http://x/{BEARER}", [("k", BEARER)], [("x", BEARER)], [("s", BEARER)], b"x"),
    ],
)
def test_nothing_shows_a_secret_in_its_repr(made: Callable[[], object]) -> None:
    """Of what a debugger prints."""
    assert BEARER not in repr(made())


def test_a_status_error_travels() -> None:
    """To another process, with all that it says."""
    error = HttpStatusError("no", 404, tool="t", location="GET x", next_step="look")
    again = pickle.loads(pickle.dumps(error))

    assert (str(again), again.status, again.tool) == (str(error), 404, "t") and isinstance(again, ToolExecutionError)


def test_settings_and_the_program_show_none(tmp_path: Path) -> None:
    """What `explain` prints of a bean, and its repr."""
    bean = {
        "type": "http.tool",
        "url": "https://api.test/x",
        "auth": {"basic": {"username": "ann", "password": PASSWORD}},
        "headers": {"X-Key": KEY},
        "query": {"k": QUERY},
        "proxy": f"http://u:{COOKIE}@127.0.0.1:1",
    }
    app = AgentForge.from_mapping({"beans": {"x": bean}})
    with app:
        text = repr(app) + repr(app.get("x")) + repr(vars(app.get("x")))

    assert not [canary for canary in (PASSWORD, KEY, QUERY, COOKIE) if canary in text]


async def test_an_outcome_is_told_with_the_tools_own_words() -> None:
    """Nothing of it is the core's, which speaks of models and keys."""
    execution = await executed(tool_at(operation(), FakeTransport((401, {}, b"")))[0])

    assert execution.outcome is ToolOutcome.FAILED
    assert "model" not in str(execution.result.cause) and "auth of the bean" in str(execution.result.cause)


ODD = 'k/e+y="1"&<2>'


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", json.dumps({"a": ODD})),
        ("application/json", json.dumps({"a": ODD}).replace("/", "\\/")),
        ("application/json", json.dumps({"a": ODD}).replace("k", "\\u006b")),
        ("text/plain", f"/x?key={quote(ODD, safe='')} is not here"),
        ("text/plain", f"/x?key={quote_plus(ODD)} is not here"),
        ("text/html", f"<p>{html.escape(ODD)}</p>"),
    ],
)
async def test_a_secret_is_masked_however_a_server_writes_it(kind: str, body: str, status: int) -> None:
    """As JSON, PHP, addresses and HTML do; in the text, and in the value for the application."""
    transport = FakeTransport((status, {"content-type": kind}, body.encode()))
    tool, _ = tool_at(operation(), transport, sender={"auth": Auth(Credentials(query=(("key", ODD),)))})
    execution = await executed(tool)

    assert "***" in execution.result_text() and "e+y" not in execution.result_text() + str(execution.result.result)
    assert quote(ODD, safe="") not in execution.result_text()


@pytest.mark.parametrize("pick", [None, "a"])
async def test_the_value_for_the_application_holds_no_secret_either(pick: str | None) -> None:
    """What is no secret of it stays what it was; a number that is one is masked as text."""
    transport = FakeTransport((200, {"content-type": "application/json"}, {"a": [KEY, 1, None]}))
    sender = {"auth": Auth(Credentials(headers=(("X-Key", KEY),)))}
    tool, _ = tool_at(operation(), transport, sender=sender, pick=pick)
    found = (await executed(tool)).result.result
    assert (found if pick else found["a"]) == ["***", 1, None]

    transport = FakeTransport((200, {"content-type": "application/json"}, b'{"pin": 123456}'))
    tool, _ = tool_at(operation(), transport, sender={"auth": Auth(Credentials(headers=(("X-Key", "123456"),)))})
    assert (await executed(tool)).result.result == '{"pin":***}'


async def test_true_is_no_secret() -> None:
    """Under whatever name a run holds it: each other true would be masked."""
    entry = RunValue.parsed("header.X-Key", "user_data.key")
    tool, _ = tool_at(operation(), FakeTransport((200, {}, b"True")), from_context=[entry])

    assert (await executed(tool, run=Run(user_data={"key": True}))).result_text() == "True"
