"""Faults on a real socket: what breaks, stalls, lies or is busy becomes one error of ours, or is tried again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from agentforge import ToolService, tool
from agentforge.errors import (
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.http import HttpTimeouts
from agentforge.model import ChatRequest, ResponseDone, TextDelta
from agentforge.testing import ScriptedEndpoint, call
from agentforge_ollama import OllamaChatModel
from plugins.ollama.tests.support import call as wire_call
from plugins.ollama.tests.support import dumped, last, line
from tests.support.wire_exchange import AT_ONCE

NDJSON = {"content-type": "application/x-ndjson"}
BUSY = {"status": 503, "body": {"error": "server busy, please try again.  maximum pending requests exceeded"}}
FULL = {"status": 429, "headers": {"retry-after": "0"}, "body": {"error": "you have reached your usage limit"}}
BROKEN = {"status": 500, "body": {"error": "llama-server process has terminated"}}
TEXT = {"text": "a text in several pieces"}


def raw(*lines: bytes) -> dict[str, Any]:
    """A stream of these lines under a good status."""
    return {"headers": NDJSON, "body": b"".join(lines)}


#: What the other side does, what it becomes, and the text that was shown before (of a stream).
FAULTS: dict[str, tuple[Mapping[str, Any], type[ModelError], str | None]] = {
    "a reset": ({"disconnect": True}, ModelConnectionError, None),
    "a stall": ({"stall": True}, ModelTimeoutError, None),
    "a reset in the middle": ({**TEXT, "disconnect_after": 2}, ModelConnectionError, "a text in severa"),
    "a stall in the middle": ({**TEXT, "stall_after": 1}, ModelTimeoutError, "a text i"),
    "a page of a proxy": (
        {"headers": {"content-type": "text/html"}, "body": "<html>Sign in</html>"},
        ProtocolError,
        None,
    ),
    "a plain text": ({"body": "404 page not found"}, ProtocolError, None),
    "too many requests": (FULL, RateLimitError, None),
    "a broken server": (BROKEN, OverloadedError, None),
    "an overloaded server": (BUSY, OverloadedError, None),
}
#: The same of streams only.
STREAM_FAULTS: dict[str, tuple[Mapping[str, Any], type[ModelError], str | None]] = {
    "an early end": ({**TEXT, "truncate_after": 2}, StreamTruncatedError, "a text in severa"),
    "a malformed line": (raw(line("so far"), b'{"message": {"con\n', last()), ProtocolError, "so far"),
    "an error line": (raw(line("so far"), dumped({"error": "llama-server is away"})), ModelError, "so far"),
    "an error line at once": (raw(dumped({"error": "server busy"})), OverloadedError, None),
}


def model_at(endpoint: ScriptedEndpoint, **options: Any) -> OllamaChatModel:
    options.setdefault("timeouts", HttpTimeouts(read=0.1))
    return OllamaChatModel(base_url=endpoint.base_url, model="m", **{"max_retries": 0, **options})


async def collect(events: AsyncIterator[Any], seen: list[Any]) -> None:
    async for event in events:
        seen.append(event)


@pytest.mark.parametrize("fault", [*FAULTS, *STREAM_FAULTS])
async def test_a_fault_of_a_stream_is_one_error(fault: str) -> None:
    """With the text that was shown before it."""
    turn, kind, shown = {**FAULTS, **STREAM_FAULTS}[fault]
    seen: list[Any] = []
    async with ScriptedEndpoint([turn]) as endpoint, model_at(endpoint) as model:
        with pytest.raises(ModelError) as caught:
            await collect(model.stream(ChatRequest("q")), seen)
    assert type(caught.value) is kind
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == (shown or "")
    assert getattr(caught.value, "partial_text", caught.value.details.get("partial_text")) == shown
    assert not any(isinstance(event, ResponseDone) for event in seen)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_a_plain_answer_is_one_error(fault: str) -> None:
    turn, kind, _ = FAULTS[fault]
    async with ScriptedEndpoint([turn]) as endpoint, model_at(endpoint) as model:
        with pytest.raises(ModelError) as caught:
            await model.chat(ChatRequest("q"))
    assert type(caught.value) is kind


@pytest.mark.parametrize("fault", [{"disconnect": True}, FULL, BROKEN, BUSY])
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_may_pass_is_tried_again(fault: Mapping[str, Any], streamed: bool) -> None:
    """As long as nothing was shown."""
    async with ScriptedEndpoint([fault, "Here I am."]) as endpoint, model_at(endpoint, retry=AT_ONCE) as model:
        if streamed:
            events = [event async for event in model.stream(ChatRequest("q"))]
            assert isinstance(events[-1], ResponseDone)
            response = events[-1].response
        else:
            response = await model.chat(ChatRequest("q"))
        assert response.ai_message.text == "Here I am." and len(endpoint.requests) == 2


@tool
def get_weather(city: str) -> str:
    """Current weather of a city."""
    RAN.append(city)
    return f"{city}: rain"


RAN: list[str] = []


@pytest.mark.parametrize(
    "turn",
    [
        {"calls": [call("get_weather", city="Oslo")], "truncate_after": 1},
        raw(line(tool_calls=[wire_call(id="a")])),
        raw(line(tool_calls=[wire_call(id="a")]), dumped({"error": "llama-server is away"})),
    ],
    ids=["an early end", "no line that is done", "an error behind the call"],
)
async def test_a_call_of_a_stream_that_was_cut_does_not_run(turn: Any) -> None:
    """However whole it is: nobody knows whether the model meant more."""
    RAN.clear()
    async with ScriptedEndpoint([turn]) as endpoint, model_at(endpoint) as model:
        events = ToolService(get_weather).stream(model, None, "Weather?")
        async with events:
            with pytest.raises(ModelError):
                await collect(events, [])
    assert RAN == []


async def test_a_whole_turn_comes_to_its_end_plain_and_streamed() -> None:
    """A test of the test above: the same call runs where its stream is whole."""
    RAN.clear()
    turns = [raw(line(tool_calls=[wire_call(id="a")]), last()), "It rains."]
    async with ScriptedEndpoint(turns) as endpoint, model_at(endpoint) as model:
        async with ToolService(get_weather).stream(model, None, "Weather?") as events:
            async for _ in events:
                pass
        assert events.result.text == "It rains." and RAN == ["Oslo"]
        assert endpoint.requests[1].body["messages"][-1]["content"] == "Oslo: rain"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_the_server_could_not_read_is_told_to_the_model(streamed: bool) -> None:
    """The model made it, so it is asked again, with what it had made; the request is not just repeated."""
    text = "error parsing tool call: raw='{\"city\": ', err=unexpected end of JSON input"
    failed = raw(line("I look."), dumped({"error": text})) if streamed else {"status": 500, "body": {"error": text}}
    async with ScriptedEndpoint([failed, "It rains."]) as endpoint, model_at(endpoint, retry=AT_ONCE) as model:
        if streamed:
            async with ToolService(get_weather).stream(model, None, "Weather?") as events:
                await collect(events, [])
            result = events.result
        else:
            result = await ToolService(get_weather).chat(model, None, "Weather?")
    assert result.text == "It rains." and len(endpoint.requests) == 2
    assert '{"city": ' in str(endpoint.requests[1].body["messages"])
