"""The field cases of this wire: replies and streams that broke others, read as the case expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge.errors import ModelError, ToolArgumentsError
from agentforge.model import ChatEvent, ChatResponse, ResponseDone
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import answering, plain


def cases(shared: Path, kind: str, form: str) -> list[dict[str, Any]]:
    rows = yaml.safe_load((shared / "cases" / "field-cases.yaml").read_text())["cases"]
    found = [row for row in rows if row["kind"] == kind and row["input"]["form"] == form]
    return [row for row in found if row["input"].get("provider", "openai") == "openai"]


def stream_of(case: dict[str, Any]) -> ChatResponse:
    decoder = StreamDecoder(answering())
    events: list[ChatEvent] = []
    for chunk in case["input"]["chunks"]:
        events += decoder.feed(bytes.fromhex(chunk["hex"]) if isinstance(chunk, dict) else chunk.encode())
    last = [*events, *decoder.finish()][-1]
    assert isinstance(last, ResponseDone)
    return last.response


def check(case: dict[str, Any], response: ChatResponse) -> None:
    """The values that the case names, as far as a reply shows them."""
    values, requests = case["expected"].get("values", {}), response.ai_message.tool_execution_requests
    where = case["id"]
    if "content" in values:
        assert response.ai_message.text == values["content"], where
    if "args" in values:
        assert requests[0].arguments_as_map() == values["args"], where
    if "name" in values:
        assert requests[0].name == values["name"], where
    if "distinct_ids" in values:
        assert len({request.id for request in requests}) == values["distinct_ids"], where
    if values.get("runs") and case["expected"]["outcome"] == "execute":
        assert len(requests) == values["runs"], where
    for request, expected in zip(requests, values.get("calls", requests), strict=True):
        if isinstance(expected, dict):
            assert request.arguments_as_map() == expected["args"], where
            assert request.name == expected.get("name", request.name), where
            assert request.id == expected.get("id", request.id), where


def test_streams(shared: Path) -> None:
    found = cases(shared, "streaming", "sse")
    assert len(found) >= 10
    for case in found:
        if case["expected"]["outcome"] == "typed_error":
            with pytest.raises(ModelError) as caught:
                stream_of(case)
            assert case["expected"]["values"].get("message_contains", "") in caught.value.message
        else:
            check(case, stream_of(case))


def test_plain_replies(shared: Path) -> None:
    """Whatever the arguments are, the reply is read; broken ones are the caller's to answer."""
    found = cases(shared, "model_output", "openai_response")
    assert len(found) >= 10
    refused = 0
    for case in found:
        response = plain(case["input"]["body"])
        check(case, response)
        if case["id"] in ("MO-04", "MO-28", "MO-29"):
            for request in response.ai_message.tool_execution_requests:
                with pytest.raises(ToolArgumentsError):
                    request.arguments_as_map()
                refused += 1
    assert refused == 6
