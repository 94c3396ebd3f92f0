"""A provider that refuses what the model made: the model is told once and asked again, and no history keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatRequestParameters,
    RunFinished,
    ScriptedChatModel,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolService,
    UserMessage,
)
from agentforge.advisor import BudgetAdvisor, MessageMemoryAdvisor, ToolCallingAdvisor
from agentforge.client import ChatClient
from agentforge.errors import InvalidRequestError, ToolRoundTripLimitError, ToolUseFailedError
from agentforge.masking import Secrets
from agentforge.memory import ChatMemory, InMemoryStore
from agentforge.model import ChatMessage, ChatRequest, Event, History, Notice, TextDelta, TokenUsage
from agentforge.model.scripted import call
from agentforge.tool.execution import (
    AttemptDiscarded,
    CallModel,
    Finish,
    FinishKind,
    RoundStarted,
    ToolLoop,
    ToolLoopState,
)
from tests.unit.tool.execution.support import QUESTION, WeatherTools, converse, valid
from tests.unit.tool.execution.test_tool_loop import OFFERED, asks, good, says

MADE = '{"name": "get_weather", "arguments": {"town": "Rome"}}'
WHY = "parameters for tool get_weather did not match schema: missing properties: 'city'"
TOLD = f"The server refused this: {WHY}\nCall the tools again, with arguments that fit their schemas."


def refusal(made: str = MADE, why: str = WHY) -> ToolUseFailedError:
    return ToolUseFailedError(why, details={"failed_generation": made} if made else {})


def weather() -> Any:
    return call("get_weather", city="Rome")


# -- the pure loop ---------------------------------------------------------------------------------


def started(rounds: int = 100) -> ToolLoop:
    return ToolLoop(ToolLoopState(History((UserMessage("go"),)), rounds))


def test_the_correction_goes_behind_the_next_request_alone() -> None:
    """And never into the history: what a client shows, a memory keeps and a window cuts has no made-up question."""
    loop = started()
    assert loop.refused(MADE, WHY)
    assert loop.next() == CallModel(1)
    assert list(loop.asking) == [UserMessage("go"), AiMessage(MADE), UserMessage(TOLD)]
    assert list(loop.messages) == [UserMessage("go")]
    loop.replied(asks("T"), OFFERED)
    loop.resolved({0: good()})
    assert loop.asking is loop.messages
    assert [type(message) for message in loop.messages] == [UserMessage, AiMessage, ToolExecutionResultMessage]


@pytest.mark.parametrize("made", ["", " \n"])
def test_without_what_the_model_made_only_the_reason_is_told(made: str) -> None:
    loop = started()
    loop.refused(made, WHY)
    assert loop.asking == (UserMessage("go"), UserMessage(TOLD))


def test_only_one_correction_until_a_reply_succeeds() -> None:
    loop = started()
    assert [loop.refused(MADE, WHY), loop.refused(MADE, WHY)] == [True, False]
    assert loop.asking == loop.messages
    loop = started()
    loop.refused(MADE, WHY)
    loop.replied(asks("T"), OFFERED)
    loop.resolved({0: good()})
    assert loop.refused(MADE, WHY), "a reply came in between"


@pytest.mark.parametrize(("rounds", "again"), [(0, False), (1, True)])
def test_a_correction_needs_a_round(rounds: int, again: bool) -> None:
    assert started(rounds).refused(MADE, WHY) is again


def test_a_correction_counts_as_a_round() -> None:
    loop = started(rounds=1)
    loop.refused(MADE, WHY)
    loop.replied(asks("T"), OFFERED)
    step = loop.next()
    assert isinstance(step, Finish) and step.kind is FinishKind.ROUND_TRIP_LIMIT


def test_a_saved_state_goes_on_with_its_correction() -> None:
    loop = started()
    loop.refused(MADE, WHY)
    again = ToolLoop(ToolLoopState.from_json(loop.state.to_json()))
    assert again.asking == loop.asking
    assert not again.refused(MADE, WHY)
    older = started().state.to_json()
    del older["correction"]
    assert ToolLoopState.from_json(older).correction == ()


def test_an_aborted_loop_keeps_a_valid_history() -> None:
    loop = started()
    loop.refused(MADE, WHY)
    loop.abort("the user left")
    assert loop.messages == (UserMessage("go"),)


def test_usage_goes_on_behind_a_correction() -> None:
    loop = started()
    loop.refused(MADE, WHY)
    loop.replied(says("done"), OFFERED)
    assert loop.state.token_usage == TokenUsage(10, 20, 30)


# -- the service -----------------------------------------------------------------------------------


async def test_the_model_is_told_and_its_second_call_runs() -> None:
    """Plain and streamed come to the same: one execution, one notice, a history without the failure."""
    result = await converse(ToolService(WeatherTools()), [refusal(), weather(), "Sunny."])
    assert result.text == "Sunny."
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.OK]
    assert [notice.code for notice in result.notices] == ["tool_use_refused"]
    assert result.notices[0].details == {"reason": WHY}
    assert [type(message).__name__ for message in result.messages] == [
        "UserMessage",
        "AiMessage",
        "ToolExecutionResultMessage",
        "AiMessage",
    ]


async def test_what_is_sent_is_the_history_the_attempt_and_why_it_was_refused() -> None:
    model = ScriptedChatModel([weather(), refusal(), "Sunny."])
    await ToolService(WeatherTools()).chat(model, None, QUESTION)
    first, second, third = (request.messages for request in model.requests)
    assert list(third) == [*second, AiMessage(MADE), UserMessage(TOLD)]
    assert valid(third) and list(second[: len(first)]) == list(first)


async def test_a_second_refusal_in_a_row_ends_the_run() -> None:
    """With a valid history of what had run before."""
    model = ScriptedChatModel([weather(), refusal(), refusal(why="again"), "never"])
    with pytest.raises(ToolUseFailedError, match="again") as caught:
        await ToolService(WeatherTools()).chat(model, None, QUESTION)
    assert len(model.requests) == 3
    partial = caught.value.partial
    assert valid(partial.messages)
    assert [execution.outcome for execution in partial.tool_executions] == [ToolOutcome.OK]


async def test_refusals_that_a_reply_parts_are_each_corrected() -> None:
    result = await converse(ToolService(WeatherTools()), [refusal(), weather(), refusal(), "Sunny."])
    assert [notice.code for notice in result.notices] == ["tool_use_refused"] * 2


async def test_without_a_round_left_the_refusal_is_the_error() -> None:
    model = ScriptedChatModel([refusal(), "never"])
    with pytest.raises(ToolUseFailedError):
        await ToolService(WeatherTools(), max_tool_calling_round_trips=0).chat(model, None, QUESTION)
    assert len(model.requests) == 1


async def test_the_round_limit_holds() -> None:
    model = ScriptedChatModel([refusal(), weather(), weather()])
    with pytest.raises(ToolRoundTripLimitError):
        await ToolService(WeatherTools(), max_tool_calling_round_trips=1).chat(model, None, QUESTION)
    assert len(model.requests) == 2


async def test_a_forced_call_is_still_owed() -> None:
    """A refused attempt does not use up the choice of the first round."""
    model = ScriptedChatModel([refusal("maybe", "Tool choice is required"), weather(), "Sunny."])
    parameters = ChatRequestParameters(tool_choice="required")
    result = await ToolService(WeatherTools()).chat(model, parameters, QUESTION)
    modes = [request.parameters.tool_choice.mode for request in model.requests if request.parameters.tool_choice]
    assert modes == ["required", "required", "auto"]
    assert [notice.code for notice in result.notices] == ["tool_use_refused", "tool_choice_first_round_only"]


async def test_other_refusals_of_a_request_end_the_run_at_once() -> None:
    model = ScriptedChatModel([InvalidRequestError("tools[0] is wrong"), "never"])
    with pytest.raises(InvalidRequestError):
        await ToolService(WeatherTools()).chat(model, None, QUESTION)
    assert len(model.requests) == 1


async def test_secrets_in_the_reason_are_masked() -> None:
    model = ScriptedChatModel([refusal(why="the key sk-canary is in it"), "Sunny."])
    result = await ToolService(WeatherTools(), secrets=Secrets(["sk-canary"])).chat(model, None, QUESTION)
    assert "sk-canary" not in f"{model.requests[1].messages} {result.notices}"


async def test_what_the_model_made_is_masked_and_bounded() -> None:
    """It goes back into a request, perhaps to another model: no secret does, nor a reply without end."""
    made = "sk-canary " + "x" * 1_000_000
    model = ScriptedChatModel([refusal(made, why="y" * 1_000_000), "Sunny."])
    await ToolService(WeatherTools(), secrets=Secrets(["sk-canary"])).chat(model, None, QUESTION)
    attempt, told = model.requests[1].messages[-2:]
    assert isinstance(attempt, AiMessage) and isinstance(told, UserMessage)
    assert attempt.text == "*** " + "x" * (64 * 1024 - 4)
    assert "y" * 2_000 + "\nCall the tools again" in told.text and len(told.text) < 2_200


async def test_who_listens_hears_that_what_was_shown_does_not_count() -> None:
    """The notice, then the end of the attempt, then the next round."""
    model = ScriptedChatModel([{"text": "maybe", "error": refusal("maybe")}, weather(), "Sunny."])
    async with ToolService(WeatherTools()).stream(model, None, QUESTION) as events:
        seen: list[Event] = [event async for event in events]
    at = [type(event) for event in seen].index(AttemptDiscarded)
    assert any(isinstance(event, TextDelta) for event in seen[:at])
    before, discarded, behind = seen[at - 1 : at + 2]
    assert isinstance(before, Notice) and before.code == "tool_use_refused"
    assert isinstance(discarded, AttemptDiscarded) and discarded.run_id
    assert behind == RoundStarted(1, run_id=discarded.run_id)
    assert isinstance(seen[-1], RunFinished)


async def test_what_a_stream_had_shown_stands_for_what_the_model_made() -> None:
    """Where the provider does not say it."""
    error = ToolUseFailedError(WHY, details={"partial_text": "maybe"})
    model = ScriptedChatModel([error, weather(), "Sunny."])
    await ToolService(WeatherTools()).chat(model, None, QUESTION)
    assert model.requests[1].messages[1] == AiMessage("maybe")


# -- advisors --------------------------------------------------------------------------------------


async def ask(client: ChatClient, streamed: bool) -> Any:
    asked = client.prompt(QUESTION).memory_id("m")
    if not streamed:
        return await asked.call()
    async with asked.stream() as events:
        last = [event async for event in events][-1]
    assert isinstance(last, RunFinished)
    return last.result


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("place", ["outside", "inside", "inside, last"])
async def test_a_memory_keeps_nothing_of_it(place: str, streamed: bool) -> None:
    """Wherever it stands; and the model is sent each message once."""
    memory = ChatMemory(InMemoryStore())
    kept = MessageMemoryAdvisor(memory)
    loop = ToolCallingAdvisor(history="last" if place == "inside, last" else "full")
    advisors: list[Any] = [kept, loop] if place == "outside" else [loop, kept]
    turns = [weather(), refusal(), weather(), weather(), "Sunny.", "Yes."]
    model = ScriptedChatModel(turns)
    client = ChatClient(model, advisors=advisors, tools=[WeatherTools()])
    for _ in range(2):
        await ask(client, streamed)
    third = list(model.requests[2].messages)
    assert third[-2:] == [AiMessage(MADE), UserMessage(TOLD)]
    shapes = [[type(message).__name__[:4] for message in request.messages] for request in model.requests]
    assert shapes == [
        ["User"],
        ["User", "AiMe", "Tool"],
        ["User", "AiMe", "Tool", "AiMe", "User"],
        ["User", "AiMe", "Tool", "AiMe", "Tool"],
        ["User", "AiMe", "Tool", "AiMe", "Tool", "AiMe", "Tool"],
        ["User", "AiMe", "User"] if place == "outside" else ["User", *["AiMe", "Tool"] * 3, "AiMe", "User"],
    ]
    for request in model.requests:
        assert valid(request.messages)


async def test_with_only_the_last_messages_sent_on_none_is_left_out_or_sent_twice() -> None:
    model = ScriptedChatModel([weather(), refusal(), weather(), "Sunny."])
    client = ChatClient(model, advisors=[ToolCallingAdvisor(history="last")], tools=[WeatherTools()])
    await ask(client, False)
    shapes = [[type(message).__name__[:4] for message in request.messages] for request in model.requests]
    assert shapes == [["User"], ["AiMe", "Tool"], ["AiMe", "Tool", "AiMe", "User"], ["AiMe", "Tool"]]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_budget_counts_the_refused_call_of_the_model(streamed: bool) -> None:
    """And what ran before stays where the budget answers."""
    model = ScriptedChatModel([weather(), refusal(), "never"])
    budget = BudgetAdvisor(model_calls=2, on_limit="answer", text="Enough.")
    client = ChatClient(model, advisors=[budget], tools=[WeatherTools()])
    result = await ask(client, streamed)
    assert len(model.requests) == 2
    messages: list[ChatMessage] = list(result.messages)
    assert [type(message).__name__[:4] for message in messages] == ["User", "AiMe", "Tool", "AiMe"]
    assert messages[-1] == AiMessage("Enough.")


async def test_a_model_without_a_loop_raises_it() -> None:
    """Nobody is there to ask again."""
    with pytest.raises(ToolUseFailedError) as caught:
        await ScriptedChatModel([refusal()]).chat(ChatRequest("q"))
    assert (caught.value.code, caught.value.failed_generation, caught.value.retryable) == ("AF317", MADE, False)
