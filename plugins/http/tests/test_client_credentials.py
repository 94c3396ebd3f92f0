"""Tokens by OAuth 2's client credentials: fetched once, kept, renewed, and never sent anywhere else."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from agentforge.errors import ConfigurationError, ToolExecutionError
from agentforge.http import RetryPolicy
from agentforge.tool.execution import ToolOutcome
from agentforge_http import AddressGuard, Auth, ClientCredentials, TokenProvider
from plugins.http.tests.support import FakeTransport, executed, operation, tool_at
from tests.support.loopback import endless, plain, reset, serve

SECRET = "s:e cret/1"
URL = "https://auth.test/oauth/token?tenant=1"


def answer(number: int = 1, **more: Any) -> tuple[int, dict[str, str], bytes]:
    made = {"access_token": f"at-{number}-abcdef", "token_type": "Bearer", "expires_in": 3600, **more}
    return 200, {"content-type": "application/json"}, json.dumps(made).encode()


class Clock:
    """Seconds that a test moves on."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def provider(*answers: Any, **options: Any) -> tuple[ClientCredentials, FakeTransport]:
    transport = FakeTransport(*answers)
    return ClientCredentials(URL, "my:client", SECRET, transport=transport, **options), transport


async def test_the_request_is_that_of_the_standard() -> None:
    """RFC 6749 section 4.4: a form, and id and secret in the header, form-encoded before they are joined."""
    tokens, transport = provider(
        answer(), scope="read write", audience="https://api.test", parameters={"resource": "r&1"}
    )

    assert isinstance(tokens, TokenProvider) and await tokens.token() == "at-1-abcdef"
    sent = transport.requests[0]
    assert (sent.method, sent.url) == ("POST", URL)
    assert dict(parse_qsl(sent.content.decode())) == {
        "grant_type": "client_credentials",
        "scope": "read write",
        "audience": "https://api.test",
        "resource": "r&1",
    }
    assert transport.header("content-type") == "application/x-www-form-urlencoded"
    assert base64.b64decode((transport.header("authorization") or "")[6:]) == b"my%3Aclient:s%3Ae+cret%2F1"


async def test_id_and_secret_may_go_in_the_body() -> None:
    """And then not in the header."""
    tokens, transport = provider(answer(), client_authentication="post")
    await tokens.token()

    sent = dict(parse_qsl(transport.requests[0].content.decode()))
    assert (sent["client_id"], sent["client_secret"]) == ("my:client", SECRET)
    assert transport.header("authorization") is None


@pytest.mark.parametrize(
    ("lasts", "kept", "ended"),
    [(3600, 3569, 3571), (60, 53, 55), ("100", 89, 91), (None, 10**9, None), ("x", 10**9, None)],
)
async def test_a_token_is_kept_until_shortly_before_its_end(lasts: Any, kept: float, ended: float | None) -> None:
    """Half a minute, or a tenth of what it lasts; one whose end is not told is kept."""
    clock = Clock()
    tokens, transport = provider(answer(1, expires_in=lasts), answer(2), clock=clock)
    await tokens.token()
    clock.now += kept
    assert await tokens.token() == "at-1-abcdef" and len(transport.requests) == 1
    if ended is not None:
        clock.now += ended - kept
        assert await tokens.token() == "at-2-abcdef"


async def test_a_refused_token_is_fetched_anew_and_only_that_one() -> None:
    """A second call that was refused with the old token gets the one that is there."""
    tokens, transport = provider(answer(1), answer(2))
    old = await tokens.token()
    assert await tokens.token(old) == "at-2-abcdef"
    assert await tokens.token(old) == "at-2-abcdef" and len(transport.requests) == 2


async def test_calls_at_once_share_one_fetch() -> None:
    """One that is cancelled ends it for no other."""
    async with serve(plain(answer()[2])) as server:
        tokens = ClientCredentials(server.url("/token"), "id", SECRET)
        waiting = [asyncio.create_task(tokens.token()) for _ in range(20)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        await tokens.aclose()

    assert isinstance(ended[0], asyncio.CancelledError) and set(ended[1:]) == {"at-1-abcdef"}
    assert len(server.requests) == 1


async def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    """A token is never that long."""
    async with serve(endless()) as server:
        tokens = ClientCredentials(server.url("/token"), "id", SECRET)
        with pytest.raises(ToolExecutionError, match="larger than 65536 bytes") as caught:
            await tokens.token()
        await tokens.aclose()

    assert "token_url" in str(caught.value.next_step)


def test_it_may_be_used_from_several_event_loops() -> None:
    """One after the other; the token is kept over them."""
    tokens, transport = provider(answer())
    assert [asyncio.run(tokens.token()) for _ in range(3)] == ["at-1-abcdef"] * 3
    assert len(transport.requests) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            (401, {}, b'{"error": "invalid_client", "error_description": "unknown"}'),
            "status 401: invalid_client: unknown",
        ),
        ((400, {}, f"bad {SECRET}".encode()), "status 400"),
        ((400, {}, json.dumps({"error": SECRET}).encode()), "status 400: ***"),
        ((302, {"location": "https://evil.test"}, b""), "status 302"),
        ((200, {}, b"<html>"), "the answer is not JSON"),
        ((200, {}, b"{}"), "holds no access_token"),
        ((200, {}, b"[]"), "holds no access_token"),
        (answer(token_type="mac"), "not of the type Bearer"),
        (answer(access_token="a\r\nb"), "characters that no header can carry"),
    ],
)
async def test_what_gives_no_token_is_an_error_without_the_secret(given: Any, says: str) -> None:
    """For the model: what the authorization server said, and its host."""
    tokens, transport = provider(given)
    tool, _ = tool_at(operation(), FakeTransport(), sender={"auth": Auth(tokens=tokens)})
    execution = await executed(tool)

    assert execution.outcome is ToolOutcome.FAILED and "no token for the API from auth.test" in execution.result_text()
    assert says in execution.result_text() and SECRET not in str(execution.result.cause)
    assert all(sent.url == URL for sent in transport.requests)


async def test_the_next_call_asks_again_after_a_failure() -> None:
    """Nothing of a failed fetch is kept."""
    tokens, _ = provider((400, {}, b"{}"), answer())
    with pytest.raises(ToolExecutionError):
        await tokens.token()
    assert await tokens.token() == "at-1-abcdef"


async def test_a_server_that_breaks_off_is_asked_once_more() -> None:
    """A fetch is no action: it may be repeated."""
    async with serve(reset(), plain(answer()[2])) as server:
        tokens = ClientCredentials(server.url("/token"), "id", SECRET, retry=RetryPolicy(1, base=0.001, cap=0.004))
        assert await tokens.token() == "at-1-abcdef" and len(server.requests) == 2
        await tokens.aclose()


async def test_where_a_stranger_names_the_server_it_has_to_be_public() -> None:
    """And nothing is sent to one that is not."""
    transport = FakeTransport(answer())
    for url in ("http://127.0.0.1:9/token", "http://169.254.169.254/token"):
        with pytest.raises(ToolExecutionError, match="may not be called"):
            await ClientCredentials(url, "id", SECRET, transport=transport, guard=AddressGuard()).token()
    assert await ClientCredentials("http://1.1.1.1/t", "id", SECRET, transport=transport, guard=AddressGuard()).token()
    assert [sent.connect_to for sent in transport.requests] == ["1.1.1.1"]


@pytest.mark.parametrize("url", ["", "auth.test/token", "ftp://auth.test", "https://u:p@auth.test/token"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """When it is made."""
    with pytest.raises(ConfigurationError, match="token_url"):
        ClientCredentials(url, "id", SECRET)


@pytest.mark.parametrize("token", ["two words", "caf\u00e9", "\ud800", "a\r\nb"])
async def test_a_token_that_no_header_can_carry_is_none(token: str) -> None:
    """Whoever gives it: this provider, or one of the application's own."""
    tokens, _ = provider((200, {}, json.dumps({"access_token": token}).encode()))
    with pytest.raises(ToolExecutionError, match="characters that no header can carry"):
        await tokens.token()

    class Own:
        async def token(self, refused: str | None = None) -> str:
            return token

    execution = await executed(tool_at(operation(), FakeTransport(), sender={"auth": Auth(tokens=Own())})[0])
    assert execution.outcome is ToolOutcome.FAILED
    assert execution.result_text() == "no token for the API: the provider gave none that a header can carry"
