"""Section L: sources of tools, the run's data, threads, and who sees a request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Annotated, Any, Protocol

from agentforge import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    Hidden,
    ResponseDone,
    Run,
    ScriptedChatModel,
    TokenUsage,
    ToolContext,
    ToolExecutionRequest,
    ToolOutcome,
    ToolService,
    ai_service,
    system,
    tool,
)
from agentforge.advisor import Advised, Chain, ToolCallingAdvisor
from agentforge.client import ChatClient
from agentforge.model import ChatEvent
from agentforge.model.scripted import call
from agentforge.tool import BoundTool
from tests.anchors.support import ANSWER, FACES, ask, differs, rows, source_of


def look(where: str) -> str:
    "Look somewhere."
    return f"{where}: nothing"


def ring() -> str:
    "Ring the bell."
    return "rung"


class Changing:
    """Offers one tool in the first round and others from the second on."""

    def __init__(self, first: Sequence[Any], then: Sequence[Any]) -> None:
        self._first, self._then = source_of(*first), source_of(*then)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        return await (self._first if run.round == 0 else self._then).tools(run)


@FACES
@rows(292, "a tool that comes later")
async def test_a_tool_that_a_source_adds_is_offered_from_then_on(anchor: int, streamed: bool) -> None:
    turns = [call("look", where="here"), call("ring"), ANSWER]
    done = await ask(turns, tools=[Changing([look], [look, ring])], streamed=streamed)
    offered = [[tool.name for tool in request.parameters.tools] for request in done.requests]
    assert offered == [["look"], ["look", "ring"], ["look", "ring"]]
    assert done.texts == ["here: nothing", "rung"]


@FACES
@differs(293, "it is gone")
async def test_a_tool_that_a_source_takes_back_is_not_offered_any_more(anchor: int, streamed: bool) -> None:
    """And a call of it does not run: permissions may have changed."""
    turns = [call("look", where="here"), call("ring"), ANSWER]
    source = Changing([look, ring], [look])
    with ToolService(source, unknown_tool_strategy="list_known_tools") as service:
        done = await ask(turns, service=service, streamed=streamed)
    offered = [[tool.name for tool in request.parameters.tools] for request in done.requests]
    assert offered == [["look", "ring"], ["look"], ["look"]]
    assert [each.outcome for each in done.result.tool_executions] == [ToolOutcome.OK, ToolOutcome.UNKNOWN_TOOL]


@FACES
@rows(294, "several sources and tools")
async def test_several_sources_and_tools_are_united(anchor: int, streamed: bool) -> None:
    def knock() -> str:
        "Knock."
        return "knocked"

    turns = [[call("look", where="here"), call("ring"), call("knock")], ANSWER]
    done = await ask(turns, tools=[source_of(look), source_of(ring), knock], streamed=streamed)
    assert sorted(tool.name for tool in done.requests[0].parameters.tools) == ["knock", "look", "ring"]
    assert done.texts == ["here: nothing", "rung", "knocked"]


class Basket(dict[str, Any]):
    """A mapping of the application's own."""


class Shop:
    """Tools that share the data of a call, and a source that looks at it; ``seen`` is what the source saw."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    @tool("Put something in.")
    def put(self, item: str, context: ToolContext) -> str:
        basket = context.user_data["basket"]
        assert isinstance(basket, Basket)
        basket[item] = context.state["last"] = item
        return "done"

    @tool("How much is in it.")
    def count(self, basket: Annotated[Basket, Hidden], context: ToolContext) -> str:
        return f"{len(basket)}, last {context.state['last']}"


class Looking:
    """A source that has no tools, and sees for whom it is asked."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        self._shop.seen.append(run.user_data["basket"])
        return ()


SHOPPING: list[Any] = [call("put", item="tea"), call("count"), ANSWER]


def check_shopping(shop: Shop, basket: Basket, requests: Sequence[ChatRequest]) -> None:
    """One tool read what the other wrote, the source saw the same object, and no request holds anything of it."""
    assert basket == {"owner": "anna-4711", "tea": "tea"}
    assert len(requests) == len(shop.seen) == 3 and all(each is basket for each in shop.seen)
    schemas = [tool.parameters.properties for tool in requests[0].parameters.tools]
    assert [list(each) for each in schemas] == [["item"], []]
    assert [message.text for message in requests[2].messages[2::2]] == ["done", "2, last tea"]
    assert not any(word in repr(requests) for word in ("anna-4711", "basket"))


@FACES
@rows(295, "data of the call")
async def test_the_data_of_a_call_reaches_tools_and_sources(anchor: int, streamed: bool) -> None:
    """One tool writes what the next one reads; a type of one's own stays what it is."""
    shop, basket = Shop(), Basket(owner="anna-4711")
    done = await ask(
        SHOPPING,
        tools=[shop, Looking(shop)],
        prepare=lambda prompt: prompt.tool_context(basket=basket),
        streamed=streamed,
    )
    check_shopping(shop, basket, done.requests)


class Clerk(Protocol):
    """A service that is given the data of a call as a parameter, which the model never sees."""

    async def ask(self, message: str, basket: Annotated[Basket, Hidden]) -> str: ...

    def tell(self, message: str, basket: Annotated[Basket, Hidden]) -> AsyncIterator[str]: ...


@FACES
@rows(295, "data of the call, as a parameter of a service")
async def test_a_hidden_parameter_of_a_service_reaches_tools_and_sources(anchor: int, streamed: bool) -> None:
    shop, basket, model = Shop(), Basket(owner="anna-4711"), ScriptedChatModel(SHOPPING)
    async with ChatClient(model, tools=[shop, Looking(shop)]) as client:
        clerk = ai_service(Clerk, client)
        if streamed:
            answer = "".join([text async for text in clerk.tell("question", basket)])
        else:
            answer = await clerk.ask("question", basket)
    assert answer == ANSWER
    check_shopping(shop, basket, model.requests)


@differs(297, "on a thread of its own")
async def test_a_function_that_blocks_never_holds_up_the_event_loop(anchor: int) -> None:
    """One call or many: a sync function runs on a worker thread, an async one on the loop of its run."""
    threads: dict[str, int] = {}

    def blocking() -> str:
        "Blocks."
        threads["sync"] = threading.get_ident()
        return "done"

    async def waiting() -> str:
        "Waits."
        threads["async"] = threading.get_ident()
        return "done"

    await ask([call("blocking"), call("waiting"), ANSWER], tools=[blocking, waiting])
    assert threads["sync"] != threading.get_ident() == threads["async"]


@differs(298, "when the reply is whole")
async def test_no_call_runs_before_its_whole_reply_is_there(anchor: int) -> None:
    """A call that is complete is told; what follows may still show that the reply was cut off."""
    ran: list[str] = []

    async def act() -> str:
        "Acts."
        ran.append("act")
        return "done"

    class Slow(ScriptedChatModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
            async for event in super().stream(request):
                if isinstance(event, ResponseDone):
                    for _ in range(5):
                        await asyncio.sleep(0)
                    told.append(list(ran))
                yield event

    told: list[list[str]] = []
    await ask(Slow([call("act"), ANSWER]), tools=[act], streamed=True)
    assert told == [[], ["act"]]


@FACES
@rows(300, "several rounds")
async def test_executions_are_listed_in_order_and_tokens_summed(anchor: int, streamed: bool) -> None:
    def asked(*names: str) -> ChatResponse:
        requests = [ToolExecutionRequest(f"c-{name}", "look", f'{{"where": "{name}"}}') for name in names]
        return ChatResponse(AiMessage(requests), FinishReason.TOOL_EXECUTION, TokenUsage(10, 1, 11))

    turns = [asked("a", "b"), asked("c"), ChatResponse(AiMessage(ANSWER), FinishReason.STOP, TokenUsage(5, 5, 10))]
    done = await ask(turns, tools=[look], streamed=streamed)
    assert [each.request.id for each in done.result.tool_executions] == ["c-a", "c-b", "c-c"]
    assert done.texts == ["a: nothing", "b: nothing", "c: nothing"]
    assert done.result.token_usage == TokenUsage(25, 7, 32)


@FACES
@rows(301, "an advisor inside the loop")
async def test_an_advisor_inside_the_loop_sees_and_changes_every_request(anchor: int, streamed: bool) -> None:
    class Numbering:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return await chain.next(run, ChatRequest(request.messages, request.parameters.with_(seed=run.round)))

    done = await ask(
        [call("look", where="here"), ANSWER], ToolCallingAdvisor(), Numbering(), tools=[look], streamed=streamed
    )
    assert [request.parameters.seed for request in done.requests] == [0, 1]


class Expert(Protocol):
    """An AI service that is a tool of another."""

    @tool("Ask somebody who knows.")
    @system("You know everything.")
    async def ask_expert(self, question: str) -> str: ...


@FACES
@rows(302, "a service as a tool")
async def test_a_service_is_a_tool_of_another(anchor: int, streamed: bool) -> None:
    """Its answer is the result, as text. It works by itself: it has tools of its own, which the other one is not
    offered, and sees the question and nothing of the other conversation."""
    model = ScriptedChatModel([call("look", where="Rome"), "It is empty."])
    async with ChatClient(model, tools=[look]) as client:
        expert = ai_service(Expert, client)
        turns = [call("ask_expert", question="Rome?"), ANSWER]
        done = await ask(turns, tools=[expert], system="Route.", streamed=streamed)

    assert (done.texts, done.result.text) == (["It is empty."], ANSWER)
    [execution] = done.result.tool_executions
    assert (execution.request.name, execution.result.result) == ("ask_expert", "It is empty.")
    assert [[tool.name for tool in request.parameters.tools] for request in done.requests] == [["ask_expert"]] * 2
    asked, told = model.requests
    assert [message.text for message in asked.messages] == ["You know everything.", "Rome?"]
    assert [tool.name for tool in asked.parameters.tools] == ["look"]
    assert told.messages[-1].text == "Rome: nothing"


@FACES
@rows(302, "a function that asks another client")
async def test_a_client_is_a_tool_of_another(anchor: int, streamed: bool) -> None:
    """By hand: its answer is the result; it has tools of its own, and the same user's data."""
    expert = ChatClient(ScriptedChatModel([call("look", where="Rome"), "It is empty."]), tools=[look])

    async def ask_expert(question: str, context: ToolContext) -> str | None:
        "Ask somebody who knows."
        return (await expert.prompt(question).call(Run(parent=context.run, user_data=context.user_data))).content

    async with expert:
        done = await ask([call("ask_expert", question="Rome?"), ANSWER], tools=[ask_expert], streamed=streamed)
    assert (done.texts, done.result.text) == (["It is empty."], ANSWER)


class Hearing:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def model_calling(self, *_: object) -> None:
        self.told.append("asking")

    def model_called(self, *_: object) -> None:
        self.told.append("asked")

    def tool_calling(self, *_: object) -> None:
        self.told.append("calling")

    def tool_called(self, *_: object) -> None:
        self.told.append("called")


@FACES
@rows(303, "nobody observes")
async def test_without_an_observer_nothing_is_told(anchor: int, streamed: bool) -> None:
    """None is the default: the observer of another client over the same tools and model hears nothing of this one."""
    hearing = Hearing()
    model = ScriptedChatModel([call("look", where="here"), ANSWER], repeat=True)
    with ToolService(look) as service:
        heard = await ask(model, service=service, observer=hearing, streamed=streamed)
        told = sorted(hearing.told)
        unheard = await ask(model, service=service, streamed=streamed)
    assert told == sorted(hearing.told) == ["asked", "asked", "asking", "asking", "called"]
    assert (unheard.result.text, unheard.texts) == (heard.result.text, heard.texts) == (ANSWER, ["here: nothing"])
