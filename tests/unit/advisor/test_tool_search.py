"""Few tools shown, the others found: what is offered when, what may be called, and what a conversation keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.advisor import (
    Advised,
    AdvisorOrderError,
    BudgetAdvisor,
    Chain,
    MessageMemoryAdvisor,
    ToolCallingAdvisor,
    ToolSearchAdvisor,
)
from agentforge.client import ChatClient
from agentforge.errors import (
    ConfigurationError,
    DuplicateToolError,
    OverloadedError,
    ToolExecutionError,
    UnknownToolError,
)
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey
from agentforge.model import AiMessage, ChatRequest, ToolChoice, ToolExecutionRequest, ToolSpecification, UserMessage
from agentforge.model.scripted import call
from agentforge.tool import BoundTool, StaticTools
from agentforge.tool.execution import Run, ToolOutcome, bound_tools_from
from agentforge.tool.search import ToolIndex
from tests.unit.advisor.combining import BOTH, KEY, Approval, Twice, ask
from tests.unit.advisor.searching import TOOLS, cancel_order, get_weather, list_rooms, offered, search


class Listing:
    """A source that counts how often it is asked, and makes its list anew each time."""

    def __init__(self, *functions: Any) -> None:
        self.asked = 0
        self._functions = functions

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        self.asked += 1
        return [tool for each in self._functions for tool in bound_tools_from(each)]


# -- what is offered -----------------------------------------------------------------------------


@BOTH
async def test_a_found_tool_is_offered_from_the_next_round_on(streamed: bool) -> None:
    """With those that are always shown, in the order in which the tools were given."""
    model = ScriptedChatModel([search("cancel an order"), call("cancel_order", order_id="7"), "Done."])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor(always=["list_*"])]) as client:
        done = await ask(client, "Cancel order 7.", streamed=streamed)

    assert offered(model.requests) == [
        ["search_tools", "list_rooms"],
        ["search_tools", "cancel_order", "list_rooms"],
        ["search_tools", "cancel_order", "list_rooms"],
    ]
    assert [each.result_text() for each in done.tool_executions] == [
        "Found 1 tool, which you can call from now on:\n- cancel_order: Cancel an order.",
        "7 is cancelled",
    ]
    assert done.tool_executions[0].result.attributes == {"found": ["cancel_order"]}


@BOTH
@pytest.mark.parametrize("where", ["the service", "the call", "a source of the call", "a source that looks at the run"])
async def test_tools_from_anywhere_are_searched(where: str, streamed: bool) -> None:
    source = Listing(*TOOLS)
    registered: dict[str, list[Any]] = {"the service": [*TOOLS], "a source that looks at the run": [source]}
    of_the_call: dict[str, list[Any]] = {"the call": [*TOOLS], "a source of the call": [source]}
    held, given = registered.get(where, []), of_the_call.get(where, [])
    model = ScriptedChatModel([search("weather"), call("get_weather", city="Oslo"), "Sunny."])
    async with ChatClient(model, tools=held, advisors=[ToolSearchAdvisor()]) as client:
        prompt = client.prompt("Weather?").tools(*given)
        if streamed:
            async with prompt.stream() as events:
                async for _ in events:
                    pass
        else:
            await prompt.call()

    assert offered(model.requests) == [["search_tools"], *[["search_tools", "get_weather"]] * 2]
    assert source.asked == (3 if "source" in where else 0)  # once a round; a search asks nobody


@BOTH
async def test_several_searches_of_one_reply_add_up(streamed: bool) -> None:
    both = AiMessage(
        [
            ToolExecutionRequest(f"c{at}", "search_tools", f'{{"query": "{what}"}}')
            for at, what in enumerate(("hotel", "order"))
        ]
    )
    model = ScriptedChatModel([both, "Done."])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor(accumulate=False)]) as client:
        await ask(client, "Both?", streamed=streamed)
    assert offered(model.requests)[-1] == ["search_tools", "cancel_order", "list_rooms"]


async def test_a_tool_that_no_source_offers_any_more_is_not_offered() -> None:
    source = Listing(cancel_order)
    model = ScriptedChatModel([search("order"), search("room"), "Done."])
    real = source.tools

    async def tools(run: Run) -> Sequence[BoundTool]:
        return [] if source.asked > 1 else await real(run)

    source.tools = tools  # type: ignore[method-assign]
    async with ChatClient(model, tools=[source], advisors=[ToolSearchAdvisor()]) as client:
        await client.prompt("Cancel?").call()
    assert offered(model.requests) == [["search_tools"], ["search_tools", "cancel_order"], ["search_tools"]]


# -- what may be called --------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("first", ["alone", "in the reply of the search"])
async def test_a_hidden_tool_cannot_be_called(first: str, streamed: bool) -> None:
    """It is unknown, and so it is in the reply that searches for it."""
    asked = [ToolExecutionRequest("c1", "cancel_order", '{"order_id": "7"}')]
    if first != "alone":
        asked.insert(0, ToolExecutionRequest("c0", "search_tools", '{"query": "order"}'))
    model = ScriptedChatModel([AiMessage(asked), "Done."])
    async with ChatClient(
        model,
        service=ToolService(*TOOLS, unknown_tool_strategy="list_known_tools"),
        advisors=[ToolSearchAdvisor()],
    ) as client:
        done = await ask(client, "Cancel!", streamed=streamed)
    refused = done.tool_executions[-1] if first == "alone" else done.tool_executions[1]
    assert refused.outcome is ToolOutcome.UNKNOWN_TOOL
    assert "search_tools" in refused.result_text() and "get_weather" not in refused.result_text()


async def test_by_default_the_call_of_a_hidden_tool_ends_the_turn() -> None:
    model = ScriptedChatModel([call("cancel_order", order_id="7")])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor()]) as client:
        with pytest.raises(UnknownToolError):
            await client.prompt("Cancel!").call()


CHOICES = [
    ("cancel_order", [["search_tools", "cancel_order"], ["search_tools", "cancel_order"]]),
    (ToolChoice.allowed(["cancel_order"]), [["search_tools", "cancel_order"]] * 2),
    ("required", [["search_tools"], ["search_tools"]]),
    ("none", [["search_tools"]]),
]


@BOTH
@pytest.mark.parametrize(("choice", "names"), CHOICES)
async def test_a_tool_that_the_choice_names_is_offered(choice: Any, names: list[list[str]], streamed: bool) -> None:
    first = {"required": search("satellites"), "none": None}.get(choice, call("cancel_order", order_id="7"))
    model = ScriptedChatModel([each for each in (first, "Done.") if each is not None])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor()], tool_choice=choice) as client:
        await ask(client, "Cancel!", streamed=streamed)
    assert offered(model.requests) == names


# -- the search itself ---------------------------------------------------------------------------

LIMITS = [({}, 2), ({"max_results": 1}, 1), ({"max_results": 3}, 3), ({"max_results": 0}, 1), ({"max_results": 99}, 20)]


@pytest.mark.parametrize(("more", "count"), LIMITS)
async def test_the_models_own_number_goes_over_the_advisors(more: dict[str, int], count: int) -> None:
    """From 1 to 20."""
    tools = StaticTools([bound for number in range(30) for bound in bound_tools_from(_named(f"look_{number}"))])
    model = ScriptedChatModel([search("look", **more), "Done."])
    async with ChatClient(model, tools=[tools], advisors=[ToolSearchAdvisor(max_results=2)]) as client:
        await client.prompt("Look!").call()
    assert len(offered(model.requests)[1]) == 1 + count


def _named(name: str) -> Any:
    def look() -> str:
        "Look."
        return "seen"

    look.__name__ = look.__qualname__ = name
    return look


async def test_of_too_many_found_tools_the_oldest_go() -> None:
    model = ScriptedChatModel([search("order"), search("weather"), search("order"), search("hotel"), "Done."])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor(max_found=2)]) as client:
        await client.prompt("All of it?").call()
    assert [names[1:] for names in offered(model.requests)][-2:] == [
        ["cancel_order", "get_weather"],
        ["cancel_order", "list_rooms"],
    ]


class Wrong:
    """An index that finds what it was not given."""

    def rebuild(self, specifications: Sequence[ToolSpecification]) -> ToolIndex:
        return self

    async def search(self, query: str, limit: int) -> Sequence[str]:
        if query == "fail":
            raise ToolExecutionError("the index is away")
        return ["stranger"]


@pytest.mark.parametrize(("query", "text"), [("anything", "the index found 'stranger'"), ("fail", "the index is away")])
async def test_an_index_that_fails_is_a_failed_call(query: str, text: str) -> None:
    """Told to the model as any tool's failure."""
    model = ScriptedChatModel([search(query), "Done."])
    async with ChatClient(
        model,
        service=ToolService(*TOOLS, execution_error_handler="return_to_model"),
        advisors=[ToolSearchAdvisor(Wrong())],
    ) as client:
        done = await client.prompt("?").call()
    assert done.tool_executions[0].outcome is ToolOutcome.FAILED and text in done.tool_executions[0].result_text()


# -- the conversation ----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("place", ["outside of the memory", "inside of it", "a memory inside the loop"])
async def test_what_was_found_stays_for_the_conversation(place: str, streamed: bool) -> None:
    """In its memory's state, wherever that stands. A memory inside the loop is opened by the first request, and so
    knows from the second on."""
    memory = ChatMemory(InMemoryStore())
    kept, found = MessageMemoryAdvisor(memory), ToolSearchAdvisor()
    chain: list[Any] = {
        "outside of the memory": [found, kept],
        "inside of it": [kept, found],
    }.get(place, [found, ToolCallingAdvisor(history="last"), kept])
    model = ScriptedChatModel(
        [search("order"), "Found.", search("satellites"), call("cancel_order", order_id="7"), "!"]
    )
    async with ChatClient(model, tools=TOOLS, advisors=chain) as client:
        await ask(client, "Which?", streamed=streamed)
        conversation = await memory.get(KEY)
        assert conversation is not None and conversation.state == {"tool_search": ["cancel_order"]}
        await ask(client, "Cancel!", streamed=streamed)
    names = ["search_tools", "cancel_order"]
    first = ["search_tools"] if "loop" in place else names
    assert offered(model.requests)[2:] == [first, names, names]


NOTED = [
    (["cancel_order", "gone"], ["cancel_order"]),
    (["search_tools", "get_weather"], ["get_weather"]),
    ("cancel_order", []),
    (None, []),
    ([1, None, "list_rooms"], ["list_rooms"]),
]


@pytest.mark.parametrize(("noted", "names"), NOTED)
async def test_what_a_memory_says_and_no_source_knows_is_ignored(noted: Any, names: list[str]) -> None:
    memory = ChatMemory(InMemoryStore())
    async with memory.turn(MemoryKey(None, "m1")) as turn:
        turn.state["tool_search"] = noted
        await turn.commit([*_said("Hello?", "Hello.")])
    model = ScriptedChatModel(["Done."])
    async with ChatClient(model, tools=TOOLS, advisors=[MessageMemoryAdvisor(memory), ToolSearchAdvisor()]) as client:
        await ask(client, "And now?")
    assert offered(model.requests) == [["search_tools", *names]]


def _said(question: str, answer: str) -> list[Any]:
    return [UserMessage(question), AiMessage(answer)]


async def test_without_a_memory_each_turn_begins_anew() -> None:
    model = ScriptedChatModel([search("order"), "Found.", "Hello."])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor()]) as client:
        await client.prompt("Which?").call()
        await client.prompt("Hello?").call()
    assert offered(model.requests)[-1] == ["search_tools"]


@BOTH
@pytest.mark.parametrize("remembered", [True, False])
async def test_a_turn_that_waited_goes_on_with_what_it_had_found(remembered: bool, streamed: bool) -> None:
    memory, decided, found = ChatMemory(InMemoryStore()), False, ToolSearchAdvisor()
    model = ScriptedChatModel([search("order"), call("cancel_order", order_id="7"), "Done."])
    chain: list[Any] = [MessageMemoryAdvisor(memory), found] if remembered else [found]

    class Later(Approval):
        async def check(self, batch: Sequence[Any], run: Run) -> Sequence[Any]:
            self.decided = decided or batch[0].name == "search_tools"
            return await super().check(batch, run)

    async with ChatClient(model, advisors=chain, service=ToolService(*TOOLS, gates=[Later()])) as client:
        waiting = await ask(client, "Cancel!", streamed=streamed)
        assert waiting.suspended is not None
        decided = True
        done = await ask(client, "Cancel!", streamed=streamed, resume=waiting.suspended)
    assert done.text == "Done." and done.tool_executions[-1].result_text() == "7 is cancelled"
    assert offered(model.requests)[-1] == ["search_tools", "cancel_order"]


# -- beside other advisors -----------------------------------------------------------------------


@BOTH
async def test_a_second_attempt_still_has_what_the_first_one_found(streamed: bool) -> None:
    model = ScriptedChatModel([search("order"), "First.", "Second."])
    async with ChatClient(model, tools=TOOLS, advisors=[Twice(), ToolSearchAdvisor()]) as client:
        await ask(client, "Which?", streamed=streamed)
    assert offered(model.requests)[-1] == ["search_tools", "cancel_order"]


class Again:
    """Asks once more where the model failed."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        try:
            return await chain.next(run, request)
        except OverloadedError:
            return await chain.again(run, request, "it failed")


@BOTH
async def test_what_an_attempt_found_that_failed_is_kept_by_the_next_one(streamed: bool) -> None:
    """The memory threw the failed attempt away; what is offered in the second one is its conversation's."""
    memory = ChatMemory(InMemoryStore())
    model = ScriptedChatModel([search("order"), OverloadedError("busy"), "Done.", "Hello."])
    chain: list[Any] = [Again(), MessageMemoryAdvisor(memory), ToolSearchAdvisor()]
    async with ChatClient(model, tools=TOOLS, advisors=chain) as client:
        await ask(client, "Which?", streamed=streamed)
        await ask(client, "Hello?", streamed=streamed)
    assert offered(model.requests) == [["search_tools"], *[["search_tools", "cancel_order"]] * 3]


@BOTH
@pytest.mark.parametrize("outer", ["budget", "tool search"])
async def test_a_search_is_a_call_of_the_budget(outer: str, streamed: bool) -> None:
    model = ScriptedChatModel([search("order"), call("cancel_order", order_id="7"), "Enough."])
    budget = BudgetAdvisor(calls=1, on_limit="finish")
    chain: list[Any] = [budget, ToolSearchAdvisor()] if outer == "budget" else [ToolSearchAdvisor(), budget]
    async with ChatClient(model, tools=TOOLS, advisors=chain) as client:
        done = await ask(client, "Cancel!", streamed=streamed)
    assert [each.outcome for each in done.tool_executions] == [ToolOutcome.OK, ToolOutcome.LIMITED]
    assert done.text == "Enough."


async def test_a_run_is_left_as_it_was() -> None:
    run = Run()
    model = ScriptedChatModel(["Done."])
    async with ChatClient(model, tools=TOOLS, advisors=[ToolSearchAdvisor()]) as client:
        await client.prompt("?").call(run)
    assert run.selectors == ()


async def test_without_a_tool_loop_nothing_is_said_of_a_search() -> None:
    model = ScriptedChatModel(["Done."])
    async with ChatClient(model, advisors=[ToolSearchAdvisor()], tool_calling=False) as client:
        await client.prompt("?").call()
    assert len(model.requests[0].messages) == 1 and model.requests[0].parameters.tools == ()


def test_it_cannot_stand_inside_of_the_loop() -> None:
    with pytest.raises(AdvisorOrderError):
        ChatClient(ScriptedChatModel(["!"]), advisors=[ToolCallingAdvisor(), ToolSearchAdvisor()])


async def test_a_tool_may_not_have_the_name_of_the_search_tool() -> None:
    model = ScriptedChatModel(["Done."])
    own = _named("search_tools")
    async with ChatClient(model, tools=[own], advisors=[ToolSearchAdvisor()]) as client:
        with pytest.raises(DuplicateToolError, match="name of the search tool"):
            await client.prompt("?").call()
    async with ChatClient(model, tools=[own], advisors=[ToolSearchAdvisor(tool_name="find")]) as client:
        await client.prompt("?").call()
    assert offered(model.requests) == [["find"]]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"max_results": 0}, "max_results is a whole number from 1 to 20, not 0"),
    ({"max_results": 21}, "max_results is a whole number from 1 to 20, not 21"),
    ({"max_results": True}, "max_results is a whole number"),
    ({"max_found": 0}, "max_found is a whole number from 1, not 0"),
    ({"index": "regex"}, "index is 'bm25', 'keyword' or an object"),
    ({"index": Wrong}, "index is 'bm25', 'keyword' or an object"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ToolSearchAdvisor(**settings)


# -- selectors without the advisor ---------------------------------------------------------------


async def test_a_run_may_choose_among_its_tools_itself() -> None:
    """Selectors are asked before each request, one after the other; they may take away and add."""
    model = ScriptedChatModel([call("get_weather", city="Oslo"), "Done."])
    [more] = bound_tools_from(list_rooms)
    seen: list[list[str]] = []

    def first(tools: Sequence[BoundTool], run: Run) -> Sequence[BoundTool]:
        seen.append([each.name for each in tools])
        return [each for each in tools if each.name != "cancel_order"]

    run = Run()
    run.selectors = (first, lambda tools, run: [*tools, more])
    with ToolService(cancel_order, get_weather) as service:
        await service.chat(model, None, "Weather?", context=run)
    assert offered(model.requests) == [["get_weather", "list_rooms"]] * 2
    assert seen == [["cancel_order", "get_weather"]] * 2
