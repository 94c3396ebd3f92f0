"""The tool loop inside a chain: rounds, hooks, what inner advisors see and change, and what is handed back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolOutcome, ToolService, tool
from agentforge.advisor import Advised, AdvisorError, Chain, ToolCallingAdvisor, arranged, model_call
from agentforge.errors import ConfigurationError, ToolRoundTripLimitError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Event,
    ResponseDone,
    SystemMessage,
    TextDelta,
    TokenUsage,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.model.scripted import call
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import (
    Ask,
    PlannedCall,
    Proceed,
    RoundStarted,
    Run,
    ToolFinished,
    ToolLoopState,
    ToolStarted,
    bound_tools_from,
)

QUESTION = ChatRequest((SystemMessage("Be short."), UserMessage("Weather?")))


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: 22 degrees"


class Watching:
    """An inner advisor that keeps every request it saw."""

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        self.requests.append(request)
        return await chain.next(run, request)


async def hold(
    model: ScriptedChatModel,
    *advisors: Any,
    request: ChatRequest = QUESTION,
    run: Run | None = None,
    events: list[Event] | None = None,
) -> Advised:
    """One turn through a chain."""

    async def emit(event: Event) -> None:
        assert events is not None
        events.append(event)

    chain = Chain(arranged(advisors), model_call(model), emit=None if events is None else emit)
    return await chain.next(run or Run(), request)


@pytest.fixture
def service() -> Any:
    with ToolService(get_weather) as made:
        yield made


def two_rounds() -> ScriptedChatModel:
    return ScriptedChatModel(
        [
            {"text": "Let me look.", "calls": [call("get_weather", city="Rome")], "usage": {"input": 10, "output": 1}},
            {"text": "Sunny.", "usage": {"input": 20, "output": 2}},
        ]
    )


@pytest.mark.parametrize("streamed", [False, True])
async def test_inner_advisors_pass_once_a_round_and_outer_ones_once(service: ToolService, streamed: bool) -> None:
    outer, inner, model, run = Watching(), Watching(), two_rounds(), Run()

    advised = await hold(model, outer, ToolCallingAdvisor(service), inner, run=run, events=[] if streamed else None)

    assert (len(outer.requests), len(inner.requests), len(model.requests)) == (1, 2, 2)
    assert advised.response is not None and advised.response.ai_message.text == "Sunny."
    assert [type(message).__name__ for message in advised.new_messages] == [
        "AiMessage",
        "ToolExecutionResultMessage",
        "AiMessage",
    ]
    assert run.messages == (*QUESTION.messages, *advised.new_messages)
    assert [execution.outcome for execution in run.tool_executions] == [ToolOutcome.OK]
    assert run.token_usage == TokenUsage(30, 3, 33)


async def test_what_an_attempt_cost_counts_though_it_was_discarded(service: ToolService) -> None:
    class Twice:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            await chain.next(run, request)
            return await chain.again(run, request, "once more")

    run = Run()
    model = ScriptedChatModel([{"text": f"{n}", "usage": {"input": n, "output": 1}} for n in (1, 2)])
    advised = await hold(model, ToolCallingAdvisor(service), Twice(), run=run)

    assert run.token_usage == TokenUsage(3, 2, 5)
    assert advised.new_messages == (AiMessage("2"),)


async def test_the_overridable_steps_are_called_in_order(service: ToolService) -> None:
    """Once before the loop, before and after each round, once at the end."""
    seen: list[str] = []

    class Own(ToolCallingAdvisor):
        async def before_loop(self, run: Run, request: ChatRequest) -> ChatRequest:
            seen.append("loop")
            return request

        async def before_round(self, run: Run, number: int, request: ChatRequest) -> ChatRequest:
            seen.append(f"before {number}")
            return request

        async def after_round(self, run: Run, number: int, response: ChatResponse) -> ChatResponse:
            seen.append(f"after {number}")
            return response

        async def finish(self, run: Run, advised: Advised) -> Advised:
            seen.append("finish")
            return advised

    await hold(two_rounds(), Own(service))

    assert seen == ["loop", "before 0", "after 0", "before 1", "after 1", "finish"]


async def test_options_that_change_before_a_round_hold_for_its_calls_too(service: ToolService) -> None:
    """A tool that is offered from the second round on is known there, and not before."""
    inner = Watching()
    extra = ToolSpecification("extra", "An own one.")

    class Own(ToolCallingAdvisor):
        async def before_round(self, run: Run, number: int, request: ChatRequest) -> ChatRequest:
            if number == 0:
                return request
            return ChatRequest(request.messages, ChatRequestParameters(temperature=0.5, tools=[extra]))

    await hold(two_rounds(), Own(service), inner)

    assert [[each.name for each in request.parameters.tools] for request in inner.requests] == [
        ["get_weather"],
        ["get_weather", "extra"],
    ]
    assert inner.requests[1].parameters.temperature == 0.5


async def test_tools_of_the_run_are_offered_beside_the_registered_ones(service: ToolService) -> None:
    def get_time(city: str) -> str:
        "The time in a city."
        return f"{city}: noon"

    run = Run()
    run.sources = (tuple(bound_tools_from(get_time)),)
    await hold(ScriptedChatModel([call("get_time", city="Rome"), "Noon."]), ToolCallingAdvisor(service), run=run)

    assert [execution.result_text() for execution in run.tool_executions] == ["Rome: noon"]


async def test_with_last_only_what_is_new_is_sent_on(service: ToolService) -> None:
    """The system message, and the call with its result; the turn itself is whole."""
    inner = Watching()
    advised = await hold(two_rounds(), ToolCallingAdvisor(service, history="last"), inner)

    assert inner.requests[0].messages == QUESTION.messages
    assert [type(message) for message in inner.requests[1].messages] == [
        SystemMessage,
        AiMessage,
        ToolExecutionResultMessage,
    ]
    assert len(advised.new_messages) == 3


@pytest.mark.parametrize(
    "made",
    [lambda s: ToolCallingAdvisor(s, user_controlled=True), lambda s: ToolCallingAdvisor(s, runs=lambda _: False)],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_calls_are_handed_back_where_the_caller_runs_them(
    made: Callable[[ToolService], ToolCallingAdvisor], streamed: bool, service: ToolService
) -> None:
    """The reply is not in the history, which stays valid; with its results it goes on."""
    model, run = two_rounds(), Run()
    advised = await hold(model, made(service), run=run, events=[] if streamed else None)

    assert advised.response is not None
    reply = advised.response.ai_message
    assert [each.name for each in reply.tool_execution_requests] == ["get_weather"]
    assert advised.new_messages == () and run.messages == QUESTION.messages and run.tool_executions == []

    result = ToolExecutionResultMessage(reply.tool_execution_requests[0].id, "get_weather", "22 degrees")
    after = await hold(model, made(service), request=ChatRequest((*QUESTION.messages, reply, result)))
    assert after.response is not None and after.response.ai_message.text == "Sunny."


async def test_a_reply_with_calls_that_are_run_here_and_one_that_is_not() -> None:
    """``runs`` decides reply by reply."""

    def confirm() -> str:
        "Ask the user."
        return "yes"

    with ToolService(get_weather, confirm) as service:
        advisor = ToolCallingAdvisor(
            service, runs=lambda reply: reply.ai_message.tool_execution_requests[0].name != "confirm"
        )
        model = ScriptedChatModel([call("get_weather", city="Rome"), call("confirm")])
        advised = await hold(model, advisor)

    assert len(advised.new_messages) == 2
    assert advised.response is not None and advised.response.ai_message.has_tool_execution_requests


async def test_an_immediate_return_ends_the_turn() -> None:
    @tool("Look it up.", return_behavior=ReturnBehavior.IMMEDIATE)
    def look() -> str:
        return "found"

    with ToolService(look) as service:
        advised = await hold(ScriptedChatModel([call("look")]), ToolCallingAdvisor(service))

    assert advised.returned_directly and len(advised.new_messages) == 2


async def test_a_bound_of_its_own_wins_over_the_service_s(service: ToolService) -> None:
    model = ScriptedChatModel([call("get_weather", city="Rome")], repeat=True)

    with pytest.raises(ToolRoundTripLimitError, match="more than 2") as raised:
        await hold(model, ToolCallingAdvisor(service, max_tool_calling_round_trips=2))

    assert len(model.requests) == 3
    assert raised.value.partial.tool_executions[-1].outcome is ToolOutcome.LIMITED


async def test_text_is_told_live_and_calls_while_they_run(service: ToolService) -> None:
    events: list[Event] = []
    await hold(two_rounds(), ToolCallingAdvisor(service), events=events)

    kinds = [
        type(event) for event in events if isinstance(event, RoundStarted | ToolStarted | ToolFinished | ResponseDone)
    ]
    assert kinds == [RoundStarted, ResponseDone, ToolStarted, ToolFinished, RoundStarted, ResponseDone]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Let me look.Sunny."


async def test_hidden_intermediate_text_is_never_told_and_the_answer_is_whole(service: ToolService) -> None:
    events: list[Event] = []
    await hold(two_rounds(), ToolCallingAdvisor(service, intermediate_text="hide"), events=events)

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Sunny."
    last = max(at for at, event in enumerate(events) if isinstance(event, TextDelta))
    assert isinstance(events[-1], ResponseDone) and last < len(events) - 1


async def test_a_turn_that_waits_is_taken_up_once_and_ends_as_if_it_had_not_waited() -> None:
    class Approval:
        decided = False

        async def check(self, batch: list[PlannedCall], run: Run) -> list[Ask | Proceed]:
            return [Proceed() if self.decided else Ask("may it?") for _ in batch]

    approval, outer = Approval(), Watching()
    with ToolService(get_weather, gates=[approval]) as service:
        model = two_rounds()
        advised = await hold(model, outer, ToolCallingAdvisor(service))
        assert advised.suspended is not None and advised.response is None and advised.new_messages == ()

        approval.decided = True
        run = Run()
        run.resume_from(ToolLoopState.from_json(advised.suspended.to_json()))
        after = await hold(model, outer, ToolCallingAdvisor(service), run=run)

    assert after.response is not None and after.response.ai_message.text == "Sunny."
    assert len(after.new_messages) == 3 and len(model.requests) == 2
    assert run.take_resume() is None


async def test_without_tools_the_model_is_asked_once() -> None:
    with ToolService() as service:
        advised = await hold(ScriptedChatModel(["Hello."]), ToolCallingAdvisor(service))

    assert advised.new_messages == (AiMessage("Hello."),)


async def test_what_cannot_go_on_is_said() -> None:
    class Suspending:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return Advised(None, suspended=ToolLoopState())

    with pytest.raises(AdvisorError, match="has no tools to call with"):
        await hold(ScriptedChatModel(["x"]), ToolCallingAdvisor())
    with ToolService() as service, pytest.raises(AdvisorError, match="inside the tool loop suspended"):
        await hold(ScriptedChatModel(["x"]), ToolCallingAdvisor(service), Suspending())


@pytest.mark.parametrize("wrong", [{"history": "none"}, {"intermediate_text": "never"}])
def test_words_that_do_not_exist_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=" or "):
        ToolCallingAdvisor(**wrong)


def test_its_words_say_whose_tools_it_calls() -> None:
    """No address in memory: two of a kind read alike."""
    with ToolService() as service:
        assert repr(ToolCallingAdvisor()) == "ToolCallingAdvisor(the client's tools)"
        assert repr(ToolCallingAdvisor(service)) == "ToolCallingAdvisor(0 tools)"
