"""A run inside of a run waits for a decision: the outer one waits too, the inner state within its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from agentforge import (
    AiMessage,
    ChatClient,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Result,
    RunFinished,
    ScriptedChatModel,
    TokenUsage,
    ToolChatResult,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolService,
    ai_service,
    tool,
)
from agentforge.advisor import BudgetAdvisor, BudgetExceededError, MessageMemoryAdvisor
from agentforge.client import ServiceSuspendedError, resuming
from agentforge.errors import ToolExecutionError
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey
from agentforge.testing import call, calls
from agentforge.tool import ToolSource, augmented, prefix
from agentforge.tool.error import ToolErrorContext, ToolErrorHandlerResult
from agentforge.tool.execution import RunSuspended, ToolFinished, ToolLoopState
from tests.unit.client.experts import Doctor, Prescriptions, SecondGate, doctor

ILL = call("medical", question="I am ill")
PRESCRIBES = call("prescribe", drug="tea")
DONE = "The doctor says tea."
REASON = "may prescribe run?"


class Notes:
    """A tool that has run or not."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    @tool
    def note(self, text: str) -> str:
        """Notes."""
        self.noted.append(text)
        return f"noted {text}"


def saved(state: ToolLoopState | None) -> ToolLoopState:
    """The state after a while on a disk."""
    assert state is not None
    return ToolLoopState.from_json(json.dumps(state.to_json()))


def outcomes(result: ToolChatResult) -> list[tuple[str, ToolOutcome, str]]:
    """The calls of a turn, as they ended."""
    return [(each.request.name, each.outcome, each.result.text) for each in result.tool_executions]


async def test_the_outer_run_waits_and_goes_on_where_both_were() -> None:
    """The finished sibling is in the state and runs no second time; the inner model is asked nothing twice."""
    gate, tools, notes = SecondGate("prescribe"), Prescriptions(), Notes()
    expert, inner = doctor([PRESCRIBES, "Drink tea."], gate=gate, tools=tools)
    outer = ScriptedChatModel([calls(call("note", text="a"), ILL, call("note", text="b")), DONE])
    prompt = ChatClient(outer, tools=[expert, notes]).prompt("I am ill").tool_context(user_id="u7")
    first = await prompt.call()

    assert first.suspended is not None and first.response is None
    assert {at: ask.reason for at, ask in first.suspended.waiting.items()} == {1: REASON}
    assert [each.text for each in first.messages if hasattr(each, "text")] == ["I am ill"]
    assert (sorted(notes.noted), tools.seen, first.tool_executions) == (["a", "b"], [], ())

    state = saved(first.suspended)
    assert [each.name for each in _calls_of(state.nested[1])] == ["prescribe"]
    gate.allow()
    second = await prompt.resume(state).call()

    assert outcomes(second) == [
        ("note", ToolOutcome.OK, "noted a"),
        ("medical", ToolOutcome.OK, "Drink tea."),
        ("note", ToolOutcome.OK, "noted b"),
    ]
    assert (second.text, sorted(notes.noted), len(tools.seen)) == (DONE, ["a", "b"], 1)
    assert (len(inner.requests), len(outer.requests)) == (2, 2)
    assert state.nested.keys() == {1}, "a state that is taken up can be taken up again"


def _calls_of(state: ToolLoopState) -> Sequence[ToolExecutionRequest]:
    assert state.reply is not None
    return state.reply.ai_message.tool_execution_requests


async def test_what_both_have_cost_is_counted_once() -> None:
    """Before and after the wait, whatever was saved in between."""

    def reply(message: AiMessage | str) -> ChatResponse:
        said = AiMessage(message) if isinstance(message, str) else message
        return ChatResponse(said, token_usage=TokenUsage(1, 1, 2))

    asks = AiMessage([ToolExecutionRequest("c1", "medical", '{"question": "ill"}')])
    prescribes = AiMessage([ToolExecutionRequest("c1", "prescribe", '{"drug": "tea"}')])
    gate = SecondGate("prescribe")
    expert, _ = doctor([reply(prescribes), reply("Drink tea.")], gate=gate)
    client = ChatClient(ScriptedChatModel([reply(asks), reply(DONE)]), tools=[expert])
    prompt = client.prompt("?").tool_context(user_id="u7")
    first = await prompt.call()
    assert first.token_usage == TokenUsage(2, 2, 4)
    gate.allow()
    assert (await prompt.resume(saved(first.suspended)).call()).token_usage == TokenUsage(4, 4, 8)


async def test_several_inner_runs_may_wait_and_one_may_wait_again() -> None:
    """What is decided goes on; the others are asked about again, with the state that they have by now."""
    first_gate, second_gate = SecondGate("prescribe"), SecondGate("prescribe")
    one, one_model = doctor([PRESCRIBES, "one"], gate=first_gate)
    two, two_model = doctor([PRESCRIBES, call("prescribe", drug="rum"), "two"], gate=second_gate)
    tools: list[ToolSource] = [prefix(one, "one_"), prefix(two, "two_")]  # type: ignore[arg-type]
    asks = calls(call("one_medical", question="a"), call("two_medical", question="b"))
    prompt = ChatClient(ScriptedChatModel([asks, DONE]), tools=tools).prompt("?").tool_context(user_id="u7")

    state = (await prompt.call()).suspended
    assert state is not None and sorted(state.nested) == sorted(state.waiting) == [0, 1]
    first_gate.allow()
    state = (await prompt.resume(saved(state)).call()).suspended
    assert state is not None and (list(state.waiting), list(state.nested), list(state.results)) == ([1], [1], [0])
    second_gate.allow()
    result = await prompt.resume(saved(state)).call()
    assert outcomes(result) == [("one_medical", ToolOutcome.OK, "one"), ("two_medical", ToolOutcome.OK, "two")]
    assert (len(one_model.requests), len(two_model.requests)) == (2, 3)


class Desk(Protocol):
    """A service over a client that has an expert itself."""

    @tool
    async def desk(self, q: str) -> str:
        """Knows whom to ask."""
        ...

    async def chat(self, message: str) -> Result[str]: ...

    async def talk(self, message: str) -> str: ...


async def test_runs_wait_at_any_depth() -> None:
    """State in state in state, and back."""
    gate = SecondGate("prescribe")
    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate)
    middle = ai_service(Desk, ChatClient(ScriptedChatModel([ILL, "Tea, he says."]), tools=[expert]))
    client = ChatClient(ScriptedChatModel([call("desk", q="?"), DONE]), tools=[middle])
    prompt = client.prompt("?").tool_context(user_id="u7")
    first = await prompt.call()
    state = saved(first.suspended)
    assert [each.name for each in _calls_of(state.nested[0].nested[0])] == ["prescribe"]
    assert [each.waiting[0].reason for each in (state, state.nested[0], state.nested[0].nested[0])] == [REASON] * 3
    gate.allow()
    result = await prompt.resume(state).call()
    assert outcomes(result) == [("desk", ToolOutcome.OK, "Tea, he says.")]


async def test_a_service_whose_expert_waits_says_so() -> None:
    """A method that returns a Result has the state; another raises, and both go on by `resuming`."""
    gate = SecondGate("prescribe")
    for method in ("chat", "talk"):
        gate.verdict = None
        expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate)
        outer = ChatClient(ScriptedChatModel([ILL, DONE]), tools=[expert], tool_context={"user_id": "u7"})
        service = ai_service(Desk, outer)
        state: ToolLoopState | None
        if method == "chat":
            state = (await service.chat("?")).suspended
        else:
            with pytest.raises(ServiceSuspendedError, match="may prescribe run") as caught:
                await service.talk("?")
            state = caught.value.state
        gate.allow()
        if method == "chat":
            assert (await resuming(service.chat, saved(state))("?")).content == DONE
        else:
            assert await resuming(service.talk, saved(state))("?") == DONE


async def test_a_denied_call_is_the_inner_models_to_answer() -> None:
    """The outer run learns of it only what the inner one says."""
    gate, tools = SecondGate("prescribe"), Prescriptions()
    expert, inner = doctor([PRESCRIBES, "I may not."], gate=gate, tools=tools)
    client = ChatClient(ScriptedChatModel([ILL, DONE]), tools=[expert])
    prompt = client.prompt("?").tool_context(user_id="u7")
    first = await prompt.call()
    gate.deny("not today")
    result = await prompt.resume(saved(first.suspended)).call()
    last = inner.requests[-1].messages[-1]
    assert isinstance(last, ToolExecutionResultMessage) and (last.text, last.is_error) == ("not today", True)
    assert (outcomes(result), tools.seen) == ([("medical", ToolOutcome.OK, "I may not.")], [])


async def test_the_outer_gates_are_asked_again_and_may_refuse_what_waits() -> None:
    """Permissions may have changed meanwhile; the inner run is then never taken up."""
    inner_gate, outer_gate = SecondGate("prescribe"), SecondGate("medical")
    expert, inner = doctor([PRESCRIBES, "Drink tea."], gate=inner_gate)
    service = ToolService(expert, gates=[outer_gate])
    prompt = ChatClient(ScriptedChatModel([ILL, DONE]), service=service).prompt("?").tool_context(user_id="u7")

    first = await prompt.call()
    assert first.suspended is not None and (first.suspended.nested, inner.requests) == ({}, [])
    outer_gate.allow()
    second = await prompt.resume(saved(first.suspended)).call()
    assert second.suspended is not None and list(second.suspended.nested) == [0]
    outer_gate.verdict = None
    third = await prompt.resume(saved(second.suspended)).call()
    assert third.suspended is not None and list(third.suspended.nested) == [0], "asked about again, state and all"
    outer_gate.deny()
    inner_gate.allow()
    last = await prompt.resume(saved(third.suspended)).call()
    assert (outcomes(last), len(inner.requests)) == ([("medical", ToolOutcome.DENIED, "no")], 1)


async def test_a_service_that_is_gone_is_not_taken_up() -> None:
    """As any tool that is not offered any more."""
    gate = SecondGate("prescribe")
    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate)
    client = ChatClient(ScriptedChatModel([ILL]), tools=[expert])
    state = (await client.prompt("?").tool_context(user_id="u7").call()).suspended
    other = ChatClient(ScriptedChatModel([DONE]), service=ToolService(unknown_tool_strategy="list_known_tools"))
    result = await other.prompt("?").resume(saved(state)).call()
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.UNKNOWN_TOOL]


async def test_both_conversations_wait_in_their_memories() -> None:
    """Each is stored when it is over, and not before; the outer one in the same memory as the inner one."""
    memory = ChatMemory(InMemoryStore())
    gate = SecondGate("prescribe")
    expert, inner = doctor([PRESCRIBES, "Drink tea.", "More tea."], gate=gate, advisors=[MessageMemoryAdvisor(memory)])
    outer = ScriptedChatModel([ILL, DONE, ILL, "More, he says."])
    client = ChatClient(outer, tools=[expert], advisors=[MessageMemoryAdvisor(memory)])
    prompt = client.prompt("I am ill").memory_id("c1").tool_context(user_id="u7")
    first = await prompt.call()
    waiting = {key: (await memory.get(MemoryKey(None, key))) for key in ("c1", "c1/medical")}
    assert all(each is not None and each.suspended is not None and not each.messages for each in waiting.values())

    gate.allow()
    await prompt.resume(saved(first.suspended)).call()
    again = await client.prompt("Still ill").memory_id("c1").tool_context(user_id="u7").call()
    assert again.text == "More, he says."
    told = [each.text for each in inner.requests[-1].messages if hasattr(each, "text")]
    assert told == ["You are a doctor for people.", "I am ill", "Drink tea.", "I am ill"]
    kept = await memory.get(MemoryKey(None, "c1/medical"))
    assert kept is not None and kept.suspended is None and len(kept.messages) == 5


@pytest.mark.parametrize("because", ["refused", "failed"])
@pytest.mark.parametrize("known", [True, False])
async def test_what_waits_for_nobody_holds_the_expert_up_no_longer(because: str, known: bool) -> None:
    """The outer conversation has gone on: the call that waited was refused, or failed when it was taken up. Where it
    has no memory, nobody knows that; the expert then takes no new turn."""

    class Failing(ScriptedChatModel):
        """Cannot be reached the second time."""

        async def chat(self, request: ChatRequest) -> ChatResponse:
            if because == "failed" and len(self.requests) == 1 and len(request.messages) > 2:
                self.requests.append(request)
                raise ConnectionError("away")
            return await super().chat(request)

    inner, outer = (MessageMemoryAdvisor(ChatMemory(InMemoryStore())) for _ in range(2))
    gate, above = SecondGate("prescribe"), SecondGate("medical")
    above.allow()
    service = ToolService(Prescriptions(), gates=[gate])
    expert = ai_service(Doctor, ChatClient(Failing([PRESCRIBES, "Better?"]), service=service, advisors=[inner]))
    model = ScriptedChatModel([ILL, "Sorry.", ILL, DONE])
    client = ChatClient(model, service=ToolService(expert, gates=[above]), advisors=[outer] if known else [])
    prompt = client.prompt("?").memory_id("c1").tool_context(user_id="u7")
    first = await prompt.call()
    gate.allow()
    if because == "refused":
        above.deny()
    await prompt.resume(saved(first.suspended)).call()

    above.allow()
    [(_, outcome, text)] = outcomes(await prompt.call())
    assert outcome is (ToolOutcome.OK if known else ToolOutcome.FAILED)
    assert text == "Better?" if known else "waits for a decision" in text
    assert "c1" not in text, "the id of a conversation is no model's to know"


async def test_a_call_beside_the_one_that_waits_takes_nothing_from_it() -> None:
    """Both ask in one conversation: the second is told so, and the first goes on."""
    inner, outer = (MessageMemoryAdvisor(ChatMemory(InMemoryStore())) for _ in range(2))
    gate = SecondGate("prescribe")
    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate, advisors=[inner])
    client = ChatClient(ScriptedChatModel([calls(ILL, ILL), DONE]), tools=[expert], advisors=[outer])
    prompt = client.prompt("?").memory_id("c1").tool_context(user_id="u7")
    first = await prompt.call()
    gate.allow()
    result = await prompt.resume(saved(first.suspended)).call()
    assert [outcome for _, outcome, _ in outcomes(result)] == [ToolOutcome.OK, ToolOutcome.FAILED]


async def test_a_stream_ends_with_what_waits_and_goes_on() -> None:
    """`RunSuspended` names the place of the call; the call is begun again when the run is."""
    gate = SecondGate("prescribe")
    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate)
    client = ChatClient(ScriptedChatModel([calls(call("medical", question="x")), DONE]), tools=[expert])
    prompt = client.prompt("?").tool_context(user_id="u7")
    async with prompt.stream(nested=True) as stream:
        events = [event async for event in stream]
    told = [event for event in events if isinstance(event, RunSuspended)]
    assert [(event.waiting, event.parent_run_id is None) for event in told] == [
        ({0: REASON}, False),
        ({0: REASON}, True),
    ]
    assert not any(isinstance(event, ToolFinished) for event in events)
    last = events[-1]
    assert isinstance(last, RunFinished) and last.result.suspended is not None

    gate.allow()
    async with prompt.resume(saved(last.result.suspended)).stream() as stream:
        events = [event async for event in stream]
    assert [event.execution.result.text for event in events if isinstance(event, ToolFinished)] == ["Drink tea."]


async def test_a_sibling_that_ends_the_run_ends_what_waits() -> None:
    """The history stays valid: the call that waited is cancelled."""

    def end(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        raise ToolExecutionError("that is the end", tool=context.request.name)

    @tool
    def fail() -> str:
        """Fails."""
        raise ValueError("broken")

    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=SecondGate("prescribe"))
    service = ToolService(expert, fail, execution_error_handler=end)
    client = ChatClient(ScriptedChatModel([calls(ILL, call("fail"))]), service=service)
    with pytest.raises(ToolExecutionError, match="that is the end") as caught:
        await client.prompt("?").tool_context(user_id="u7").call()
    executions = caught.value.partial.tool_executions
    assert [each.outcome for each in executions] == [ToolOutcome.CANCELLED, ToolOutcome.FAILED]
    results = [each for each in caught.value.partial.messages if isinstance(each, ToolExecutionResultMessage)]
    assert len(results) == 2


async def test_the_consumer_of_further_arguments_is_told_once() -> None:
    """The call is made twice, and was thought of once."""
    from agentforge import ToolParameters

    told: list[object] = []
    thought = ToolParameters({"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]})
    gate = SecondGate("prescribe")
    expert: Any
    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate)
    view = augmented(expert, thought, lambda seen: told.append(seen.extra["why"]))
    client = ChatClient(ScriptedChatModel([call("medical", question="x", why="because"), DONE]), tools=[view])
    prompt = client.prompt("?").tool_context(user_id="u7")
    first = await prompt.call()
    gate.allow()
    result = await prompt.resume(saved(first.suspended)).call()
    assert (result.text, told) == (DONE, ["because"])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("tokens", "left"), [(8, True), (6, False)])
async def test_a_budget_that_is_taken_up_counts_what_the_inner_run_took_once(
    shared: bool, tokens: int, left: bool
) -> None:
    """It is in the outer state already, whether the inner run passes the same budget or knows nothing of it."""

    def reply(message: AiMessage | str) -> ChatResponse:
        said = AiMessage(message) if isinstance(message, str) else message
        return ChatResponse(said, token_usage=TokenUsage(1, 1, 2))

    asks = AiMessage([ToolExecutionRequest("c1", "medical", '{"question": "ill"}')])
    prescribes = AiMessage([ToolExecutionRequest("c1", "prescribe", '{"drug": "tea"}')])
    gate, budget = SecondGate("prescribe"), BudgetAdvisor(tokens=tokens)
    expert, _ = doctor([reply(prescribes), reply("Drink tea.")], gate=gate, advisors=[budget] if shared else [])
    outer = ScriptedChatModel([reply(asks), reply(DONE)])
    prompt = ChatClient(outer, tools=[expert], advisors=[budget]).prompt("?").tool_context(user_id="u7")
    first = await prompt.call()
    gate.allow()
    going_on = prompt.resume(saved(first.suspended))
    if left:
        assert (await going_on.call()).text == DONE
        return
    with pytest.raises(BudgetExceededError) as caught:
        await going_on.call()
    assert caught.value.used == 6


async def test_calls_that_have_run_are_spent_and_one_that_waits_is_not() -> None:
    """A budget of two calls: the one that waits takes the second when the run goes on."""
    gate, notes = SecondGate("prescribe"), Notes()
    budget = BudgetAdvisor(calls=2)
    expert, _ = doctor([PRESCRIBES, "Drink tea."], gate=gate)
    outer = ScriptedChatModel([calls(call("note", text="a"), ILL), DONE])
    client = ChatClient(outer, tools=[expert, notes], advisors=[budget])
    prompt = client.prompt("?").tool_context(user_id="u7")
    first = await prompt.call()
    gate.allow()
    result = await prompt.resume(saved(first.suspended)).call()
    assert [outcome for _, outcome, _ in outcomes(result)] == [ToolOutcome.OK, ToolOutcome.OK]
    assert result.text == DONE


def test_no_message_of_a_turn_that_waits_is_in_the_history() -> None:
    """A saved state without the inner one, as earlier versions wrote it, can still be read."""
    state = ToolLoopState()
    data = state.to_json()
    del data["nested"]
    assert ToolLoopState.from_json(data).nested == {}
    messages: tuple[ChatMessage, ...] = tuple(state.messages)
    assert messages == ()
