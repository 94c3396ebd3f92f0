"""Recorded conversations in which the server refused what the model had made, held again by our own loop: the refusal
is told, the recorded second answer comes, and the conversation ends as it did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentforge import ChatRequestParameters, RunFinished, ToolOutcome, ToolService
from agentforge.errors import ToolUseFailedError
from agentforge.model import ChatRequest, Event, mend_history
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import AttemptDiscarded
from plugins.openai.tests.support import FakeTransport
from plugins.openai.tests.test_cassette_conversations import ours
from plugins.openai.tests.test_cassette_requests import choice_of, model_for, tool_of

#: By recording: whether it is streamed, what the model had made, as the server or the stream tells it, and the answer.
HELD = {
    "tool-use-failed-error": (False, '{"name": "get_something_by_name", "arguments": {\n  "foo": "bar"\n}}', "Noted."),
    "tool-use-failed-error-streaming": (
        True,
        '{"name": "get_something_by_name", "arguments": {\n  "invalid_param": "value"\n}}',
        "Noted.",
    ),
    "tool-use-failed-error-with-text": (False, "maybe", '{"response":"yes"}'),
    "tool-use-failed-error-streaming-with-text": (True, "maybe", '{"response":"no"}'),
}


@dataclass(frozen=True)
class Recording:
    """The interactions of one file."""

    interactions: list[dict[str, Any]]

    @classmethod
    def named(cls, shared: Path, name: str) -> Recording:
        file = shared / "cassettes" / "groq" / f"chatcompletions-pyd-{name}.json"
        return cls(json.loads(file.read_text())["interactions"])

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [each["request"]["body"] for each in self.interactions]

    def transport(self) -> FakeTransport:
        answers = [(each["response"]["status"], each["response"]["body"]) for each in self.interactions]
        return FakeTransport(*((s, [b.encode()]) if isinstance(b, str) else (s, b) for s, b in answers))

    def service(self) -> ToolService:
        """The recorded tools. Where there was no second round, the result is the answer."""
        service = ToolService()
        direct = ReturnBehavior.IMMEDIATE if len(self.interactions) == 2 else ReturnBehavior.TO_LLM
        for tool in self.asked[0]["tools"]:
            service.tool(tool_of(tool), self._answer, return_behavior=direct)
        return service

    def _answer(self, request: Any) -> str:
        results = [m["content"] for m in self.asked[-1]["messages"] if m["role"] == "tool"]
        return str(results[-1]) if results else str(request.arguments)


async def held(recording: Recording, *, streamed: bool) -> tuple[Any, FakeTransport, list[Event]]:
    transport = recording.transport()
    first = recording.asked[0]
    model = model_for("groq", first["model"], transport)
    parameters = ChatRequestParameters(tool_choice=choice_of(first["tool_choice"]))
    messages = [ours(message) for message in first["messages"]]
    service = recording.service()
    if not streamed:
        return await service.chat(model, parameters, messages), transport, []
    async with service.stream(model, parameters, messages) as events:
        seen: list[Event] = [event async for event in events]
    assert isinstance(seen[-1], RunFinished)
    return seen[-1].result, transport, seen


@pytest.mark.parametrize("name", HELD)
async def test_the_conversation_goes_on_behind_the_refusal(name: str, shared: Path) -> None:
    """Each recorded answer is used; what we send differs from the recording in how the refusal is told, and in that
    the failed attempt is not sent again behind a reply."""
    streamed, made, answer = HELD[name]
    recording = Recording.named(shared, name)
    result, transport, events = await held(recording, streamed=streamed)

    assert len(transport.bodies) == len(recording.interactions)
    first, second = transport.bodies[:2]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    attempt, told = second["messages"][len(first["messages"]) :]
    assert attempt == {"role": "assistant", "content": made}
    assert told["role"] == "user"
    assert "Call the tools again" in told["content"]
    for mine, recorded in zip(transport.bodies, recording.asked, strict=True):
        assert [tool["function"]["name"] for tool in mine["tools"]] == [
            tool["function"]["name"] for tool in recorded["tools"]
        ]
    assert second.get("tool_choice", "auto") == recording.asked[1]["tool_choice"]
    if len(transport.bodies) == 3:
        # The turn and the result behind the failed attempt, as they were recorded; without reasoning in the text.
        turn, outcome = recording.asked[2]["messages"][-2:]
        mine, result_of = transport.bodies[2]["messages"][len(first["messages"]) :]
        assert mine["tool_calls"] == turn["tool_calls"] or [
            (call["id"], json.loads(call["function"]["arguments"])) for call in mine["tool_calls"]
        ] == [(call["id"], json.loads(call["function"]["arguments"])) for call in turn["tool_calls"]]
        assert (result_of["tool_call_id"], result_of["content"]) == (outcome["tool_call_id"], outcome["content"])

    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.OK]
    assert [notice.code for notice in result.notices if notice.code != "tool_choice_first_round_only"] == [
        "tool_use_refused"
    ]
    assert mend_history(tuple(result.messages)) == (tuple(result.messages), ())
    assert sum(isinstance(event, AttemptDiscarded) for event in events) == int(streamed)
    assert result.text if answer == "Noted." else result.text == answer


@pytest.mark.parametrize("name", HELD)
async def test_a_model_without_a_loop_raises_the_refusal(name: str, shared: Path) -> None:
    """The same class plain and streamed; in a stream it comes behind events, so nothing is sent again."""
    streamed, made, _ = HELD[name]
    transport = Recording.named(shared, name).transport()
    model = model_for("groq", "openai/gpt-oss-120b", transport)
    with pytest.raises(ToolUseFailedError) as caught:
        await (_read(model) if streamed else model.chat(ChatRequest("q")))
    assert (caught.value.status, caught.value.failed_generation, caught.value.retryable) == (400, made, False)
    assert len(transport.requests) == 1


async def _read(model: Any) -> None:
    async for _ in model.stream(ChatRequest("q")):
        pass


def test_every_recorded_refusal_is_held_here(shared: Path) -> None:
    files = sorted((shared / "cassettes").glob("*/*tool-use-failed*"))
    assert sorted(file.stem.partition("-pyd-")[2] for file in files) == sorted(HELD)
