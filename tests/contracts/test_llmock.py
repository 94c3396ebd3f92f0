"""Our models against a server that is not ours, one a wire form: tool rounds and faults on a real socket, and a judge's
verdict on each.

The server (the package ``llmock``) records every request with its timing. Its verdict knows clients that ignore
Retry-After, repeat what cannot succeed, take half a stream for a whole one, or sit through a stall; ours gets neither a
FAIL nor a WARN. Its pytest plugin does nothing until its own fixtures are asked for, which these tests do not.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import httpx
import pytest

from agentforge import RunFinished, ToolChatResult, ToolOutcome, ToolService, errors, tool
from agentforge.http import HttpTimeouts
from agentforge.model import ChatModel
from agentforge.model.history import mend_history
from agentforge_anthropic import AnthropicChatModel
from agentforge_gemini import GeminiChatModel
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel
from tests.support.mock_provider import mock_provider

# Chunks are paced, so that a client that stops reading is seen to have done so.
PACE_MS = 10


@dataclass(frozen=True)
class Judge:
    """The server's address and its controls."""

    url: str
    client: httpx.Client
    form: str = "chat"

    def reset(self) -> None:
        """Forget all requests and scripts."""
        self.client.post("/_llmock/reset").raise_for_status()

    def script(self, *behaviors: dict[str, Any]) -> None:
        """What happens to the next requests, in this order."""
        self.client.post("/_llmock/scenario", json={"behaviors": list(behaviors)}).raise_for_status()

    def requests(self) -> list[dict[str, Any]]:
        """Every request since the start of the test; waits for those that are still being answered."""
        found: list[dict[str, Any]] = self.client.get("/_llmock/requests").raise_for_status().json()["requests"]
        return found

    def findings(self) -> list[tuple[str, str]]:
        """What the verdict holds against the client: how bad, and what."""
        verdict = self.client.get("/_llmock/verdict").raise_for_status().json()
        return [(finding["severity"], finding["code"]) for finding in verdict["findings"]]


@pytest.fixture(scope="module")
def server() -> Iterator[Judge]:
    """The server on a free port of the loopback address, ended with the module's last test."""
    with (
        mock_provider("--stream-chunk-delay-ms", str(PACE_MS)) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=30.0) as client,
    ):
        yield Judge(url, client)


@dataclass(frozen=True)
class Form:
    """One wire form: who speaks it, where, how many events come before the first text, the last result in a request's
    body as the model reads it; a reply with a call that has an event before it, where a call is one event; and whether
    arguments are text on the wire, plain and streamed."""

    model: type[Any]
    name: str
    path: str
    before_text: int
    told: Callable[[dict[str, Any]], str]
    calling: tuple[dict[str, Any], ...] = ()
    arguments_are_text: tuple[bool, bool] = (True, True)


FORMS = {
    "chat": Form(OpenAiChatModel, "gpt-4o", "/v1", 1, lambda body: body["messages"][-1]["content"]),
    "responses": Form(OpenAiResponsesModel, "gpt-4o", "/v1", 4, lambda body: body["input"][-1]["output"]),
    "messages": Form(
        AnthropicChatModel,
        "claude-sonnet-4-5",
        "/anthropic",
        3,
        lambda body: _text(body["messages"][-1]["content"][0]["content"]),
        arguments_are_text=(False, True),
    ),
    "gemini": Form(
        GeminiChatModel,
        "gemini-2.5-pro",
        "/gemini",
        0,
        lambda body: "".join(body["contents"][-1]["parts"][0]["functionResponse"]["response"].values()),
        calling=(
            # Long enough for the server to see that nobody listens any more.
            {"type": "reply", "text": "one " * 30, "tool_calls": [{"name": "get_weather", "arguments": {}}]},
        ),
        arguments_are_text=(False, False),
    ),
}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture(params=FORMS)
def judge(request: pytest.FixtureRequest, server: Judge) -> Iterator[Judge]:
    """The server without a past, for one wire form, and at the end its verdict: nothing found."""
    server.reset()
    state = random.getstate()
    random.seed(906)  # its first number is almost 0: the shortest wait that the back-off allows
    yield replace(server, form=request.param)
    random.setstate(state)
    assert server.findings() == []


async def test_the_verdict_would_notice_a_careless_client(server: Judge) -> None:
    """One that ignores Retry-After and takes half a stream for an answer."""
    server.reset()
    server.script({"type": "fail", "status": 429, "retry_after": 5.0}, {"type": "stream_fault", "kind": "truncate"})
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "Weather?"}]}
    for _ in range(2):
        server.client.post("/v1/chat/completions", json=body)

    assert server.findings() == [("error", "retry_after_ignored"), ("error", "truncated_stream_accepted")]


class Weather:
    """One tool that notes its calls."""

    def __init__(self) -> None:
        self.cities: list[str] = []

    @tool
    def get_weather(self, city: str, days: int = 1) -> str:
        "Current weather of a city."
        self.cities.append(city)
        return f"{city}: 22 degrees for {days} days"


@asynccontextmanager
async def model_at(
    judge: Judge, transport: str = "httpx", *, read: float = 10.0, **options: Any
) -> AsyncIterator[ChatModel]:
    """A model of the judge's form at the server."""
    timeouts = HttpTimeouts(read=read, total=60.0)
    form = FORMS[judge.form]
    async with form.model(
        model=form.name,
        base_url=f"{judge.url}{form.path}",
        api_key="key-for-tests",
        timeouts=timeouts,
        transport=transport,
        **options,
    ) as model:
        yield model


async def ask(service: ToolService, model: ChatModel, streamed: bool, text: str = "Weather?") -> ToolChatResult:
    """One turn, plain or streamed."""
    if not streamed:
        return await service.chat(model, None, text)
    result: ToolChatResult | None = None
    async with service.stream(model, None, text) as events:
        async for event in events:
            if isinstance(event, RunFinished):
                result = event.result
    assert result is not None
    return result


def is_whole(result: ToolChatResult, weather: Weather) -> None:
    """One round with our tool, then a text."""
    assert weather.cities == ["mock-city"]
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.OK]
    assert result.text and mend_history(tuple(result.messages)) == (tuple(result.messages), ())


both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
# Far above what a loaded machine needs, but for the stall itself.
READ = {"disconnect": 10.0, "truncate": 10.0, "malformed": 10.0, "stall": 0.8}
transports = pytest.mark.parametrize("transport", ["httpx", "aiohttp"])


@transports
@both
async def test_the_model_asks_our_tool_runs_the_model_answers(judge: Judge, streamed: bool, transport: str) -> None:
    weather = Weather()
    async with model_at(judge, transport) as model:
        result = await ask(ToolService(weather), model, streamed)

    is_whole(result, weather)
    first, second = judge.requests()
    assert FORMS[judge.form].told(second["body"]) == "mock-city: 22 degrees for 1 days"
    assert first["stream"] is second["stream"] is streamed
    assert result.token_usage.total_tokens


@both
@pytest.mark.parametrize(
    "failure",
    [
        {"status": 429, "retry_after": 0.3},
        {"status": 429, "retry_after": 0.05, "times": 2},
        {"status": 503, "retry_after": 0.1},
        {"status": 500},
        {"status": 529},
    ],
    ids=["429", "429 twice", "503 with a wait", "500", "529"],
)
async def test_a_failure_that_may_pass_is_waited_out(judge: Judge, streamed: bool, failure: dict[str, Any]) -> None:
    """As long as the server asks, else by the back-off; the tool runs once all the same."""
    weather = Weather()
    judge.script({"type": "fail", **failure})
    async with model_at(judge) as model:
        result = await ask(ToolService(weather), model, streamed)

    is_whole(result, weather)
    attempts = judge.requests()
    times = failure.get("times", 1)
    assert [attempt["status"] for attempt in attempts] == [failure["status"]] * times + [200, 200]
    for before, after in pairwise(attempts[: times + 1]):
        assert after["started_at"] - before["ended_at"] >= failure.get("retry_after", 0.5) - 0.01


@both
@pytest.mark.parametrize(
    ("status", "error", "attempts"),
    [
        (429, errors.RateLimitError, 3),
        (500, errors.OverloadedError, 3),
        (529, errors.OverloadedError, 3),
        (400, errors.InvalidRequestError, 1),
        (401, errors.AuthenticationError, 1),
        (403, errors.PermissionDeniedError, 1),
        (404, errors.NotFoundError, 1),
        (422, errors.InvalidRequestError, 1),
    ],
)
async def test_a_failure_that_lasts_is_a_typed_error_after_few_attempts(
    judge: Judge, streamed: bool, status: int, error: type[errors.ModelError], attempts: int
) -> None:
    """What cannot succeed is not tried again at all."""
    weather = Weather()
    judge.script({"type": "fail", "status": status, "times": None, "retry_after": 0.02, "message": "says no"})
    async with model_at(judge) as model:
        with pytest.raises(error, match="says no") as caught:
            await ask(ToolService(weather), model, streamed)

    assert caught.value.attempts == len(judge.requests()) == attempts
    assert caught.value.status == status
    assert weather.cities == []


FAULTS: dict[str, type[errors.ModelError]] = {
    "disconnect": errors.ModelConnectionError,
    "truncate": errors.StreamTruncatedError,
    "malformed": errors.ProtocolError,
    "stall": errors.ModelTimeoutError,
}


@transports
@pytest.mark.parametrize("kind", FAULTS)
async def test_a_stream_that_breaks_within_a_call_runs_nothing_and_can_be_asked_again(
    judge: Judge, kind: str, transport: str
) -> None:
    """A typed error, a valid history; the application's second question is answered and the tool runs once."""
    weather = Weather()
    fault = {"type": "stream_fault", "kind": kind, "after_chunks": 3, **stalling(kind)}
    judge.script(*FORMS[judge.form].calling, fault)
    async with model_at(judge, transport, read=READ[kind]) as model:
        with pytest.raises(FAULTS[kind]) as caught:
            await ask(ToolService(weather), model, streamed=True)
        assert type(caught.value) is FAULTS[kind]
        assert weather.cities == []
        assert [m.text for m in caught.value.partial.messages] == ["Weather?"]  # type: ignore[attr-defined]
        (broken,) = judge.requests()
        assert broken["fault"] == f"stream:{kind}@3"
        result = await ask(ToolService(weather), model, streamed=True)

    is_whole(result, weather)


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_stream_that_breaks_within_a_text_is_never_taken_for_an_answer(judge: Judge, kind: str) -> None:
    """Nothing is repeated by itself once text was shown; the error carries the text so far."""
    said = "one two three four five six"
    judge.script(
        {"type": "reply", "text": said, "times": 2},
        {"type": "stream_fault", "kind": kind, "after_chunks": FORMS[judge.form].before_text + 2, **stalling(kind)},
    )
    async with model_at(judge, read=READ[kind]) as model:
        with pytest.raises(FAULTS[kind]) as caught:
            await ask(ToolService(), model, streamed=True)
        assert len(judge.requests()) == 1
        partial = getattr(caught.value, "partial_text", None) or caught.value.details["partial_text"]
        assert partial == "one two "
        result = await ask(ToolService(), model, streamed=True)

    assert result.text == said


def stalling(kind: str) -> dict[str, Any]:
    """A stall far beyond the read limit."""
    return {"stall_seconds": 20.0} if kind == "stall" else {}


@pytest.mark.parametrize(
    ("fault", "outcome"), [("unknown_tool", "UNKNOWN_TOOL"), ("malformed_arguments", "INVALID_ARGUMENTS")]
)
@both
async def test_a_broken_call_is_told_to_the_model_which_goes_on(
    judge: Judge, streamed: bool, fault: str, outcome: str
) -> None:
    weather = Weather()
    judge.script({"type": "tool_fault", "kind": fault})
    service = ToolService(weather, arguments_error_handler="return_to_model", unknown_tool_strategy="list_known_tools")
    async with model_at(judge) as model:
        result = await ask(service, model, streamed)

    assert weather.cities == []
    assert [execution.outcome.name for execution in result.tool_executions] == [outcome]
    told = FORMS[judge.form].told(judge.requests()[1]["body"])
    if fault == "unknown_tool":
        assert "get_weather" in told
    elif not FORMS[judge.form].arguments_are_text[streamed]:
        assert "city: is required" in told  # arguments are an object there, and this one is empty
    else:
        assert "not valid JSON" in told
    assert result.text


async def test_a_slow_first_token_is_waited_for_within_the_read_limit(judge: Judge) -> None:
    weather = Weather()
    judge.script({"type": "slow_first_token", "seconds": 0.4})
    async with model_at(judge, read=10.0) as model:
        result = await ask(ToolService(weather), model, streamed=True)

    is_whole(result, weather)
    assert judge.requests()[0]["duration"] >= 0.4


async def test_a_first_token_beyond_the_read_limit_is_a_time_out(judge: Judge) -> None:
    weather = Weather()
    judge.script({"type": "slow_first_token", "seconds": 20.0})
    async with model_at(judge, read=0.8) as model:
        with pytest.raises(errors.ModelTimeoutError):
            await ask(ToolService(weather), model, streamed=True)
        assert weather.cities == []
        result = await ask(ToolService(weather), model, streamed=True)

    is_whole(result, weather)
