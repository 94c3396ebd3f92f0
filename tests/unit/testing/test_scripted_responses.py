"""The scripted endpoint speaks the Responses form as well, by its path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import OverloadedError
from agentforge.http.httpx_transport import HttpxTransport
from agentforge.http.sse import SseDecoder
from agentforge.http.transport import HttpRequest, HttpTimeouts
from agentforge.model.citation import Citation
from agentforge.model.messages import AiMessage
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.usage import TokenUsage
from agentforge.testing import ScriptedEndpoint, call, calls
from agentforge.testing.responses_form import ResponsesForm

ASK: dict[str, Any] = {"model": "tiny", "input": "Weather?", "store": False}
SCRIPT = calls(call("get_weather", city="杭州"), call("now"), text="I look it up.", thinking="Two calls.")


async def asked(endpoint: ScriptedEndpoint, body: object, path: str = "responses") -> tuple[int, bytes]:
    """Status and body of one answer."""
    transport = HttpxTransport(trust_env=False)
    headers = ((b"content-type", b"application/json"),)
    content = json.dumps(body).encode()
    request = HttpRequest("POST", f"{endpoint.base_url}/{path}", headers, content, HttpTimeouts())
    try:
        async with transport.stream(request) as answer:
            return answer.status, b"".join([chunk async for chunk in answer.chunks])
    finally:
        await transport.aclose()


async def one(turn: Any, body: object = ASK) -> dict[str, Any]:
    """The body of a plain answer."""
    async with ScriptedEndpoint([turn]) as endpoint:
        status, content = await asked(endpoint, body)
    assert status == 200
    read: dict[str, Any] = json.loads(content)
    return read


async def events(turn: Any, **more: Any) -> list[dict[str, Any]]:
    """The events of a streamed answer; each is named by its type, and numbered."""
    async with ScriptedEndpoint([turn]) as endpoint:
        _, content = await asked(endpoint, {**ASK, "stream": True, **more})
    decoder = SseDecoder()
    found = [(event.event, json.loads(event.data)) for event in decoder.feed(content)]
    assert [name for name, _ in found] == [data["type"] for _, data in found]
    assert [data["sequence_number"] for _, data in found] == list(range(len(found)))
    return [data for _, data in found]


async def test_a_text_is_a_message_of_the_output() -> None:
    body = await one({"text": "22 degrees.", "usage": {"input": 10, "output": 5, "cached_input": 3}})
    assert body["output"] == [
        {
            "id": "msg_1_0",
            "type": "message",
            "status": "completed",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "22 degrees."}],
            "role": "assistant",
        }
    ]
    assert (body["id"], body["status"], body["model"], body["store"]) == ("resp_1", "completed", "tiny", False)
    assert body["usage"] == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }


async def test_reasoning_and_calls_are_items_of_their_own() -> None:
    """Encrypted where the request asks for it."""
    plain = await one(SCRIPT)
    assert [item["type"] for item in plain["output"]] == ["reasoning", "message", "function_call", "function_call"]
    assert "encrypted_content" not in plain["output"][0]
    assert plain["output"][2]["arguments"] == '{"city":"杭州"}'
    asked_for = await one(SCRIPT, {**ASK, "include": ["reasoning.encrypted_content"]})
    assert asked_for["output"][0]["encrypted_content"]


async def test_ids_of_calls_do_not_repeat_those_of_the_request() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "noon"},
    ]
    body = await one(call("now"), {**ASK, "input": items, "instructions": "Be brief."})
    assert body["output"][0]["call_id"] == "call_2"
    assert body["instructions"] == "Be brief."


@pytest.mark.parametrize(
    ("body", "characters"),
    [
        ({"input": "12345"}, 5),
        ({"input": [{"role": "user", "content": "123"}], "instructions": "45"}, 5),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "12345"}, {"type": "x"}]}, 3]}, 5),
        ({"input": [{"name": "ab", "arguments": "{}"}, {"output": "c"}, {"output": None}]}, 5),
        ({}, 0),
    ],
)
def test_the_characters_of_a_request_are_counted(body: dict[str, Any], characters: int) -> None:
    assert ResponsesForm().characters(body) == characters


async def test_a_stream_says_the_same_in_pieces() -> None:
    """Begun, then each item with its deltas, then whole; the last event is what a plain answer is."""
    found = await events(SCRIPT)
    kinds = [data["type"] for data in found]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    plain = await one(SCRIPT)
    assert found[-1]["response"] == plain
    done = [data["item"] for data in found if data["type"] == "response.output_item.done"]
    assert done == plain["output"]
    for kind, text in (
        ("response.output_text.delta", "I look it up."),
        ("response.reasoning_summary_text.delta", "Two calls."),
        ("response.function_call_arguments.delta", '{"city":"杭州"}{}'),
    ):
        assert "".join(data["delta"] for data in found if data["type"] == kind) == text


@pytest.mark.parametrize(("reason", "word"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
async def test_a_reply_that_is_cut_is_incomplete(reason: str, word: str) -> None:
    turn = {"text": "Half", "finish_reason": reason}
    body = await one(turn)
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": word})
    assert (await events(turn))[-1]["type"] == "response.incomplete"


async def test_a_refusal_is_a_part_of_its_own() -> None:
    turn = {"text": "I cannot.", "finish_reason": "refusal"}
    assert (await one(turn))["output"][0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]
    kinds = [data["type"] for data in await events(turn)]
    assert "response.refusal.delta" in kinds
    assert kinds[-1] == "response.completed"


async def test_an_error_after_a_text_ends_the_stream() -> None:
    found = await events({"text": "Half", "error": OverloadedError("too busy", status=503)})
    assert found[-1] == {
        "type": "error",
        "sequence_number": len(found) - 1,
        "code": None,
        "message": "too busy",
        "param": None,
    }


def test_sources_are_annotations_of_the_first_text() -> None:
    sources = (Citation("https://a.example", "A", None, 0, 2), Citation("https://b.example"))
    message = AiMessage("It rains.")
    response = ChatResponse(message, FinishReason.STOP, TokenUsage(total_tokens=7), "resp_1", "m", citations=sources)
    body = ResponsesForm().reply(response, {})
    assert body["usage"]["total_tokens"] == 7
    assert body["output"][0]["content"][0]["annotations"] == [
        {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2},
        {"type": "url_citation", "url": "https://b.example"},
    ]


async def test_all_forms_share_one_script() -> None:
    """The n-th request gets the n-th turn, whichever path it takes; another path is refused and takes none."""
    turns = {"responses": "one", "chat/completions": "two", "messages": "three"}
    async with ScriptedEndpoint(list(turns.values())) as endpoint:
        assert (await asked(endpoint, ASK, "answers"))[0] == 404
        for path, text in turns.items():
            status, content = await asked(endpoint, ASK, path)
            assert status == 200, path
            assert f'"{text}"' in content.decode(), path
        assert (await asked(endpoint, ASK))[0] == 400
        assert [request.path for request in endpoint.requests[:3]] == [f"/v1/{path}" for path in turns]
