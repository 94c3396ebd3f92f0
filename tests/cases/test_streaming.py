"""Streamed answers, read by read as given, and once more byte by byte: what is shown, what runs, what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from agentforge import ChatRequest, RunFinished, TextDelta, ToolChatResult, ToolFinished, ToolStarted, errors
from agentforge.model import AiMessage, Event, ResponseDone
from plugins.anthropic.tests import support as anthropic
from plugins.gemini.tests import support as gemini
from plugins.openai.tests import support as openai
from plugins.openai.tests.support import FakeTransport, delta, model_on, plain, sse
from tests.cases.support import OPEN, Recorder, rows, valid, wire_pairs

#: Transports and models by the provider that a row names.
PROVIDERS: dict[str, Any] = {"openai": openai, "anthropic": anthropic}

pytestmark = pytest.mark.parametrize("split", ["as given", "byte by byte"])


def reads(row: Any, split: str) -> list[bytes]:
    """The network reads of the row."""
    chunks = [
        chunk.encode() if isinstance(chunk, str) else bytes.fromhex(chunk["hex"]) for chunk in row["input"]["chunks"]
    ]
    assert row["input"]["end"] == "close"
    return chunks if split == "as given" else [bytes([byte]) for byte in b"".join(chunks)]


async def listen(events: AsyncIterator[Event], shown: list[Event]) -> None:
    """Note every event, up to an error."""
    async for event in events:
        shown.append(event)


async def events_of_model(row: Any, split: str) -> list[Event]:
    """What the model alone shows."""
    shown: list[Event] = []
    provider = PROVIDERS[row["input"]["provider"]]
    await listen(provider.model_on(provider.FakeTransport(reads(row, split))).stream(ChatRequest("go")), shown)
    return shown


async def conversation(row: Any, split: str) -> tuple[list[Event], Recorder, FakeTransport]:
    """The row's stream, and after its calls a plain answer; the events of the run."""
    tools = [{"name": name, "parameters": OPEN} for name in row.get("checks", {}).get("tools", ())]
    recorder, transport = Recorder(tools), FakeTransport(reads(row, split), [sse(delta("stop", content="done"))])
    events: list[Event] = []
    async with recorder.service().stream(model_on(transport), None, "go") as stream:
        events += [event async for event in stream]
    return events, recorder, transport


def result_of(events: Sequence[Event]) -> ToolChatResult:
    """The result that the last event carries."""
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last.result


@pytest.mark.parametrize("row", rows("streaming", "accept"))
async def test_the_text_arrives_intact_and_the_stream_ends_well(row: Any, split: str) -> None:
    events = await events_of_model(row, split)
    last, values = events[-1], row["expected"]["values"]

    assert isinstance(last, ResponseDone)
    assert last.response.ai_message == AiMessage(values.get("content"))
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert shown == (last.response.ai_message.text or "")
    for name, count in values.get("usage", {}).items():
        assert getattr(last.response.token_usage, name) == count


@pytest.mark.parametrize("row", rows("streaming", "typed_error"))
async def test_a_stream_that_breaks_is_a_typed_error_and_nothing_runs(row: Any, split: str) -> None:
    """No finish reason is invented: no response is shown, by the model or by the run."""
    values, checks = row["expected"]["values"], row["checks"]
    shown: list[Event] = []
    with pytest.raises(errors.ModelError) as caught:
        await listen(model_on(FakeTransport(reads(row, split))).stream(ChatRequest("go")), shown)
    assert type(caught.value).__name__ == checks["error"]
    assert not any(isinstance(event, ResponseDone) for event in shown)

    tools = [{"name": name, "parameters": OPEN} for name in checks["tools"]]
    recorder = Recorder(tools)
    seen: list[Event] = []
    async with recorder.service().stream(model_on(FakeTransport(reads(row, split))), None, "go") as stream:
        with pytest.raises(errors.ModelError, match=values.get("message_contains")) as raised:
            await listen(stream, seen)
    assert type(raised.value) is type(caught.value)
    # A number for a code is the status.
    assert (raised.value.status, raised.value.provider_code) == (checks.get("status"), checks.get("provider_code"))
    assert recorder.runs == []
    assert not any(isinstance(event, (ToolStarted, ResponseDone, RunFinished)) for event in seen)
    assert valid(raised.value.partial.messages)  # type: ignore[attr-defined]


def executed(*providers: str) -> list[Any]:
    """The rows of calls that are streamed by these."""
    return [param for param in rows("streaming", "execute") if param.values[0]["input"]["provider"] in providers]


@pytest.mark.parametrize("row", executed("openai"))
async def test_pieces_become_whole_calls_and_each_runs_once(row: Any, split: str) -> None:
    events, recorder, transport = await conversation(row, split)
    values = row["expected"]["values"]
    result = result_of(events)
    first = result.intermediate_responses[0].ai_message
    calls = first.tool_execution_requests

    for position, expected in enumerate(values.get("calls", [values])):
        if "name" in expected:
            assert calls[position].name == expected["name"]
        if "id" in expected:
            assert calls[position].id == expected["id"]
        if "args" in expected:
            assert calls[position].arguments_as_map() == expected["args"]
    assert len(calls) == values.get("runs", len(values.get("calls", [values])))
    assert all(call.id for call in calls) and len({call.id for call in calls}) == len(calls)
    assert sorted(recorder.runs, key=repr) == sorted(((c.name, c.arguments_as_map()) for c in calls), key=repr)
    assert [event.position for event in events if isinstance(event, ToolFinished)] == list(range(len(calls)))
    assert first.text == values.get("content")
    assert [id_ for id_, _ in wire_pairs(transport.bodies[1]["messages"])] == [call.id for call in calls]
    assert result.text == "done" and valid(result.messages)


@pytest.mark.parametrize("row", executed("gemini"))
async def test_whole_calls_in_events_of_their_own_are_numbered_over_the_stream(row: Any, split: str) -> None:
    recorder = Recorder([{"name": "read", "parameters": OPEN}])
    transport = gemini.FakeTransport(reads(row, split), [gemini.piece({"text": "done"}, finish="STOP")])
    async with recorder.service().stream(gemini.model_on(transport), None, "go") as stream:
        events = [event async for event in stream]
    values, result = row["expected"]["values"], result_of(events)

    assert len(recorder.runs) == values["runs"]
    assert sorted(recorder.runs, key=repr) == [("read", {"p": each}) for each in "abc"]
    assert len({each.request.id for each in result.tool_executions}) == values["distinct_ids"]
    said = [part["functionResponse"]["response"] for part in transport.bodies[1]["contents"][2]["parts"]]
    assert said == [{"output": each.result_text()} for each in result.tool_executions]
    assert result.text == "done" and valid(result.messages)


@pytest.mark.parametrize("row", [param for param in executed("openai") if "plain" in param.values[0]["checks"]])
async def test_stream_and_plain_mode_give_the_same_reply(row: Any, split: str) -> None:
    """Up to the ids that we make up, which are fresh each time."""
    events = await events_of_model(row, split)
    last = events[-1]
    assert isinstance(last, ResponseDone)
    streamed, whole = last.response, plain(row["checks"]["plain"])

    for response in (streamed, whole):
        assert [(c.name, c.arguments, c.id_was_given) for c in response.ai_message.tool_execution_requests] == [
            ("now", "{}", False)
        ]
        assert response.ai_message.tool_execution_requests[0].id
    assert streamed.finish_reason is whole.finish_reason
