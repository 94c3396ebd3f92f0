"""The client over a scripted transport: retries, limits and errors."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
)
from agentforge.http import HttpClient, HttpResponse, HttpTimeouts, RetryPolicy
from agentforge.masking import Secrets
from tests.support.loopback import plain, reset, serve
from tests.support.scripted_transport import REQUEST, Script, Sleeper, answer, client_over, read


async def failure(script: Script, **options: Any) -> tuple[ModelError, list[float]]:
    """The error that a request ends in, and the waits before it."""
    client, sleeper = client_over(script, **options)
    with pytest.raises(ModelError) as caught:
        await client.send(REQUEST)
    return caught.value, sleeper.slept


# -- retries -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "waits"),
    [
        pytest.param(answer(429, retry_after="7"), (7.0, 8.4), id="429 with seconds"),
        pytest.param(answer(429, retry_after="Sun, 30 Nov 2025 12:00:10 GMT"), (10.0, 12.0), id="429 with a date"),
        pytest.param(answer(429, retry_after="Sun, 30 Nov 2025 11:00:00 GMT"), (0.5, 2.0), id="429 with a past date"),
        pytest.param(answer(429, retry_after="soon"), (0.5, 2.0), id="429 with garbage"),
        pytest.param(answer(429, retry_after_ms="250", retry_after="9"), (0.25, 0.3), id="429 with milliseconds"),
        pytest.param(answer(408), (0.5, 2.0), id="408"),
        pytest.param(answer(409), (0.5, 2.0), id="409"),
        pytest.param(answer(500), (0.5, 2.0), id="500"),
        pytest.param(answer(502, b"<html>"), (0.5, 2.0), id="502"),
        pytest.param(answer(503, retry_after="1"), (1.0, 1.2), id="503"),
        pytest.param(answer(504), (0.5, 2.0), id="504"),
        pytest.param(answer(529), (0.5, 2.0), id="529"),
        pytest.param(answer(400, x_should_retry="true"), (0.5, 2.0), id="400 that says to retry"),
        pytest.param(ModelConnectionError("reset"), (0.5, 2.0), id="a reset"),
        pytest.param(ModelTimeoutError("late"), (0.5, 2.0), id="a time-out"),
    ],
)
@pytest.mark.parametrize("chance", [0.0, 1.0])
async def test_what_may_pass_is_sent_again(
    first: HttpResponse | ModelError, waits: tuple[float, float], chance: float
) -> None:
    """F1, F9, F10, F11: once more, after the wait that was asked for or the back-off."""
    script = Script([first, answer(200, b"good")])
    client, sleeper = client_over(script, chance)
    assert (await client.send(REQUEST)).content == b"good"
    assert sleeper.slept == [pytest.approx(waits[int(chance)])]


@pytest.mark.parametrize(
    "first",
    [
        *(pytest.param(answer(status), id=str(status)) for status in (301, 400, 401, 403, 404, 405, 413, 422)),
        pytest.param(answer(429, b'{"error": {"message": "M", "code": "insufficient_quota"}}'), id="no quota"),
        pytest.param(answer(503, x_should_retry="false"), id="503 that says not to"),
        pytest.param(ProtocolError("too large"), id="a broken answer"),
    ],
)
async def test_what_will_not_pass_is_not_sent_again(first: HttpResponse | ModelError) -> None:
    """F12: no retry, no wait."""
    script = Script([first, answer()])
    error, slept = await failure(script)
    assert (script.sent, slept, error.attempts) == (1, [], 1)


async def test_two_retries_and_no_more() -> None:
    """The last error is raised and says how often it was tried."""
    script = Script([answer(500, b'{"error": {"message": "down"}}', x_request_id="r1")])
    error, slept = await failure(script)
    assert isinstance(error, OverloadedError)
    assert (script.sent, slept, error.attempts, error.request_id) == (3, [0.5, 1.0], 3, "r1")
    assert error.location == "POST http://model.test/v1?key=***"


async def test_a_policy_of_ones_own() -> None:
    """The number of retries and the waits are settings."""
    script = Script([answer(500)])
    error, slept = await failure(script, retry=RetryPolicy(max_retries=4, base=1.0, cap=16.0))
    assert (error.attempts, slept) == (5, [1.0, 2.0, 4.0, 4.0])


async def test_a_wait_above_the_cap_fails_at_once() -> None:
    """F10: 86,400 s are not waited for, and the error names them."""
    error, slept = await failure(Script([answer(429, retry_after="86400"), answer()]))
    assert isinstance(error, RateLimitError)
    assert (slept, error.retry_after, error.attempts) == ([], 86_400.0, 1)
    assert "86400 s" in (error.next_step or "")


async def test_retry_after_on_a_good_answer_means_nothing() -> None:
    """Several providers send it there."""
    client, sleeper = client_over(Script([answer(200, retry_after="9")]))
    await client.send(REQUEST)
    assert sleeper.slept == []


async def test_a_wait_beyond_the_total_limit_is_not_begun() -> None:
    """The error of the provider says more than a time-out would."""
    client, sleeper = client_over(Script([answer(429, retry_after="30")]))
    with pytest.raises(RateLimitError):
        await client.send(replace(REQUEST, timeouts=HttpTimeouts(total=10.0)))
    assert sleeper.slept == []


async def test_cancelling_passes() -> None:
    """A cancelled request is not retried."""
    script = Script([asyncio.CancelledError()])
    client, sleeper = client_over(script)
    with pytest.raises(asyncio.CancelledError):
        await client.send(REQUEST)
    assert (script.sent, sleeper.slept) == (1, [])


async def test_a_foreign_error_passes() -> None:
    """What is no error of ours is a mistake, and not hidden by a retry."""
    client, _ = client_over(Script([KeyError("mistake")]))
    with pytest.raises(KeyError):
        await client.send(REQUEST)


async def test_a_reset_on_a_real_socket() -> None:
    """F1: the connection is reset before the headers, the second request succeeds."""
    async with serve(reset(), plain(b"good")) as server:
        client = HttpClient(sleep=Sleeper())
        assert (await client.send(replace(REQUEST, url=server.url()))).content == b"good"
        await client.aclose()
    assert len(server.requests) == 2


# -- limits --------------------------------------------------------------------------------------


async def test_the_total_limit() -> None:
    """F8: it ends a request whatever happens inside; no limit is none."""
    client, _ = client_over(Script([answer()], hang=True))
    with pytest.raises(ModelTimeoutError, match=r"within 0\.02 s \(the total limit\)") as caught:
        await client.send(replace(REQUEST, timeouts=HttpTimeouts(total=0.02)))
    assert caught.value.attempts == 1
    unlimited, _ = client_over(Script([answer()]))
    assert (await unlimited.send(replace(REQUEST, timeouts=HttpTimeouts(total=None)))).status == 200


async def test_a_time_out_of_somebody_else_passes() -> None:
    """Only our own limit is said to be ours."""
    client, _ = client_over(Script([TimeoutError("not ours"), answer()]))
    with pytest.raises(TimeoutError, match="not ours"):
        await client.send(REQUEST)
    with pytest.raises(TimeoutError, match="not ours"):
        await client_over(Script([TimeoutError("not ours")]))[0].stream(REQUEST).__aenter__()


# -- errors --------------------------------------------------------------------------------------


async def test_a_parser_of_a_providers_own() -> None:
    """It decides the error; what holds for all is filled in where it left it out."""

    def parse(status: int, headers: Any, content: bytes) -> ModelError:
        return ProtocolError(f"mine: {status} {content.decode()}")

    headers = {"x_request_id": "r", "retry_after": "3", "x_should_retry": "true"}
    script = Script([answer(418, b"tea", **headers)])
    client, sleeper = client_over(script, error_parser=parse, retry=RetryPolicy(max_retries=1))
    with pytest.raises(ProtocolError, match="mine: 418 tea") as caught:
        await client.send(REQUEST)
    error = caught.value
    assert (error.status, error.request_id, error.retry_after, sleeper.slept) == (418, "r", 3.0, [3.0])


@pytest.mark.parametrize(
    "result",
    [
        ModelConnectionError("canary-key", location="POST /canary-key", next_step="canary-key"),
        answer(400, b'{"error": {"message": "canary-key", "code": "canary-key"}}', x_request_id="canary-key"),
        answer(503, b"<html>canary-key"),
        answer(302, location="https://a.test/canary-key"),
    ],
)
async def test_no_registered_secret_is_in_an_error(result: HttpResponse | ModelError) -> None:
    """S9: whoever made it."""
    error, _ = await failure(Script([result]), secrets=Secrets(["canary-key"]))
    assert "canary" not in f"{error} {error!r} {error.args} {error.provider_code} {error.request_id}"


async def test_no_registered_secret_is_in_an_error_of_a_stream() -> None:
    """Also where it is raised while chunks are read."""
    client, _ = client_over(Script([(200, {}, [ModelConnectionError("canary-key")])]), secrets=Secrets(["canary-key"]))
    with pytest.raises(ModelConnectionError, match=r"\*\*\*"):
        await read(client)
