"""Recorded traffic is read strictly and replayed in order, and a conversation that departs from it says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, ProtocolError
from agentforge.http.transport import HttpRequest, HttpTimeouts, HttpTransport
from agentforge.testing import Cassette, Interaction, RecordedResponse, ReplayTransport, replay_transport

STREAM = 'data: {"a":"é"}\n\ndata: [DONE]\n\n'


def _recording(**changes: Any) -> dict[str, Any]:
    return {
        "source": {"repo": "owner/name", "path": "a.yaml", "commit": "0", "licence": "MIT"},
        "provider": "acme",
        "api": "chat_completions",
        "models": ["tiny"],
        "streaming": True,
        "fidelity": "recorded",
        "features": ["tool_call"],
        "notes": [],
        "interactions": [
            {
                "request": {
                    "method": "POST",
                    "url_path": "/v1/chat/completions",
                    "headers": {},
                    "body": {"stream": False},
                },
                "response": {"status": 200, "headers": {"X-Request-Id": "r1"}, "body": {"text": "é"}},
            },
            {
                "request": None,
                "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": STREAM},
            },
            {
                "request": {"method": "POST", "url_path": "/v1/chat/completions?x=1", "headers": {}, "body": {}},
                "response": {"status": 429, "headers": {"retry-after": "2"}, "body": {"error": "slow"}},
            },
        ],
        **changes,
    }


def _ask(body: Any = None, *, method: str = "POST", url: str = "http://127.0.0.1:1/v9/chat/completions") -> HttpRequest:
    return HttpRequest(method, url, (), json.dumps(body or {}).encode(), HttpTimeouts())


async def _chunks(transport: ReplayTransport, request: HttpRequest) -> list[bytes]:
    async with transport.stream(request) as answer:
        return [chunk async for chunk in answer.chunks]


async def test_the_nth_request_gets_the_nth_response() -> None:
    transport = replay_transport(Cassette.from_json(_recording()))
    assert isinstance(transport, HttpTransport)
    first = await transport.send(_ask({"stream": False}))
    assert (first.status, json.loads(first.content), first.headers["x-request-id"]) == (200, {"text": "é"}, "r1")
    async with transport.stream(_ask({"stream": True})) as second:
        assert second.headers["content-type"] == "text/event-stream"
        assert b"".join([chunk async for chunk in second.chunks]) == STREAM.encode()
    assert transport.remaining == 1
    async with transport.stream(_ask({"stream": True})) as third:
        assert (third.status, third.headers["retry-after"]) == (429, "2")
    assert [json.loads(request.content) for request in transport.requests] == [
        {"stream": False},
        {"stream": True},
        {"stream": True},
    ]
    await transport.aclose()
    await transport.aclose()
    assert transport.closed


@pytest.mark.parametrize(
    ("cuts", "sizes"),
    [
        (None, [len(STREAM.encode())]),
        (1, [1] * len(STREAM.encode())),
        (20, [20, 12]),
        (1000, [32]),
        ([4, 2, 4, 0, 999, -3], [2, 2, 28]),
        ([], [32]),
    ],
)
async def test_a_stream_is_cut_where_it_is_asked_to_be(cuts: Any, sizes: list[int]) -> None:
    recording = Cassette.from_json(_recording(interactions=_recording()["interactions"][1:2]))
    chunks = await _chunks(replay_transport(recording, cuts=cuts), _ask({"stream": True}))
    assert [len(chunk) for chunk in chunks] == sizes
    assert b"".join(chunks) == STREAM.encode()


def test_pieces_have_at_least_one_byte() -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        replay_transport(Cassette.from_json(_recording()), cuts=0)


@pytest.mark.parametrize(
    ("earlier", "request_", "says"),
    [
        (0, _ask(method="GET"), "request 1: method GET instead of POST"),
        (0, _ask(url="http://127.0.0.1/v1/responses"), "request 1: path ending 'responses' instead of 'completions'"),
        (0, _ask({"stream": True}), "request 1: a stream was asked for"),
        (1, _ask({"stream": False}), "request 2: a whole answer was asked for"),
        (3, _ask(), "request 4: only 3 interactions were recorded"),
    ],
)
async def test_a_conversation_that_departs_says_where(earlier: int, request_: HttpRequest, says: str) -> None:
    transport = replay_transport(Cassette.from_json(_recording()))
    for _ in range(earlier):
        await transport.send(_ask())
    with pytest.raises(ProtocolError) as caught:
        await transport.send(request_)
    assert "departs from cassette 'cassette'" in caught.value.message
    assert says in caught.value.message
    assert not caught.value.retryable


async def test_what_counts_as_departing_can_be_chosen() -> None:
    def departs(asked: HttpRequest, recorded: Interaction) -> str | None:
        return "never this one" if recorded.response.status == 429 else None

    transport = replay_transport(Cassette.from_json(_recording()), departs=departs)
    await transport.send(_ask(method="GET"))
    await transport.send(_ask({"stream": False}))
    with pytest.raises(ProtocolError, match="request 3: never this one"):
        await transport.send(_ask())


async def test_a_body_that_is_not_json_is_compared_by_method_and_path_only() -> None:
    transport = replay_transport(Cassette.from_json(_recording()))
    request = HttpRequest("POST", "http://127.0.0.1/chat/completions", (), b"\xff", HttpTimeouts())
    assert (await transport.send(request)).status == 200


def test_a_recording_is_a_sequence_of_interactions() -> None:
    cassette = Cassette.from_json(_recording(), name="weather")
    assert (cassette.name, cassette.provider, cassette.api, len(cassette)) == ("weather", "acme", "chat_completions", 3)
    first, second, _ = cassette
    assert first.request is not None
    assert first.request.path == "/v1/chat/completions"
    assert second == Interaction(None, RecordedResponse(200, {"content-type": "text/event-stream"}, STREAM))
    assert (first.response.is_stream, second.response.is_stream) == (False, True)


def _without(name: str) -> dict[str, Any]:
    recording = _recording()
    del recording[name]
    return recording


def _broken(interaction: Any) -> dict[str, Any]:
    return _recording(interactions=[interaction])


@pytest.mark.parametrize(
    ("data", "place", "says"),
    [
        ([], "cassette", "an object is needed, not list"),
        (_without("provider"), "cassette.provider", "the field is missing"),
        (_recording(models="tiny"), "cassette.models", "str does not fit"),
        (_recording(streaming="yes"), "cassette.streaming", "str does not fit"),
        (_broken(3), "cassette: interaction 1", "an object is needed, not int"),
        (_broken({"response": {}}), "cassette: interaction 1.request", "the field is missing"),
        (_broken({"request": {}, "response": {}}), "cassette: interaction 1.request.method", "the field is missing"),
        (_broken({"request": None}), "cassette: interaction 1.response", "the field is missing"),
        (
            _broken({"request": None, "response": {"status": 200, "headers": {}}}),
            "cassette: interaction 1.response.body",
            "the field is missing",
        ),
        (
            _broken({"request": None, "response": {"status": "200", "headers": {}, "body": 1}}),
            "cassette: interaction 1.response.status",
            "str does not fit",
        ),
    ],
)
def test_a_recording_in_another_format_is_refused_with_its_place(data: Any, place: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Cassette.from_json(data)
    assert caught.value.location == place
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"{", "not JSON"), (b"\xff", "not JSON"), (b"[" * 100_000, "not JSON")],
)
def test_a_file_that_is_no_recording_is_named(content: bytes | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "weather.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=says) as caught:
        replay_transport(file)
    assert caught.value.location == "weather.json"


def test_a_file_beyond_reason_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as handle:
        handle.truncate(64 * 1024 * 1024 + 1)
    with pytest.raises(ConfigurationError, match="at most 67108864 bytes"):
        Cassette.load(file)


async def test_every_shared_recording_loads_and_replays(shared: Path) -> None:
    files = sorted((shared / "cassettes").glob("*/*.json"))
    assert len(files) >= 100
    for file in files:
        cassette = Cassette.load(file)
        transport = replay_transport(cassette, cuts=97)
        for interaction in cassette:
            asked = interaction.request
            path = asked.path if asked is not None else "/"
            request = _ask(
                {"stream": True} if interaction.response.is_stream else {},
                method=asked.method if asked is not None else "POST",
                url=f"http://127.0.0.1{path}",
            )
            assert b"".join(await _chunks(transport, request)) == interaction.response.content
        assert transport.remaining == 0
