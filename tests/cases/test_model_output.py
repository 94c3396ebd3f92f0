"""What models send back: each row goes through the whole wire and the tool loop, as a provider would have answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ToolRoundTripLimitError, UnknownToolError
from agentforge.model import ChatRequest
from plugins.anthropic.tests import support as anthropic
from plugins.gemini.tests import support as gemini
from plugins.openai.tests.support import GOOD, FakeTransport, model_on
from tests.cases.support import CORRECTING, Recorder, messages_of, rows, valid, wire_pairs


async def conversation(row: Any, **options: Any) -> tuple[Any, Recorder, FakeTransport]:
    """The row's answer, and a plain one after it."""
    recorder, transport = Recorder(row["input"].get("tools", ())), FakeTransport(row["input"]["body"], GOOD)
    result = await recorder.service(**options).chat(model_on(transport), None, "go")
    return result, recorder, transport


def asked(row: Any) -> list[Any]:
    """The calls of the row's answer as they came."""
    return list(row["input"]["body"]["choices"][0]["message"]["tool_calls"])


@pytest.mark.parametrize("row", rows("model_output", "execute", form="openai_response"))
async def test_a_call_that_has_one_plain_meaning_runs_with_the_values_it_means(row: Any) -> None:
    result, recorder, transport = await conversation(row)
    values, calls = row["expected"]["values"], asked(row)

    assert len(recorder.runs) == len(calls) == values.get("runs", 1)
    if "args" in values:
        assert [arguments for _, arguments in recorder.runs] == [values["args"]]
    else:
        assert [arguments for _, arguments in recorder.runs] == [json.loads(c["function"]["arguments"]) for c in calls]
    sent = transport.bodies[1]["messages"][1]["tool_calls"]
    names = [values["name"]] if "name" in values else [call["function"]["name"] for call in calls]
    assert [name for name, _ in recorder.runs] == [call["function"]["name"] for call in sent] == names
    ids = [call["id"] for call in sent]
    assert all(ids) and len(set(ids)) == values.get("distinct_ids", len(calls))
    assert wire_pairs(transport.bodies[1]["messages"]) == [(id_, f"result {at}") for at, id_ in enumerate(ids, 1)]
    assert result.text == "ok" and valid(result.messages)


@pytest.mark.parametrize("row", rows("model_output", "execute", form="gemini_response"))
async def test_calls_without_ids_run_once_each_and_their_results_go_back_in_order(row: Any) -> None:
    """The protocol pairs results with calls by their order; our own ids differ all the same."""
    recorder, transport = Recorder(row["input"]["tools"]), gemini.FakeTransport(row["input"]["body"], gemini.GOOD)
    result = await recorder.service().chat(gemini.model_on(transport), None, "go")
    values, parts = row["expected"]["values"], row["input"]["body"]["candidates"][0]["content"]["parts"]

    assert len(recorder.runs) == values["runs"]
    assert sorted(recorder.runs, key=repr) == [(p["functionCall"]["name"], p["functionCall"]["args"]) for p in parts]
    assert len({each.request.id for each in result.tool_executions}) == values["distinct_ids"]
    said = [part["functionResponse"] for part in transport.bodies[1]["contents"][2]["parts"]]
    assert [each["name"] for each in said] == [part["functionCall"]["name"] for part in parts]
    assert [each["response"] for each in said] == [{"output": each.result_text()} for each in result.tool_executions]
    assert result.text == "ok" and valid(result.messages)


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "{}", None])
async def test_blank_argument_text_of_any_form_means_an_empty_object(blank: str | None) -> None:
    """MO-01 for every kind of blank."""
    row = next(param.values[0] for param in rows("model_output", "execute") if param.id == "MO-01")
    call = {"id": "c1", "type": "function", "function": {"name": "list_dirs", "arguments": blank}}
    body = {
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [call]}}]
    }
    _, recorder, _ = await conversation({"input": {**row["input"], "body": body}})

    assert recorder.runs == [("list_dirs", {})]


@pytest.mark.parametrize("row", rows("model_output", "accept_or_reject"))
async def test_text_that_is_not_json_never_becomes_an_empty_object(row: Any) -> None:
    """Of the two ways that the row allows, ours is to take one outer fence off."""
    _, recorder, _ = await conversation(row)

    assert [arguments for _, arguments in recorder.runs] == [row["expected"]["values"]["args_if_accepted"]]


@pytest.mark.parametrize("fence", ['```json\n{"city": "Lima"', "```json\n```", '``` {"city": "Lima"} ``` and so on'])
async def test_a_fence_around_anything_else_than_one_object_is_told_to_the_model(fence: str) -> None:
    """The other side of MO-07."""
    row = next(param.values[0] for param in rows("model_output", "accept_or_reject") if param.id == "MO-07")
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": fence}}
    body = {
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [call]}}]
    }
    result, recorder, _ = await conversation({"input": {**row["input"], "body": body}})

    assert recorder.runs == []
    assert [e.outcome.name for e in result.tool_executions] == ["INVALID_ARGUMENTS"]


@pytest.mark.parametrize("row", rows("model_output", "error_to_model"))
async def test_a_call_that_cannot_run_gets_an_error_result_of_its_own_and_the_loop_goes_on(row: Any) -> None:
    result, recorder, transport = await conversation(row)
    values, checks, calls = row["expected"].get("values", {}), row["checks"], asked(row)

    assert len(recorder.runs) == values.get("runs", values.get("runs_of_ambiguous", 0))
    results = wire_pairs(transport.bodies[1]["messages"])
    assert [id_ for id_, _ in results] == [call["id"] for call in calls]
    assert len(results) == values.get("results", len(calls))
    assert all(execution.has_failed() for execution in result.tool_executions)
    for (_, text), words in zip(results, checks["says"], strict=True):
        assert "error" in text[:80].lower()
        assert [word for word in words if word not in text] == [], text
    assert result.text == "ok" and valid(result.messages)


@pytest.mark.parametrize(
    "row", [param for param in rows("model_output", "error_to_model") if "raises_with" in param.values[0]["checks"]]
)
async def test_a_strategy_may_choose_to_raise_instead(row: Any) -> None:
    with pytest.raises(UnknownToolError) as caught:
        await conversation(row, **row["checks"]["raises_with"])

    assert caught.value.known == tuple(tool["name"] for tool in row["input"]["tools"])
    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "row", [param for param in rows("model_output", "error_to_model") if "round_trips" in param.values[0]["checks"]]
)
async def test_a_model_that_never_corrects_itself_is_stopped_at_the_limit(row: Any) -> None:
    recorder, transport = Recorder(row["input"]["tools"]), FakeTransport(row["input"]["body"])
    limit = row["checks"]["round_trips"]
    with pytest.raises(ToolRoundTripLimitError) as caught:
        await recorder.service(max_tool_calling_round_trips=limit).chat(model_on(transport), None, "go")

    assert recorder.runs == []
    assert len(transport.requests) == limit + 1
    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]


@pytest.mark.parametrize("row", rows("model_output", "final_answer"))
async def test_the_whole_text_reaches_the_caller(row: Any) -> None:
    result, _, _ = await conversation(row)

    assert result.text == row["expected"]["values"]["content"]


@pytest.mark.parametrize("way", ["model", "service"])
@pytest.mark.parametrize("row", rows("model_output", "history_valid"))
async def test_what_is_sent_is_a_valid_history_whatever_was_kept(row: Any, way: str) -> None:
    transport, messages = FakeTransport(), messages_of(row["input"]["messages"])
    model = model_on(transport)
    if way == "model":
        await model.chat(ChatRequest(messages))
    else:
        await Recorder(()).service(**CORRECTING).chat(model, None, messages)
    sent = transport.bodies[0]["messages"]

    results = wire_pairs(sent)
    for (id_, text), (expected_id, words) in zip(results, row["checks"]["sent_results"], strict=True):
        assert id_ == expected_id and words in text
    given = [call["function"] for message in row["input"]["messages"] for call in message.get("tool_calls", ())]
    replayed = [call["function"] for message in sent for call in message.get("tool_calls", ())]
    assert [call["name"] for call in replayed] == [call["name"] for call in given]
    for before, after in zip(given, replayed, strict=True):
        arguments = json.loads(after["arguments"])
        assert isinstance(arguments, dict)
        assert after["arguments"] == before["arguments"] or list(arguments.values()) == [before["arguments"]]


@pytest.mark.parametrize("row", [param for param in rows("model_output", "history_valid") if param.id == "MO-30"])
async def test_arguments_that_were_no_json_are_an_object_on_the_wire_that_has_objects(row: Any) -> None:
    """The same history for the provider that the row names: the raw text stays to be seen, below one key."""
    assert row["input"]["target"] == "anthropic"
    transport = anthropic.FakeTransport()
    await anthropic.model_on(transport).chat(ChatRequest(messages_of(row["input"]["messages"])))
    asked, answered = transport.bodies[0]["messages"][1:]

    (call,), (result,) = asked["content"], answered["content"]
    (given,) = row["input"]["messages"][1]["tool_calls"]
    assert (call["type"], call["name"]) == ("tool_use", given["function"]["name"])
    assert list(call["input"].values()) == [given["function"]["arguments"]]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", call["id"])
    assert row["checks"]["sent_results"][0][1] in json.dumps(result["content"])
