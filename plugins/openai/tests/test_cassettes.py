"""Every recording of a Chat Completions answer is read, plain and streamed, wherever the network cuts it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import (
    AuthenticationError,
    InvalidRequestError,
    ModelError,
    NotFoundError,
    RateLimitError,
    ToolUseFailedError,
)
from agentforge.model import ChatEvent, FinishReason
from agentforge_openai.wire.errors import parse_error
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import answering, calls_of, events_in, plain, streamed


def answers(shared: Path) -> Iterator[tuple[str, int, int, Any]]:
    """File, position, status and body of each recorded answer."""
    files = sorted((shared / "cassettes").glob("*/chatcompletions-*.json"))
    assert files
    for file in files:
        for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
            response = interaction["response"]
            yield f"{file.parent.name}/{file.name}", position, response["status"], response["body"]


def test_every_good_answer_is_read(shared: Path) -> None:
    """Each has text or calls, a reason that fits, unique ids and names without white space."""
    count = 0
    for name, position, status, body in answers(shared):
        if status >= 400 or (isinstance(body, str) and '"error":{' in body):
            continue
        response = streamed(body.encode()) if isinstance(body, str) else plain(body)
        where = f"{name} {position}"
        calls = calls_of(response)
        assert response.ai_message.contents, where
        assert len({identity for identity, _, _ in calls}) == len(calls), where
        for request in response.ai_message.tool_execution_requests:
            assert request.name, where
            assert request.name == request.name.strip(), where
            if response.finish_reason is not FinishReason.LENGTH:
                assert isinstance(request.arguments_as_map(), dict), where
        if calls:
            assert response.finish_reason in (FinishReason.TOOL_EXECUTION, FinishReason.LENGTH), where
        else:
            assert response.finish_reason is not FinishReason.TOOL_EXECUTION, where
        count += 1
    assert count > 100


def test_plain_answers_hold_the_calls_that_are_in_them(shared: Path) -> None:
    """Against a count that knows nothing of our reader."""
    for name, _, status, body in answers(shared):
        if status < 400 and isinstance(body, dict) and body.get("choices"):
            recorded = body["choices"][0]["message"].get("tool_calls") or []
            names = [one["function"]["name"] for one in recorded]
            assert [called for _, called, _ in calls_of(plain(body))] == names, name


def test_every_stream_is_read_the_same_at_every_cut(shared: Path) -> None:
    bodies = [body.encode() for _, _, status, body in answers(shared) if status < 400 and isinstance(body, str)]
    whole = {body: outcome([body]) for body in bodies}
    assert len(whole) > 40

    @settings(max_examples=150, deadline=None)
    @given(st.sampled_from(bodies), st.lists(st.floats(0, 1), min_size=1, max_size=8))
    def check(body: bytes, cuts: list[float]) -> None:
        edges = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
        pieces = [body[at:to] for at, to in itertools.pairwise(edges)]
        assert outcome(pieces) == whole[body]

    check()


def test_short_streams_are_read_the_same_byte_by_byte(shared: Path) -> None:
    bodies = {body for _, _, status, body in answers(shared) if status < 400 and isinstance(body, str)}
    for body in sorted(bodies, key=len)[:20]:
        content = body.encode()
        assert outcome([content[at : at + 1] for at in range(len(content))]) == outcome([content])


def outcome(pieces: list[bytes]) -> tuple[list[ChatEvent], str]:
    """The events of a stream in pieces, and the words of the error that ended it."""
    decoder = StreamDecoder(answering())
    events: list[ChatEvent] = []
    try:
        for part in pieces:
            events += decoder.feed(part)
        events += decoder.finish()
    except ModelError as error:
        return [], f"{error} {error.details}"
    return events, ""


def test_streams_that_end_in_an_error_raise_it(shared: Path) -> None:
    """A model made a call that its tools do not allow; the server says so after good chunks."""
    seen = 0
    for _, _, status, body in answers(shared):
        if status < 400 and isinstance(body, str) and '"error":{' in body:
            try:
                events_in(body.encode())
            except ToolUseFailedError as error:
                assert error.status == 400  # noqa: PT017  (counted below)
                seen += 1
    assert seen == 2


def test_every_failed_answer_has_its_class(shared: Path) -> None:
    kinds = {400: InvalidRequestError, 401: AuthenticationError, 404: NotFoundError, 429: RateLimitError}
    statuses = set()
    for name, _, status, body in answers(shared):
        if status >= 400:
            error = parse_error(status, {}, json.dumps(body).encode())
            assert type(error) is (ToolUseFailedError if "tool-use-failed" in name else kinds[status]), name
            assert error.message, name
            statuses.add(status)
    assert statuses == set(kinds)
