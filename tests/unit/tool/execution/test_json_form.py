"""Every event as JSON values: one function for all of them, whoever told them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, get_args

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.advisor import BudgetAdvisor, SafeguardAdvisor
from agentforge.client import ChatClient, event_to_json, result_to_json
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatResponse,
    Citation,
    Event,
    FinishReason,
    Notice,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    UsageEvent,
)
from agentforge.model.scripted import call
from agentforge.tool.execution import (
    Ask,
    AttemptDiscarded,
    PlannedCall,
    RoundStarted,
    Run,
    RunEvent,
    RunFinished,
    RunStarted,
    RunSuspended,
    ToolFinished,
    ToolStarted,
    event_name,
)

REQUEST = ToolExecutionRequest("c1", "get_weather", '{"city": "杭州"}')
USAGE = TokenUsage(3, 1, 4, raw={"anything": object()})


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: sunny"


def strictly(made: object) -> Any:
    """What a reader gets who takes nothing but JSON."""
    return json.loads(json.dumps(made, allow_nan=False))


EVENTS: list[tuple[Event, dict[str, Any]]] = [
    (RunStarted(), {"event": "run_started"}),
    (RoundStarted(2), {"event": "round_started", "round": 2}),
    (TextDelta("Hel\ud83d"), {"event": "text_delta", "text": "Hel\ud83d"}),
    (ThinkingDelta("hm"), {"event": "thinking_delta", "text": "hm"}),
    (
        ToolCallDelta(0, "c1", "get_weather", '{"ci'),
        {"event": "tool_call_delta", "index": 0, "id": "c1", "name": "get_weather", "arguments_delta": '{"ci'},
    ),
    (
        ToolCallReady(REQUEST, 1),
        {
            "event": "tool_call_ready",
            "index": 1,
            "id": "c1",
            "name": "get_weather",
            "arguments": {"city": "杭州"},
        },
    ),
    (
        ToolStarted(ToolExecutionRequest("c1", "get_weather", "{broken"), 0),
        {"event": "tool_started", "position": 0, "id": "c1", "name": "get_weather", "arguments": "{broken"},
    ),
    (
        UsageEvent(USAGE),
        {"event": "usage_event", "usage": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}},
    ),
    (
        ResponseDone(ChatResponse(AiMessage("Hi"), FinishReason.STOP, model_name="m")),
        {"event": "response_done", "model": "m", "finish_reason": "stop"},
    ),
    (AttemptDiscarded("it was cut"), {"event": "attempt_discarded", "reason": "it was cut"}),
    (RunSuspended({1: "may it?"}), {"event": "run_suspended", "waiting": {"1": "may it?"}}),
    (
        Notice("code", "words", {"n": [1, 2.5, None, True], "deep": {"a": "b"}}),
        {
            "event": "notice",
            "code": "code",
            "message": "words",
            "details": {"n": [1, 2.5, None, True], "deep": {"a": "b"}},
        },
    ),
]


@pytest.mark.parametrize(("event", "expected"), EVENTS, ids=[type(event).__name__ for event, _ in EVENTS])
def test_an_event_is_its_name_its_runs_and_what_it_says(event: Event, expected: dict[str, Any]) -> None:
    """With the run's id, and the parent's where there is one."""
    assert strictly(event_to_json(event)) == {"run_id": None, **expected}
    event.run_id, event.parent_run_id = "r2", "r1"
    assert strictly(event_to_json(event)) == {"run_id": "r2", "parent_run_id": "r1", **expected}
    event.run_id = event.parent_run_id = None


@pytest.mark.parametrize(
    ("detail", "written"),
    [
        (Decimal("0.10"), "0.10"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ({1: (Decimal(1),)}, {"1": ["1"]}),
        (ValueError("x"), "x"),
        ({"a"}, ["a"]),
    ],
)
def test_a_detail_that_json_has_no_form_for_becomes_text(detail: object, written: object) -> None:
    """A notice of anybody's can be written."""
    assert strictly(event_to_json(Notice("c", "m", {"it": detail})))["details"] == {"it": written}


def test_details_that_hold_themselves_come_to_an_end() -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless

    assert "again" in strictly(event_to_json(Notice("c", "m", endless)))["details"]


async def test_a_result_has_the_sources_of_its_last_reply() -> None:
    """Where it names some: other results have no such key."""
    sources = (Citation("https://yr.example", "Oslo", "22 degrees", 0, 5), Citation("https://other.example"))
    service = ToolService(get_weather)
    for citations, expected in (
        (
            sources,
            [
                {"url": "https://yr.example", "title": "Oslo", "text": "22 degrees", "start": 0, "end": 5},
                {"url": "https://other.example"},
            ],
        ),
        ((), None),
    ):
        turns = [call("get_weather", city="Oslo"), ChatResponse(AiMessage("Sunny."), citations=citations)]
        result = await service.chat(ScriptedChatModel(turns), None, "Weather?")

        assert result.final_response.citations == citations
        assert strictly(result_to_json(result)).get("citations") == expected


class AskFirst:
    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Ask]:
        return [Ask("may it?") for _ in batch]


async def test_chain_and_loop_tell_nothing_that_cannot_be_written() -> None:
    """A turn with every kind of event in it, from the model, the loop and advisors; and no kind is missing here."""
    budget = BudgetAdvisor(tokens=10_000, cost=1, prices={"m": {"input": "0.1", "output": "0.1"}}, warn_at=0.0001)
    guard = SafeguardAdvisor(["bomb"], action="reprompt")
    turns = [
        {"thinking": "hm", "text": "I look.", "calls": [call("get_weather", city="Rome")]},
        "A bomb.",
        "Sunny.",
    ]
    client = ChatClient(ScriptedChatModel(turns), tools=[get_weather], advisors=[budget, guard])
    async with client, client.prompt("Weather?").stream(Run(parent=Run(id="parent"), id="own")) as events:
        seen = [event async for event in events]
    gated = ChatClient(ScriptedChatModel(turns), service=ToolService(get_weather, gates=[AskFirst()]))
    async with gated, gated.prompt("Weather?").stream() as more:
        waiting = [event async for event in more]

    written = [strictly(event_to_json(event)) for event in seen]
    assert {(each["run_id"], each["parent_run_id"]) for each in written} == {("own", "parent")}
    assert written[-1]["result"] == strictly(result_to_json(events.result))
    assert written[-1]["result"]["text"] == "Sunny." and "seconds" not in written[-1]["result"]
    assert strictly(event_to_json(waiting[-1], model="m", seconds=1.23456))["result"]["seconds"] == 1.235
    known = {*get_args(ChatEvent), *get_args(RunEvent)}
    assert {type(event) for event in (*seen, *waiting)} == known
    assert {event_name(event) for event, _ in EVENTS} | {"tool_finished", "run_finished"} == {
        event_name(object.__new__(kind)) for kind in known
    }
    assert {ToolFinished, RunFinished} <= known
