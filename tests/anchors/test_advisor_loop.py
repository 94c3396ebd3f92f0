"""Section I, as far as the advisor around the loop goes: hooks, eligibility, limits, and how it gets into a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Run,
    ScriptedChatModel,
    SystemMessage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.advisor import (
    Advised,
    AdvisorOrderError,
    BudgetAdvisor,
    BudgetExceededError,
    Chain,
    ToolCallingAdvisor,
    arranged,
)
from agentforge.client import ChatClient
from agentforge.errors import ConfigurationError, UnknownToolError
from agentforge.model.scripted import call
from agentforge.tool import BoundTool
from tests.anchors.support import ANSWER, FACES, ask, differs, row, rows, source_of


def ring(times: int = 1) -> str:
    "Ring the bell."
    return "rung"


def knock() -> str:
    "Knock."
    return "knocked"


class Hooks(ToolCallingAdvisor):
    """Notes when it is asked."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.log: list[str] = []

    async def before_loop(self, run: Run, request: ChatRequest) -> ChatRequest:
        self.log.append("loop")
        return request

    async def before_round(self, run: Run, number: int, request: ChatRequest) -> ChatRequest:
        self.log.append(f"before {number}")
        return request

    async def after_round(self, run: Run, number: int, response: ChatResponse) -> ChatResponse:
        self.log.append(f"after {number}")
        return response

    async def finish(self, run: Run, advised: Advised) -> Advised:
        self.log.append("finish")
        return advised


@FACES
@rows(234, "hooks of one tool round")
async def test_hooks_are_asked_once_a_turn_and_once_a_round(anchor: int, streamed: bool) -> None:
    loop = Hooks()
    await ask([call("ring"), ANSWER], loop, tools=[ring], streamed=streamed)
    assert loop.log == ["loop", "before 0", "after 0", "before 1", "after 1", "finish"]


class OptionsOfTheRound(ToolCallingAdvisor):
    """Each round has options of its own."""

    async def before_round(self, run: Run, number: int, request: ChatRequest) -> ChatRequest:
        run.attributes["floor"] = number
        return ChatRequest(request.messages, request.parameters.with_(seed=number))


@FACES
@rows(235, "the options are read anew in each round")
async def test_a_hook_changes_the_options_of_its_round_and_the_tools_see_it(anchor: int, streamed: bool) -> None:
    """The request's parameters, and what a source offers and a tool does in this round."""

    class Lift:
        async def tools(self, run: Run) -> Sequence[BoundTool]:
            floor = run.attributes["floor"]

            def where() -> str:
                "Where the lift is."
                return f"floor {floor}"

            return await source_of(where).tools(run)

    done = await ask([call("where"), call("where"), ANSWER], OptionsOfTheRound(), tools=[Lift()], streamed=streamed)
    assert [request.parameters.seed for request in done.requests] == [0, 1, 2]
    assert done.texts == ["floor 0", "floor 1"]


@FACES
@rows(232, "an eligibility check that is always false")
async def test_calls_that_are_not_eligible_are_handed_back(anchor: int, streamed: bool) -> None:
    """As they came; nothing ran, and the model is asked once."""
    loop = ToolCallingAdvisor(runs=lambda response: False)
    done = await ask([call("ring")], loop, tools=[ring], streamed=streamed)
    assert [asked.name for asked in done.result.final_response.ai_message.tool_execution_requests] == ["ring"]
    assert (len(done.requests), done.texts, done.result.messages) == (1, [], (UserMessage("question"),))


@FACES
@differs(236, "the call goes with its result")
async def test_without_the_history_a_round_has_what_is_new(anchor: int, streamed: bool) -> None:
    """The instructions, the call and its result, as a provider refuses a result alone. The turn is whole all the
    same."""
    given = [SystemMessage("be brief"), UserMessage("ring!")]
    done = await ask(
        [call("ring"), ANSWER], ToolCallingAdvisor(history="last"), tools=[ring], question=given, streamed=streamed
    )
    assert [type(message) for message in done.requests[1].messages] == [
        SystemMessage,
        AiMessage,
        ToolExecutionResultMessage,
    ]
    assert len(done.result.messages) == 5


@differs(238, "an order number is a number")
async def test_every_order_number_is_a_place(anchor: int) -> None:
    """None stands for an end; who wants that says so, and of several that do the number decides."""

    class Placed:
        def __init__(self, name: str, order: int, **wishes: Any) -> None:
            self.name, self.order = name, order
            self.__dict__.update(wishes)

        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return await chain.next(run, request)

    ends = [Placed("lowest", -(2**31)), Placed("highest", 2**31 - 1)]
    wishes = [Placed("second", 2, outermost=True), Placed("first", 1, outermost=True)]
    links = arranged([Placed("listed", 0)], [*ends, *wishes])
    assert [link.name for link in links] == ["first", "second", "lowest", "listed", "highest"]


# -- limits --------------------------------------------------------------------------------------


def earlier(name: str, times: int) -> list[Any]:
    """A turn of before with so many calls."""
    messages: list[Any] = [UserMessage("before")]
    for at in range(times):
        messages += [
            AiMessage([ToolExecutionRequest(f"e{at}", name)]),
            ToolExecutionResultMessage(f"e{at}", name, "done"),
        ]
    return [*messages, AiMessage("done")]


EXCEEDED = [
    row(242, "one tool", {"calls_per_tool": {"ring": 40}}, [], [("ring", 40)], "ring", "calls:ring", 40),
    row(243, "all tools", {"calls": 150}, [], [("knock", 150)], "ring", "calls", 150),
    row(248, "of this turn", {"calls_per_tool": 3}, earlier("ring", 3), [("ring", 3)], "ring", "calls:ring", 3),
]


@FACES
@pytest.mark.parametrize(("limits", "before", "ran", "last", "limit", "allowed"), EXCEEDED)
async def test_a_call_too_many_ends_the_turn_with_all_that_was_done(
    limits: dict[str, Any],
    before: Sequence[Any],
    ran: Sequence[tuple[str, int]],
    last: str,
    limit: str,
    allowed: int,
    streamed: bool,
) -> None:
    """It names the tool where its own limit is meant; the call too many did not run."""
    turns = [[call(name)] * 10 for name, count in ran for _ in range(count // 10)] or [[call("ring")] * 3]
    budget = BudgetAdvisor(**limits)
    with pytest.raises(BudgetExceededError) as caught:
        await ask(
            [*turns, call(last), ANSWER],
            budget,
            tools=[ring, knock],
            question=[*before, UserMessage("go on")],
            streamed=streamed,
        )
    assert (caught.value.limit, caught.value.used, caught.value.allowed) == (limit, allowed, allowed)
    assert ("ring" in caught.value.message) == (limit == "calls:ring")
    executions = caught.value.partial.tool_executions  # type: ignore[attr-defined]
    assert [each.outcome for each in executions] == [ToolOutcome.OK] * allowed + [ToolOutcome.LIMITED]


@FACES
@rows(246, "no limit by itself")
async def test_without_a_budget_no_number_of_calls_is_too_many(anchor: int, streamed: bool) -> None:
    """The rounds of the loop have their bound all the same."""
    done = await ask([*[[call("ring")] * 10] * 20, ANSWER], tools=[ring], streamed=streamed)
    assert (len(done.texts), done.result.text) == (200, ANSWER)


@FACES
@rows(247, "an earlier turn")
async def test_calls_of_an_earlier_turn_are_not_counted(anchor: int, streamed: bool) -> None:
    given = [*earlier("ring", 60), UserMessage("again")]
    budget = BudgetAdvisor(calls=2, calls_per_tool=2)
    done = await ask([[call("ring")] * 2, ANSWER], budget, tools=[ring], question=given, streamed=streamed)
    assert done.result.text == ANSWER


# -- how it gets into a chain --------------------------------------------------------------------


class Brings:
    """Puts a tool into the run."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        run.sources = (*run.sources, source_of(ring))
        return await chain.next(run, request)


PRESENT: list[Any] = [
    row(249, "tools", [call("ring"), ANSWER], [], {"tools": [ring]}, 2, ["rung"]),
    row(250, "no tools", [ANSWER], [], {}, 1, []),
    row(251, "tools of an advisor", [call("ring"), ANSWER], [Brings()], {}, 2, ["rung"]),
    row(
        252,
        "tools of the call alone",
        [call("ring"), ANSWER],
        [],
        {"prepare": lambda prompt: prompt.tools(ring)},
        2,
        ["rung"],
    ),
]


@FACES
@pytest.mark.parametrize(("turns", "advisors", "settings", "requests", "texts"), PRESENT)
async def test_the_tool_advisor_is_there_by_itself(
    turns: list[Any], advisors: list[Any], settings: dict[str, Any], requests: int, texts: list[str], streamed: bool
) -> None:
    done = await ask(turns, *advisors, streamed=streamed, **settings)
    assert (len(done.requests), done.texts, done.result.text) == (requests, texts, ANSWER)


@FACES
@differs(252, "declarations without executors")
async def test_tools_in_the_parameters_are_declarations(anchor: int, streamed: bool) -> None:
    """The model is told of them, and a call of one goes to the strategy for unknown tools; a tool that runs here is
    given as a tool."""
    declared = ToolSpecification("ring", "Rings.", ToolParameters.builder().build())
    parameters = ChatRequestParameters(tools=[declared])
    with pytest.raises(UnknownToolError, match="has no executor here"):
        await ask([call("ring")], parameters=parameters, streamed=streamed)


@FACES
@rows(253, "switched off")
async def test_switched_off_calls_are_handed_back(anchor: int, streamed: bool) -> None:
    done = await ask([call("ring")], tools=[ring], tool_calling=False, streamed=streamed)
    assert done.result.final_response.ai_message.has_tool_execution_requests
    assert (len(done.requests), done.texts) == (1, [])


class Own:
    """A tool advisor by its marker alone."""

    calls_tools = True

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        return await chain.next(run, request)


OWN: list[Any] = [row(254, "the built-in one", ToolCallingAdvisor), row(254, "one by its marker", Own)]


@pytest.mark.parametrize("make", OWN)
def test_where_one_is_listed_no_second_one_is_added(make: Callable[[], Any]) -> None:
    client = ChatClient(ScriptedChatModel([ANSWER]), tools=[ring], advisors=[make()])
    assert len(client.chain) == 1


@rows(255, "two of them")
def test_two_tool_advisors_are_refused_when_the_client_is_made(anchor: int) -> None:
    with pytest.raises(AdvisorOrderError, match="'tool_calling', 'own'") as caught:
        ChatClient(ScriptedChatModel([ANSWER]), advisors=[ToolCallingAdvisor(), Own()])
    assert isinstance(caught.value, ConfigurationError)
