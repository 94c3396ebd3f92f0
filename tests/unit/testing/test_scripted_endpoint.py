"""The scripted endpoint speaks Chat Completions over a real socket, and breaks where the script says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import (
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
)
from agentforge.http.httpx_transport import HttpxTransport
from agentforge.http.sse import SseDecoder
from agentforge.http.transport import HttpRequest, HttpResponse, HttpTimeouts
from agentforge.model.citation import Citation
from agentforge.model.messages import AiMessage
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.testing import EndpointReply, ScriptedEndpoint, call, calls

ASK = {"model": "tiny", "messages": [{"role": "user", "content": "Weather?"}]}
STREAM = {**ASK, "stream": True}


@asynccontextmanager
async def _client() -> AsyncIterator[HttpxTransport]:
    transport = HttpxTransport(trust_env=False)
    try:
        yield transport
    finally:
        await transport.aclose()


def _request(endpoint: ScriptedEndpoint, body: object, *, read: float = 30.0) -> HttpRequest:
    headers = ((b"content-type", b"application/json"), (b"X-Trace", b"t1"))
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpRequest("POST", f"{endpoint.base_url}/chat/completions", headers, content, HttpTimeouts(read=read))


async def _post(endpoint: ScriptedEndpoint, body: object = ASK) -> HttpResponse:
    async with _client() as client:
        return await client.send(_request(endpoint, body))


async def _one(turn: Any, body: object = ASK) -> HttpResponse:
    async with ScriptedEndpoint([turn]) as endpoint:
        return await _post(endpoint, body)


async def _events(turn: Any, body: object = STREAM, *, seen: list[Any] | None = None) -> list[Any]:
    """The parsed events of a streamed answer; ``[DONE]`` as text."""
    found: list[Any] = seen if seen is not None else []
    decoder = SseDecoder()
    async with (
        ScriptedEndpoint([turn]) as endpoint,
        _client() as client,
        client.stream(_request(endpoint, body)) as answer,
    ):
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for chunk in answer.chunks:
            for event in decoder.feed(chunk):
                found.append("[DONE]" if event.data == b"[DONE]" else json.loads(event.data))
    return found


async def _until(condition: Callable[[], bool]) -> None:
    """Let the server work until ``condition`` holds, which takes a few turns of the loop."""
    for _ in range(1_000_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition never held")


async def test_a_text_is_an_answer_in_the_wire_form() -> None:
    answer = await _one({"text": "22 degrees.", "usage": {"input": 10, "output": 5, "cached_input": 3}})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.content) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "22 degrees.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


async def test_what_was_written_to_a_cache_is_told_where_a_script_says_so() -> None:
    answer = await _one({"text": "22 degrees.", "usage": {"input": 10, "output": 5, "cache_write": 4}})
    details = json.loads(answer.content)["usage"]["prompt_tokens_details"]
    assert details == {"cached_tokens": 0, "cache_write_tokens": 4}


async def test_calls_and_thinking_are_parts_of_the_message() -> None:
    turn = calls(call("get_weather", city="杭州"), call("now"), thinking="Two calls.")
    choice = json.loads((await _one(turn)).content)["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["reasoning_content"] == "Two calls."
    assert choice["message"]["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"杭州"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
    ]


@pytest.mark.parametrize(
    ("reason", "wire"),
    [
        (FinishReason.STOP, "stop"),
        (FinishReason.LENGTH, "length"),
        (FinishReason.CONTENT_FILTER, "content_filter"),
        (FinishReason.OTHER, "other"),
    ],
)
async def test_finish_reasons_have_the_wires_names(reason: FinishReason, wire: str) -> None:
    turn = {"text": "a", "finish_reason": reason}
    assert json.loads((await _one(turn)).content)["choices"][0]["finish_reason"] == wire
    assert (await _events(turn))[-2]["choices"][0]["finish_reason"] == wire


async def test_a_response_keeps_the_providers_own_word() -> None:
    turn = ChatResponse(AiMessage("a"), FinishReason.OTHER, id="r9", model_name="big", raw_finish_reason="eos")
    answer = json.loads((await _one(turn)).content)
    assert (answer["choices"][0]["finish_reason"], answer["id"], answer["model"]) == ("eos", "r9", "big")


async def test_a_refusal_has_its_own_field() -> None:
    turn = {"text": "I cannot.", "finish_reason": "refusal"}
    choice = json.loads((await _one(turn)).content)["choices"][0]
    assert (choice["message"]["content"], choice["message"]["refusal"]) == (None, "I cannot.")
    deltas = [event["choices"][0]["delta"] for event in (await _events(turn))[:-1]]
    assert "".join(delta.get("refusal", "") for delta in deltas) == "I cannot."


async def test_citations_are_annotations_of_the_message_and_of_one_delta() -> None:
    """With what is known of each source, and none of it where there are no citations."""
    sources = (Citation("https://yr.example", "Oslo", "22 degrees", 0, 5), Citation("https://other.example"))
    turn = ChatResponse(AiMessage("Sunny."), citations=sources)
    expected = [
        {
            "type": "url_citation",
            "url_citation": {
                "url": "https://yr.example",
                "title": "Oslo",
                "content": "22 degrees",
                "start_index": 0,
                "end_index": 5,
            },
        },
        {"type": "url_citation", "url_citation": {"url": "https://other.example"}},
    ]
    assert json.loads((await _one(turn)).content)["choices"][0]["message"]["annotations"] == expected
    deltas = [event["choices"][0]["delta"] for event in (await _events(turn))[:-1]]
    assert [delta["annotations"] for delta in deltas if "annotations" in delta] == [expected]
    assert deltas[-2] == {"annotations": expected}
    assert not any("annotations" in event["choices"][0]["delta"] for event in (await _events("Sunny."))[:-1])


async def test_made_up_ids_and_usage_follow_the_request() -> None:
    earlier = {"id": "call_4", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "12345"}]},
            {"role": "assistant", "content": None, "tool_calls": [earlier]},
            {"role": "tool", "tool_call_id": "call_4", "content": "noon"},
        ]
    }
    answer = json.loads((await _one(call("now"), body)).content)
    assert answer["choices"][0]["message"]["tool_calls"][0]["id"] == "call_5"
    assert answer["usage"]["prompt_tokens"] == 4
    assert answer["model"] == "scripted"


async def test_a_stream_carries_the_same_reply_in_pieces() -> None:
    turn = calls(call("get_weather", city="杭州"), text="One moment please.", thinking="Let me look.")
    events = await _events(turn, {**STREAM, "stream_options": {"include_usage": True}})
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"] == []
    assert events[-2]["usage"]["completion_tokens"] > 0
    assert all(event["object"] == "chat.completion.chunk" for event in events[:-1])
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    deltas = [event["choices"][0]["delta"] for event in events[:-2]]
    assert "".join(delta.get("content", "") for delta in deltas) == "One moment please."
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Let me look."
    pieces = [piece for delta in deltas for piece in delta.get("tool_calls", [])]
    assert len(pieces) > 2
    assert pieces[0]["id"] == "call_1"
    assert pieces[0]["function"] == {"name": "get_weather", "arguments": ""}
    assert "".join(piece["function"]["arguments"] for piece in pieces) == '{"city":"杭州"}'
    assert events[-3]["choices"][0]["finish_reason"] == "tool_calls"


async def test_a_stream_has_usage_only_where_it_was_asked_for() -> None:
    events = await _events("hello")
    assert not any("usage" in event for event in events[:-1])
    assert events[-1] == "[DONE]"


async def test_requests_are_recorded_in_order_with_lower_case_headers() -> None:
    async with ScriptedEndpoint(["a", "b"]) as endpoint:
        await _post(endpoint)
        await _post(endpoint, {**ASK, "seed": 7})
        first, second = endpoint.requests
    assert first.path == "/v1/chat/completions"
    assert first.body == ASK
    assert first.headers["x-trace"] == "t1"
    assert second.body["seed"] == 7
    assert "t1" not in repr(first)


async def test_a_callable_turn_sees_the_request() -> None:
    async def later(request: Any) -> Any:
        return {"status": 418, "body": f"model {request.body['model']}"}

    answer = await _one(lambda request: later)
    assert (answer.status, answer.content) == (418, b"model tiny")


async def test_connections_are_kept_alive_and_counted() -> None:
    async with ScriptedEndpoint(["a", "b", "c"]) as endpoint:
        async with _client() as client:
            for _ in range(3):
                await client.send(_request(endpoint, ASK))
            assert (endpoint.connections, endpoint.open_connections) == (1, 1)
        await _until(lambda: endpoint.open_connections == 0)
    assert endpoint.connections == 1
    assert repr(endpoint) == "ScriptedEndpoint(3 turns, 3 requests)"


@pytest.mark.parametrize("repeat", [False, True])
async def test_a_script_that_is_used_up_answers_with_an_error_or_starts_over(repeat: bool) -> None:
    async with ScriptedEndpoint(["a"], repeat=repeat) as endpoint:
        await _post(endpoint)
        answer = await _post(endpoint)
    assert answer.status == (200 if repeat else 400)
    if not repeat:
        assert json.loads(answer.content)["error"]["message"] == "the script has 1 turn, and this is request 2"


# -- errors and faults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "status", "headers", "content"),
    [
        (
            {"status": 429, "headers": {"Retry-After": 2}, "body": {"error": "slow"}},
            429,
            {"retry-after": "2", "content-type": "application/json"},
            b'{"error": "slow"}',
        ),
        (
            {"status": 502, "body": "<html>", "headers": {"content-type": "text/html"}},
            502,
            {"content-type": "text/html"},
            b"<html>",
        ),
        ({"body": ""}, 200, {"content-type": "text/plain"}, b""),
        ({"status": 529}, 529, {}, b""),
        (EndpointReply(status=401, body=[1]), 401, {"content-type": "application/json"}, b"[1]"),
    ],
)
async def test_a_raw_answer_is_sent_as_it_is(
    turn: Any, status: int, headers: Mapping[str, str], content: bytes
) -> None:
    for body in (ASK, STREAM):
        answer = await _one(turn, body)
        assert (answer.status, answer.content) == (status, content)
        assert headers.items() <= answer.headers.items()


@pytest.mark.parametrize(
    ("turn", "status", "code"),
    [
        (RateLimitError("slow down", retry_after=2.5), 429, None),
        (ContextLengthError("too long"), 400, "context_length_exceeded"),
        (ContentFilterError("blocked", provider_code="filtered"), 400, "filtered"),
        (OverloadedError("busy", status=529), 529, None),
        (ModelTimeoutError("late"), 504, None),
        (ModelError("broken"), 500, None),
        ({"error": {"type": "authentication", "message": "no"}}, 401, None),
        ({"text": "a", "error": {"type": "overloaded", "message": "gone", "status": 503}}, 503, None),
    ],
)
async def test_an_error_of_the_taxonomy_has_its_status(turn: Any, status: int, code: str | None) -> None:
    answer = await _one(turn)
    error = json.loads(answer.content)["error"]
    assert answer.status == status
    assert error["code"] == code
    if isinstance(turn, RateLimitError):
        assert answer.headers["retry-after"] == "2.5"
        assert error["message"] == "slow down"


async def test_an_error_after_text_is_an_event_of_the_stream() -> None:
    events = await _events({"text": "Half", "error": {"type": "overloaded", "message": "gone"}})
    assert events[-1]["error"]["message"] == "gone"
    assert events[-2]["choices"][0]["delta"] == {"content": "Half"}


async def test_a_protocol_error_is_an_answer_that_is_no_reply() -> None:
    answer = await _one(ProtocolError("odd"))
    assert (answer.status, answer.content) == (200, b"<html>not a reply</html>")


@pytest.mark.parametrize("turn", [{"disconnect": True}, ModelConnectionError("reset")])
@pytest.mark.parametrize("body", [ASK, STREAM])
async def test_a_disconnect_comes_before_any_byte(turn: Any, body: object) -> None:
    async with ScriptedEndpoint([turn, "again"]) as endpoint:
        with pytest.raises(ModelConnectionError):
            await _post(endpoint, body)
        assert (await _post(endpoint)).status == 200
        assert len(endpoint.requests) == 2


@pytest.mark.parametrize("events", [0, 1, 3])
async def test_a_stream_is_reset_after_so_many_events(events: int) -> None:
    seen: list[Any] = []
    with pytest.raises(ModelError):
        await _events({"text": "a" * 100, "disconnect_after": events}, seen=seen)
    assert len(seen) == events


@pytest.mark.parametrize("events", [0, 1, 3, 1000])
async def test_a_stream_is_truncated_in_silence_after_so_many_events(events: int) -> None:
    seen = await _events({"text": "a" * 100, "truncate_after": events})
    whole = await _events({"text": "a" * 100})
    assert seen == [{**event, "id": "chatcmpl-1"} if event != "[DONE]" else event for event in whole[:events]]


@pytest.mark.parametrize("turn", [{"text": "a" * 100, "stall_after": 2}, {"stall": True}])
async def test_a_stall_lasts_until_the_client_leaves(turn: Any) -> None:
    async with ScriptedEndpoint([turn]) as endpoint:
        async with _client() as client:

            async def read() -> None:
                async with client.stream(_request(endpoint, STREAM, read=0.05)) as answer:
                    async for _ in answer.chunks:
                        pass

            with pytest.raises(ModelTimeoutError):
                await read()
        await _until(lambda: endpoint.open_connections == 0)


async def test_a_stall_ends_with_the_server() -> None:
    async with ScriptedEndpoint([{"stall": True}]) as endpoint:
        asking = asyncio.create_task(_post(endpoint))
        await _until(lambda: len(endpoint.requests) == 1)
    with pytest.raises(ModelConnectionError):
        await asking
    assert endpoint.open_connections == 0


@pytest.mark.parametrize(
    ("fault", "error"), [("disconnect_after", ModelError), ("truncate_after", None), ("stall_after", ModelTimeoutError)]
)
async def test_a_plain_answer_breaks_in_the_middle_of_its_body(fault: str, error: type[Exception] | None) -> None:
    async with ScriptedEndpoint([{"text": "a" * 100, fault: 1}]) as endpoint, _client() as client:
        request = _request(endpoint, ASK, read=0.05 if fault == "stall_after" else 30)
        if error is not None:
            with pytest.raises(error):
                await client.send(request)
        else:
            with pytest.raises(ValueError, match="Unterminated"):
                json.loads((await client.send(request)).content)


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        ({"text": "a", "status": 429}, "a reply and a raw answer exclude each other"),
        ({"text": "a", "stall": True, "truncate_after": 1}, "exclude each other"),
        ({"stall": False}, "'stall' is true or left out"),
        ({"text": "a", "truncate_after": -1}, "a number of stream events"),
        ({"text": "a", "truncate_after": True}, "a number of stream events"),
        ({"truncate_after": 1}, "needs a reply to break"),
        ({"status": 99}, "from 200 to 599"),
        ({"status": "429"}, "from 200 to 599"),
        ({"headers": ["a"]}, "a mapping of one-line texts"),
        ({"headers": {"a": "b\nc: d"}}, "a mapping of one-line texts"),
        ({"disconect": True}, "Did you mean 'disconnect'"),
        ({}, "the turn is empty"),
        (ValueError("mine"), "ValueError has no form on the wire"),
        ({"text": "a", "error": ValueError("mine")}, "ValueError has no form on the wire"),
        (3, "int is not a turn"),
    ],
)
def test_a_mistake_in_a_script_is_found_when_it_is_read(turn: Any, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedEndpoint(["fine", turn])
    assert says in str(caught.value)
    assert "turn 2" in str(caught.value)


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (lambda request: 1 / 0, "the script's turn raised ZeroDivisionError: division by zero"),
        (lambda request: 7, "int is not a turn"),
        (lambda request: {"txt": 1}, "unknown key 'txt'"),
    ],
)
async def test_a_turn_that_fails_answers_with_what_went_wrong(turn: Any, says: str) -> None:
    answer = await _one(turn)
    assert answer.status == 400
    assert says in json.loads(answer.content)["error"]["message"]


def test_a_yaml_script_may_hold_faults(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text("- {status: 429, headers: {retry-after: 1}}\n- text: b\n  truncate_after: x\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        ScriptedEndpoint.from_yaml(file)
    assert (caught.value.location or "").endswith("script.yaml:3")
    assert repr(ScriptedEndpoint.from_yaml("- stall: true")) == "ScriptedEndpoint(1 turns, 0 requests)"
