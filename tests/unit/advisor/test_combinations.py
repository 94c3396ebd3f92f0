"""Advisors beside each other, and turns that take an unusual way: what each of them keeps and counts stays right."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService, tool
from agentforge.advisor import (
    Advised,
    AdvisorError,
    BudgetAdvisor,
    Chain,
    MessageMemoryAdvisor,
    ToolCallingAdvisor,
    arranged,
)
from agentforge.client import ChatClient
from agentforge.memory import (
    ChatMemory,
    InMemoryStore,
)
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
)
from agentforge.model.scripted import call
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import Run, ToolOutcome
from tests.unit.advisor.combining import BOTH, Approval, Twice, ask, get_weather, kept, letters

# -- calls that the caller runs ------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("how", ["no tool advisor", "user controlled"])
@pytest.mark.parametrize("transcript", ["answers", "full"])
async def test_a_reply_that_is_handed_back_is_in_no_history_before_its_results(
    how: str, transcript: Any, streamed: bool
) -> None:
    """Nothing is made up for its calls, in the result or in a memory; reply and results go on together."""
    memory = ChatMemory(InMemoryStore())
    asked = ToolExecutionRequest("c1", "get_weather", '{"city": "Rome"}')
    model = ScriptedChatModel([AiMessage([asked]), "Sunny."])
    own: list[Any] = [MessageMemoryAdvisor(memory, transcript=transcript)]
    if how == "user controlled":
        own.append(ToolCallingAdvisor(user_controlled=True))
    client = ChatClient(model, advisors=own, tool_calling=how == "user controlled", tools=[get_weather])
    async with client:
        handed = await ask(client, "Weather?", streamed=streamed)
        assert letters(handed.messages) == ["user Weather?"] and await kept(memory) == ["user Weather?"]

        reply = handed.final_response.ai_message
        result = ToolExecutionResultMessage("c1", "get_weather", "Rome: sunny")
        final = await client.prompt(reply, result).memory_id("m1").call()

    assert final.content == "Sunny."
    assert letters(model.requests[1].messages) == ["user Weather?", "*", "result Rome: sunny"]
    assert await kept(memory) == ["user Weather?", "*", "result Rome: sunny", "answer Sunny."]


@pytest.mark.parametrize(
    ("settings", "turns", "shown"),
    [
        ({}, [{"text": "Hm.", "calls": [call("get_weather", city="Rome")]}, "Sunny."], ["Sunny."]),
        ({"user_controlled": True}, [{"text": "Hm.", "calls": [call("get_weather", city="Rome")]}], ["Hm."]),
        ({}, [{"text": "Wait", "finish_reason": "pause"}, "Sunny."], ["Sunny."]),
        (
            {},
            [{"text": "Cut", "calls": [call("get_weather", city="Rome")], "finish_reason": "content_filter"}],
            ["Cut"],
        ),
    ],
    ids=["calls that run", "calls that are handed back", "a pause", "a reply that was stopped"],
)
async def test_hidden_text_is_that_of_rounds_that_go_on_and_no_other(
    settings: dict[str, Any], turns: list[Any], shown: list[str]
) -> None:
    loop = ToolCallingAdvisor(intermediate_text="hide", **settings)
    client = ChatClient(ScriptedChatModel(turns), tools=[get_weather], advisors=[loop])
    async with client, client.prompt("?").stream() as events:
        seen = [event async for event in events]

    kinds = [type(event).__name__ for event in seen]
    assert "".join(event.text for event in seen if hasattr(event, "text")) == "".join(shown)
    assert kinds.count("ResponseDone") == len(turns)
    assert max(at for at, kind in enumerate(kinds) if kind == "TextDelta") < len(kinds) - kinds[::-1].index(
        "ResponseDone"
    )


# -- counting ------------------------------------------------------------------------------------


async def test_a_resumed_turn_counts_what_it_has_cost_before() -> None:
    """With discarded attempts, once; a prompt may be asked again, as the state that it holds stays as it was."""
    approval = Approval()
    cost = TokenUsage(10, 1, 11)
    turn = ChatResponse(AiMessage([ToolExecutionRequest("c1", "get_weather", '{"city": "Rome"}')]), token_usage=cost)
    answer = ChatResponse(AiMessage("Sunny."), FinishReason.STOP, cost)
    model = ScriptedChatModel([turn, turn, answer, answer])
    loop = ToolCallingAdvisor(ToolService(get_weather, gates=[approval]))
    async with ChatClient(model, advisors=[loop, Twice()]) as client:
        waiting = await client.prompt("Weather?").call()
        assert waiting.suspended is not None and waiting.token_usage.total_tokens == 22
        approval.decided = True
        before = waiting.suspended.to_json()
        result = await client.prompt().resume(waiting.suspended).call()

    assert result.token_usage.total_tokens == 44 and len(result.tool_executions) == 1
    assert waiting.suspended.to_json() == before


async def test_a_prompt_that_resumes_can_be_asked_again() -> None:
    approval = Approval()
    model = ScriptedChatModel([call("get_weather", city="Rome"), "One.", "Two."])
    async with ChatClient(model, service=ToolService(get_weather, gates=[approval])) as client:
        waiting = await client.prompt("Weather?").call()
        approval.decided = True
        assert waiting.suspended is not None
        prompt = client.prompt().resume(waiting.suspended)
        results = [await prompt.call(), await prompt.call()]

    assert [letters(each.messages)[-2:] for each in results] == [
        ["result Rome: sunny", "answer One."],
        ["result Rome: sunny", "answer Two."],
    ]


async def test_a_gate_that_the_loop_s_own_service_asks_is_asked_once() -> None:
    """Two calls are two, also where the tools are not the client's."""
    budget = BudgetAdvisor(calls=2)
    loop = ToolCallingAdvisor(ToolService(get_weather, gates=budget.gates))
    turns = [call("get_weather", city="Rome"), call("get_weather", city="Oslo"), "Sunny."]
    async with ChatClient(ScriptedChatModel(turns), advisors=[budget, loop]) as client:
        result = await client.prompt("Weather?").call()

    assert result.content == "Sunny." and [each.outcome for each in result.tool_executions] == [ToolOutcome.OK] * 2


async def test_what_was_returned_directly_is_the_last_batch_alone() -> None:
    """Not that of an attempt before it, which had the same number."""

    @tool("Says it.", return_behavior=ReturnBehavior.IMMEDIATE)
    def say(text: str) -> str:
        return text

    model = ScriptedChatModel([call("say", text="first"), [call("say", text="a"), call("say", text="b")]])
    async with ChatClient(model, tools=[say], advisors=[Twice()]) as client:
        result = await client.prompt("?").call()

    assert result.returned_directly and result.content == "a\nb" and result.immediate_results == ("a", "b")
    assert len(result.tool_executions) == 3


@BOTH
async def test_what_holds_for_every_attempt_is_said_once(streamed: bool) -> None:
    """A forced tool choice holds in the first round of each; that it does no longer is one notice of the run."""
    turns = [call("get_weather", city="Rome"), "Sunny.", call("get_weather", city="Rome"), "Sunny."]
    model = ScriptedChatModel(turns)
    async with ChatClient(model, tools=[get_weather], tool_choice="required", advisors=[Twice()]) as client:
        result = await ask(client, "Weather?", streamed=streamed)

    choices = [request.parameters.tool_choice for request in model.requests]
    assert [choice.mode for choice in choices if choice is not None] == ["required", "auto"] * 2
    assert [notice.code for notice in result.notices] == ["tool_choice_first_round_only"]


# -- inside the loop -----------------------------------------------------------------------------


@BOTH
async def test_an_answer_of_an_inner_advisor_owes_no_forced_call(streamed: bool) -> None:
    """No model was asked, so none has failed to call."""
    budget = BudgetAdvisor(tokens=1, per="conversation", on_limit="answer", text="No more.")
    loop = ToolCallingAdvisor()
    model = ScriptedChatModel([call("get_weather", city="Rome"), "Sunny."], repeat=True)
    async with ChatClient(model, tools=[get_weather], tool_choice="required", advisors=[loop, budget]) as client:
        answers = [(await ask(client, "Weather?", streamed=streamed)).content for _ in range(2)]

    assert answers[-1] == "No more."


@BOTH
async def test_a_tool_that_an_inner_advisor_took_out_is_not_offered_and_does_not_run(streamed: bool) -> None:
    """Whatever the model asks for all the same; the next request may have it again."""
    rounds: list[int] = []

    class FirstWithout:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            rounds.append(run.round)
            if run.round == 0:
                request = ChatRequest(request.messages, request.parameters.with_(tools=()))
            return await chain.next(run, request)

    model = ScriptedChatModel([call("get_weather", city="Rome"), call("get_weather", city="Rome"), "Sunny."])
    service = ToolService(get_weather, unknown_tool_strategy="list_known_tools")
    async with ChatClient(model, service=service, advisors=[ToolCallingAdvisor(), FirstWithout()]) as client:
        result = await ask(client, "Weather?", streamed=streamed)

    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.UNKNOWN_TOOL, ToolOutcome.OK]
    assert rounds == [0, 1, 2]


async def test_an_advisor_that_gives_neither_an_answer_nor_a_suspended_turn_is_named() -> None:
    class Silent:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return Advised(None)

    async with ChatClient(ScriptedChatModel(["x"]), advisors=[Silent()]) as client:
        with pytest.raises(AdvisorError, match="'silent' gave neither a response nor a suspended turn"):
            await client.prompt("?").call()


@BOTH
async def test_an_error_of_an_inner_advisor_leaves_a_valid_history_and_the_loop_behind(streamed: bool) -> None:
    """What ran before is in it, and an advisor outside may ask again."""

    class FailsOnce:
        failed = False

        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            if run.round == 1 and not self.failed:
                self.failed = True
                raise ValueError("boom")
            return await chain.next(run, request)

    class AsksAgain:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            try:
                return await chain.next(run, request)
            except ValueError:
                assert letters(run.messages) == ["user Weather?", "*", "result Rome: sunny"]
                return await chain.again(run, request, "it failed")

    memory = ChatMemory(InMemoryStore())
    model = ScriptedChatModel([call("get_weather", city="Rome"), call("get_weather", city="Oslo"), "Sunny."])
    chain = [AsksAgain(), MessageMemoryAdvisor(memory), ToolCallingAdvisor(), FailsOnce()]
    async with ChatClient(model, tools=[get_weather], advisors=chain) as client:
        result = await ask(client, "Weather?", streamed=streamed)

    assert letters(result.messages) == ["user Weather?", "*", "result Oslo: sunny", "answer Sunny."]
    assert await kept(memory) == ["user Weather?", "answer Sunny."]


# -- clients as tools ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "sync"])
@BOTH
async def test_a_client_that_a_tool_asks_works_for_the_run_of_that_tool(kind: str, streamed: bool) -> None:
    """Nobody has to hand the run on; and what it spends is spent by its parent's budget."""
    runs: list[Run] = []

    class Noting:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            runs.append(run)
            return await chain.next(run, request)

    budget = BudgetAdvisor(model_calls=4)
    inner = ChatClient(ScriptedChatModel(["It is noon."], repeat=True), advisors=[Noting(), budget])

    async def ask_async(question: str) -> str | None:
        "Ask somebody."
        return (await inner.prompt(question).call()).content

    def ask_sync(question: str) -> str | None:
        "Ask somebody."
        return inner.prompt(question).call_sync().content

    function = ask_async if kind == "async" else ask_sync
    asked = call(function.__name__, question="What time is it?")
    model = ScriptedChatModel([[asked, asked], "Noon."])
    with inner:
        async with ChatClient(model, tools=[function], advisors=[Noting(), budget]) as client:
            result = await ask(client, "Time?", streamed=streamed)

    outer, *nested = runs
    assert result.content == "Noon." and outer.parent_id is None
    assert [run.parent_id for run in nested] == [outer.id] * 2 and len({run.id for run in runs}) == 3


# -- places --------------------------------------------------------------------------------------


def test_a_number_at_the_end_of_a_name_is_part_of_it() -> None:
    """``gpt4`` is not the fourth ``gpt``; ``gpt_2`` is the second one."""

    class Named:
        def __init__(self, name: str, **wishes: Any) -> None:
            self.name = name
            self.__dict__.update(wishes)

        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return await chain.next(run, request)

    links = arranged([Named("gpt4"), Named("gpt"), Named("gpt")], [Named("added", before=("gpt",))])

    assert [link.name for link in links] == ["gpt4", "added", "gpt", "gpt_2"]
