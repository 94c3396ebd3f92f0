"""Scripted conversations: what the caller gets, what the model is told, and what the history looks like afterwards."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agentforge import (
    ReturnBehavior,
    RunFinished,
    ScriptedChatModel,
    ToolChatResult,
    ToolExecutionResultMessage,
    ToolFinished,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSpecification,
    UserMessage,
    errors,
    tool,
)
from agentforge.model.serialization import messages_from_json, messages_to_json
from agentforge.testing import ScriptedEndpoint
from agentforge_openai import OpenAiChatModel
from plugins.openai.tests.support import FakeTransport, message, model_on
from tests.cases.scripted_tools import ScriptedTools, python_value
from tests.cases.support import rows, valid, wire_pairs


def turns_of(row: Any) -> list[Any]:
    """The model's turns; a repeated one is made anew each time."""
    if "repeat_model_turn" in row["input"]:
        return [_turn(row["input"]["repeat_model_turn"])]
    return [_turn(turn) for turn in row["input"]["model_turns"]]


def _turn(turn: Mapping[str, Any]) -> Any:
    if "http_error" in turn:
        return {"status": turn["http_error"], "headers": {"retry-after-ms": "1"}, "body": {"error": {"message": "x"}}}
    made = {key: value for key, value in turn.items() if key == "text"}
    made["calls"] = [{**call, "id": "" if call["id"] == "auto" else call["id"]} for call in turn.get("calls", ())]
    if "reasoning_content" in turn:
        made["thinking"] = turn["reasoning_content"]
    return made


async def conversation(row: Any, **options: Any) -> tuple[ToolChatResult, ScriptedTools, ScriptedChatModel]:
    """The row's conversation with a scripted model."""
    tools = ScriptedTools(row["input"]["tools"])
    model = ScriptedChatModel(turns_of(row))
    async with tools:
        result = await ToolService(*tools.functions, **options).chat(model, None, "go")
    return result, tools, model


def results_of(result: ToolChatResult) -> dict[str, tuple[ToolOutcome, str]]:
    """Outcome and text of each call by its id, in the order of the history."""
    return {execution.request.id: (execution.outcome, execution.result_text()) for execution in result.tool_executions}


def row_of(identity: str) -> Any:
    """A row by its id."""
    outcomes = ("typed_error", "history_valid", "error_to_model", "final_answer", "request_as_given", "accept")
    return next(param.values[0] for param in rows("tool_loop", *outcomes) if param.id == identity)


@pytest.mark.parametrize("row", rows("tool_loop", "typed_error"))
async def test_the_loop_stops_at_its_limit_with_a_typed_error(row: Any) -> None:
    tools, limit = ScriptedTools(row["input"]["tools"]), row["input"]["options"]["max_rounds"]
    model = ScriptedChatModel(turns_of(row), repeat=True)
    async with tools:
        with pytest.raises(errors.ToolRoundTripLimitError) as caught:
            await ToolService(*tools.functions, max_tool_calling_round_trips=limit).chat(model, None, "go")

    assert len(model.requests) == row["expected"]["values"]["max_model_calls"]
    assert len(tools.runs) == limit
    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]
    assert ToolService().settings.max_tool_calling_round_trips == 100


@pytest.mark.parametrize("row", rows("tool_loop", "history_valid"))
async def test_the_history_is_valid_and_the_conversation_goes_on(row: Any) -> None:
    """Results stand in the order of the calls, whichever ended first; after a direct return the next question works."""
    result, tools, model = await conversation(row)
    values = row["expected"].get("values", {})

    assert valid(result.messages)
    assert list(results_of(result)) == values.get("result_order", list(results_of(result)))
    if "result_order" in values:
        assert tools.ended != [execution.request.name for execution in result.tool_executions]
    follow_up = row["input"].get("then_user", "and then?")
    if model.turns_left == 0:
        model = ScriptedChatModel(["hi"])
    after = await ToolService(*tools.functions).chat(model, None, [*result.messages, UserMessage(follow_up)])
    assert valid(model.requests[-1].messages)
    assert after.text == row["input"]["model_turns"][-1]["text"] or after.text == "hi"

    transport = FakeTransport()
    await ToolService().chat(model_on(transport), None, [*result.messages, UserMessage(follow_up)])
    assert [id_ for id_, _ in wire_pairs(transport.bodies[0]["messages"])] == list(results_of(result))


@pytest.mark.parametrize("row", rows("tool_loop", "error_to_model"))
async def test_a_failed_call_is_an_error_result_for_that_call_only(row: Any) -> None:
    """No exception leaves the loop, siblings keep their results, and nothing runs twice."""
    result, tools, model = await conversation(row)
    values = row["expected"].get("values", {})

    assert result.text == row["input"]["model_turns"][-1]["text"]
    found = results_of(result)
    wanted = values.get("results") or dict.fromkeys(found, "error")
    for id_, expected in wanted.items():
        outcome, text = found[id_]
        if expected == "error":
            assert outcome is not ToolOutcome.OK and text
        else:
            assert (outcome, text) == (ToolOutcome.OK, expected)
    told = [m for m in model.requests[1].messages if isinstance(m, ToolExecutionResultMessage)]
    assert [m.is_error for m in told] == [wanted[m.id] == "error" for m in told]
    for words in row.get("checks", {}).get("says", ()):
        assert words in "".join(text for _, text in found.values())
    for name, count in values.get("runs", {}).items():
        assert tools.runs.count(name) == count
    assert valid(result.messages)


@pytest.mark.parametrize("row", rows("tool_loop", "final_answer"))
async def test_the_run_ends_with_the_value_described(row: Any) -> None:
    """The model is served over a loopback endpoint, so that a failed request is one."""
    values, options = row["expected"]["values"], row["input"].get("options", {})
    tools = ScriptedTools(row["input"]["tools"])
    async with ScriptedEndpoint(turns_of(row)) as endpoint, tools:
        retries = options.get("model_retries", 0)
        async with OpenAiChatModel(model="m", base_url=endpoint.base_url, max_retries=retries) as model:
            result = await ToolService(*tools.functions).chat(model, None, "go")
        bodies = [request.body for request in endpoint.requests]

    if "values" in values:
        assert list(result.immediate_results) == values["values"]
    else:
        assert result.text == values.get("text", row["input"]["model_turns"][-1]["text"])
    assert len(bodies) == values.get("model_calls", len(row["input"]["model_turns"]))
    for name, count in values.get("runs", {}).items():
        assert tools.runs.count(name) == count
        # What is repeated is the request, with the result that it held.
        assert bodies[1] == bodies[2] and bodies[2]["messages"][-1]["content"] == "ok"
    assert valid(result.messages)


@pytest.mark.parametrize("kept", ["in memory", "saved and loaded"])
@pytest.mark.parametrize("row", rows("tool_loop", "request_as_given"))
async def test_reasoning_goes_back_to_its_provider_unchanged(row: Any, kept: str) -> None:
    first = row["input"]["model_turns"][0]
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for call in first["calls"]
    ]
    asked = message("tool_calls", content=None, reasoning_content=first["reasoning_content"], tool_calls=calls)
    transport = FakeTransport(asked, message(content="done"))
    model = model_on(transport, row["input"]["provider"])
    tools = ScriptedTools(row["input"]["tools"])
    async with tools:
        result = await ToolService(*tools.functions).chat(model, None, "go")
    sent = transport.bodies[1]
    if kept == "saved and loaded":
        loaded = messages_from_json(json.dumps(messages_to_json(result.messages)))
        assert loaded == tuple(result.messages)
        cold = FakeTransport(message(content="done"))
        await ToolService(*tools.functions).chat(model_on(cold, row["input"]["provider"]), None, loaded[:-1])
        sent = cold.bodies[0]

    assistant = next(m for m in sent["messages"] if m.get("tool_calls"))
    assert assistant["reasoning_content"] == row["expected"]["values"]["reasoning_content"]


# -- rows about time and values, each of its own kind ----------------------------------------------------------


async def test_a_cancellation_of_the_run_itself_goes_up() -> None:
    """TL-09, the other side: what comes from the caller ends the run."""
    started = asyncio.Event()

    @tool
    async def waits() -> None:
        "Waits for ever."
        started.set()
        await asyncio.Event().wait()

    model = ScriptedChatModel([{"calls": [{"name": "waits"}]}, "done"])
    task = asyncio.create_task(ToolService(waits).chat(model, None, "go"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task

    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]


async def test_a_stuck_thread_holds_up_neither_the_caller_nor_the_end_of_the_process() -> None:
    """TL-20: the answer is there while the tool still hangs, on a thread that dies with the process."""
    row = row_of("TL-20")
    tools = ScriptedTools(row["input"]["tools"])
    async with tools:
        service = ToolService(*tools.functions)
        async with asyncio.timeout(row["input"]["tools"][0]["sync_sleep_s"] / 2):
            result = await service.chat(ScriptedChatModel(turns_of(row)), None, "go")
        assert tools.ended == [] and tools.runs == ["stuck"]
        assert service.thread_counts.abandoned == 1
        assert [thread.daemon for thread in tools.threads] == [True]
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.TIMED_OUT]


async def test_sync_tools_run_side_by_side_off_the_loop_with_the_callers_context() -> None:
    """TL-22: none ends before all have begun, while the loop goes on; each sees the caller's context variables."""
    row = row_of("TL-22")
    (declared,) = row["input"]["tools"]
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    count = len(row["input"]["model_turns"][0]["calls"])
    begun, release, seen = threading.Semaphore(0), threading.Event(), []

    def s() -> str:
        "Blocks its thread."
        seen.append((user.get(), threading.current_thread() is threading.main_thread()))
        begun.release()
        assert release.wait(timeout=30)
        return str(declared["returns"])

    async def ticker() -> int:
        ticks = waiting = 0
        while waiting < count:
            ticks += 1
            waiting += begun.acquire(blocking=False)
            await asyncio.sleep(0)
        release.set()
        return ticks

    user.set("ann")
    ticking = asyncio.create_task(ticker())
    result = await ToolService(s).chat(ScriptedChatModel(turns_of(row)), None, "go")

    assert await ticking >= count
    assert seen == [("ann", False)] * count
    assert [text for _, text in results_of(result).values()] == [declared["returns"]] * count


async def test_objects_without_a_json_type_arrive_as_readable_json() -> None:
    """TL-24: dates in ISO form, decimals exact, sets as lists, bytes as base64; and no result is empty."""
    result, _, _ = await conversation(row_of("TL-24"))
    ((outcome, text),) = results_of(result).values()

    assert type(text).__name__ == row_of("TL-24")["expected"]["values"]["content_type"]
    assert outcome is ToolOutcome.OK
    assert json.loads(text) == {
        "at": "2026-01-02T03:04:00",
        "id": "00000000-0000-0000-0000-000000000001",
        "p": "1.50",
        "s": [1],
        "b": "/w==",
        "n": None,
    }

    @tool
    def nothing() -> None:
        "Returns nothing."

    done = await ToolService(nothing).chat(ScriptedChatModel([{"calls": [{"name": "nothing"}]}, "done"]), None, "go")
    assert done.tool_executions[0].result_text() == "Success"


@pytest.mark.parametrize("letter", ["x", "好"])
@pytest.mark.parametrize("executor", ["function", "own executor"])
async def test_one_limit_cuts_the_result_of_any_executor_at_a_character_and_says_so(executor: str, letter: str) -> None:
    """TL-28: in the text that is sent, and in the event for observers."""
    row = row_of("TL-28")
    declared = row["input"]["tools"][0]
    text = python_value(declared["returns_python"].replace("x", letter))
    service = ToolService(max_result_bytes=row["input"]["options"]["max_tool_output_chars"])
    specification = ToolSpecification(declared["name"], "Dumps.", ToolParameters.empty())
    if executor == "function":
        service.tools(tool(name=declared["name"])(lambda: text))
    else:
        service.tool(specification, lambda request: text)
    events: list[Any] = []
    async with service.stream(ScriptedChatModel(turns_of(row)), None, "go") as stream:
        events += [event async for event in stream]

    assert isinstance(events[-1], RunFinished)
    (execution,) = events[-1].result.tool_executions
    kept, _, note = execution.result_text().partition("\n[cut: ")
    assert len(execution.result_text()) <= row["expected"]["values"]["max_content_chars"]
    assert kept and set(kept) == {letter}
    missing = len(text.encode()) - len(kept.encode())
    assert note == f"{missing:,} more bytes]"
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.execution.result.attributes["truncated_bytes"] == missing


def test_the_own_reading_of_a_row_keeps_every_key() -> None:
    """No key of a scripted tool or turn is passed over in silence."""
    known = {"name", "returns", "returns_python", "raises", "sleep_s", "sync_sleep_s", "timeout_s", "return_direct"}
    known |= {"counts_runs", "idempotent"}
    turns = {"calls", "text", "http_error", "reasoning_content"}
    for param in rows("tool_loop", "typed_error", "history_valid", "error_to_model", "final_answer", "accept"):
        given: Sequence[Mapping[str, Any]] = param.values[0]["input"]["tools"]
        assert {key for declared in given for key in declared} <= known
        assert {key for turn in param.values[0]["input"].get("model_turns", ()) for key in turn} <= turns


def test_a_direct_return_is_declared_as_immediate() -> None:
    """TL-13 to TL-15: the form in which their tools are registered."""
    tools = ScriptedTools(row_of("TL-13")["input"]["tools"])

    assert [declared.return_behavior for declared in tools.bound()] == [ReturnBehavior.IMMEDIATE] * 2
