"""AI services: an interface in, an object that asks a model out; how its methods ask, and who may share it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import pytest

from agentforge import (
    Advised,
    Chain,
    ChatClient,
    ChatRequest,
    Hidden,
    MemoryId,
    Run,
    ScriptedChatModel,
    ToolContext,
    ai_service,
    system,
    tool,
    user,
)
from agentforge.advisor import AdvisorOrderError, MessageMemoryAdvisor, StructuredOutputError, ToolCallingAdvisor
from agentforge.client import ServiceMethod, service_method
from agentforge.errors import DuplicateToolError, RunTimeoutError, ToolDeclarationError
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey
from agentforge.model import ChatRequestParameters, SystemMessage, UserMessage
from agentforge.testing import call
from tests.unit.client.served import served


@dataclass
class Order:
    """What a customer wants."""

    item: str
    count: int = 1


@tool("Whether there is some of an item.")
def in_stock(item: str, user_id: Annotated[str, Hidden] = "nobody") -> str:
    """Says who asks, too, which a test looks at."""
    return f"{item} for {user_id}: yes"


@tool("The time.")
def now() -> str:
    """It never changes."""
    return "noon"


class Noting:
    """An advisor that notes its name in a list each time."""

    def __init__(self, seen: list[str], name: str, order: int = 0) -> None:
        self.seen, self.name, self.order = seen, name, order

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Notes and passes on."""
        self.seen.append(self.name)
        return await chain.next(run, request)


class Assistant(Protocol):
    """A clerk: a conversation, a choice, a value, and a translation."""

    @system("You are a courteous clerk of {shop}.")
    async def chat(
        self, message: str, memory_id: MemoryId, user_id: Annotated[str, Hidden], *, shop: str = "Tea & Co."
    ) -> str: ...

    def classify(self, message: str) -> Literal["order", "booking", "other"]: ...

    @system("Read orders.")
    async def extract(self, message: str) -> Order: ...

    @user("Translate into {language}: {text}")
    async def translate(self, text: str, language: str) -> str: ...


async def test_an_interface_is_all_that_is_written() -> None:
    """Prompts, tools, memory, hidden values and typed answers together, with one client."""
    memory = ChatMemory(InMemoryStore())
    turns: list[Any] = [
        call("in_stock", item="tea"),
        "We have tea.",
        "As I said, we have tea.",
        '{"value": "order"}',
        '{"item": "tea", "count": 2}',
        "Tee",
    ]
    model = ScriptedChatModel(turns)
    async with ChatClient(
        model, tools=[in_stock], advisors=[MessageMemoryAdvisor(memory, required=False)], system="The client's."
    ) as client:
        assistant = ai_service(Assistant, client)
        assert await assistant.chat("Is there tea?", "m-1", "u-7") == "We have tea."
        assert await assistant.chat("Sure?", "m-1", "u-7", shop="Hill Tea") == "As I said, we have tea."
        assert assistant.classify("I want tea.") == "order"
        assert await assistant.extract("Two teas!") == Order("tea", 2)
        assert await assistant.translate("{tea}", "German") == "Tee"

    requests = [list(request.messages) for request in model.requests]
    assert requests[1][-1].text == "tea for u-7: yes"
    assert [each.text for each in requests[2]] == [
        "You are a courteous clerk of Hill Tea.",
        "Is there tea?",
        "We have tea.",
        "Sure?",
    ]
    assert requests[3] == [SystemMessage("The client's."), UserMessage("I want tea.")]
    assert requests[4] == [SystemMessage("Read orders."), UserMessage("Two teas!")]
    assert requests[5] == [SystemMessage("The client's."), UserMessage("Translate into German: {tea}")]
    assert await memory.list(None) == (MemoryKey(None, "m-1"),)


# -- how a method asks ---------------------------------------------------------------------------


class Two(Protocol):
    """One method with settings of its own, one without."""

    async def plain(self, message: str) -> str: ...

    async def own(self, message: str) -> int: ...


def two_with(**how: Any) -> Any:
    """The interface, with this noted on one of its methods."""

    class Noted(Protocol):
        async def plain(self, message: str) -> str: ...

        @service_method(**how)
        async def own(self, message: str) -> int: ...

    return Noted


def by_note(client: ChatClient, **how: Any) -> Two:
    """By a decorator on the method."""
    service: Two = ai_service(two_with(**how), client)
    return service


def by_argument(client: ChatClient, **how: Any) -> Two:
    """By what is given beside the interface."""
    return ai_service(Two, client, methods={"own": ServiceMethod(**how)})


WAYS = pytest.mark.parametrize("make", [by_note, by_argument])
Make = Callable[..., Two]


@WAYS
async def test_tools_of_a_method_are_offered_beside_the_client_s(make: Make) -> None:
    """To that method alone; and they are called."""
    model = ScriptedChatModel([call("now"), "12", "Hi."])
    async with ChatClient(model, tools=[in_stock]) as client:
        service = make(client, tools=[now])
        assert await service.own("What hour is it?") == 12
        await service.plain("Hello.")

    offered = [[each.name for each in request.parameters.tools] for request in model.requests]
    assert offered == [["in_stock", "now"], ["in_stock", "now"], ["in_stock"]]
    assert model.requests[1].messages[-1].text == "noon"


@WAYS
async def test_advisors_of_a_method_stand_in_its_chain(make: Make) -> None:
    """Each in the place that it asks for, and in the other method's chain not at all."""
    order: list[str] = []
    client = ChatClient(ScriptedChatModel(["3", "Hi."]), advisors=[Noting(order, "listed")])
    service = make(client, advisors=[Noting(order, "inner", 5), Noting(order, "outer", -5)])
    await service.own("?")
    await service.plain("?")

    assert order == ["outer", "listed", "inner", "listed"]


@WAYS
async def test_parameters_of_a_method_go_over_the_client_s(make: Make) -> None:
    """One by one."""
    model = ScriptedChatModel(["3", "Hi."])
    client = ChatClient(model, parameters=ChatRequestParameters(temperature=0.1, seed=7))
    service = make(client, parameters=ChatRequestParameters(temperature=0.9, max_output_tokens=5))
    await service.own("?")
    await service.plain("?")

    own, plain = (request.parameters for request in model.requests)
    assert (own.temperature, own.seed, own.max_output_tokens) == (0.9, 7, 5)
    assert (plain.temperature, plain.seed, plain.max_output_tokens) == (0.1, 7, None)


@WAYS
async def test_a_turn_of_a_method_may_take_its_time_out(make: Make) -> None:
    """Which is not the other method's."""
    service = make(ChatClient(ScriptedChatModel(["Hi."], repeat=True)), timeout=1e-9)
    with pytest.raises(RunTimeoutError):
        await service.own("?")
    assert await service.plain("?") == "Hi."


# the mode, and how the request shows it: form of the response, names of tools, system message
MODES: list[tuple[Any, tuple[str | None, list[str], bool], Any]] = [
    (None, ("json_schema", [], False), '{"value": 3}'),
    ("auto", ("json_schema", [], False), '{"value": 3}'),
    ("native", ("json_schema", [], False), '{"value": 3}'),
    ("tool", (None, ["final_answer"], False), call("final_answer", value=3)),
    ("prompt", ("json", [], True), 'It is {"value": 3}.'),
]


@WAYS
@pytest.mark.parametrize(("mode", "shown", "reply"), MODES)
async def test_a_value_is_asked_for_as_the_mode_says(
    make: Make, mode: Any, shown: tuple[str | None, list[str], bool], reply: Any
) -> None:
    """Whichever it is, the value is the same."""
    model = ScriptedChatModel([reply])
    assert await make(ChatClient(model), mode=mode).own("?") == 3

    [request] = model.requests
    form = request.parameters.response_format
    names = [each.name for each in request.parameters.tools]
    assert (form.type if form is not None else None, names, len(request.messages) == 2) == shown


@WAYS
@pytest.mark.parametrize(("max_reprompts", "asked"), [(None, 3), (0, 1), (1, 2), (4, 5)])
async def test_a_value_is_asked_for_again_as_often_as_the_method_says(
    make: Make, max_reprompts: int | None, asked: int
) -> None:
    """Twice, where it says nothing."""
    model = ScriptedChatModel(["three"], repeat=True)
    with pytest.raises(StructuredOutputError) as raised:
        await make(ChatClient(model), max_reprompts=max_reprompts).own("?")

    assert len(model.requests) == raised.value.attempts == asked
    assert raised.value.text == "three"


async def test_what_is_noted_on_a_class_and_given_beside_it_adds_up() -> None:
    """Tools and advisors of all, parameters one over another, the rest from the nearest that says it."""
    seen: list[str] = []

    @service_method(
        tools=[now], advisors=[Noting(seen, "class")], parameters=ChatRequestParameters(temperature=0.1, seed=1)
    )
    class Desk(Protocol):
        @service_method(tools=[in_stock], advisors=[Noting(seen, "method")], max_reprompts=0)
        @service_method(parameters=ChatRequestParameters(seed=2))
        async def ask(self, message: str) -> int: ...

        async def other(self, message: str) -> int: ...

    @tool("The day.")
    def today() -> str:
        return "Monday"

    model = ScriptedChatModel(["3", "no", "3"])
    how = ServiceMethod(
        tools=[today],
        advisors=[Noting(seen, "given")],
        parameters=ChatRequestParameters(top_p=0.5),
        max_reprompts=1,
    )
    desk = ai_service(Desk, ChatClient(model), methods={"ask": how})
    assert (await desk.ask("?"), await desk.other("?")) == (3, 3)

    first, other, again = (request.parameters for request in model.requests)
    assert [each.name for each in first.tools] == ["now", "in_stock", "today"]
    assert (first.temperature, first.seed, first.top_p) == (0.1, 2, 0.5)
    assert [each.name for each in other.tools] == [each.name for each in again.tools] == ["now"]
    assert (other.temperature, other.seed, other.top_p) == (0.1, 1, None)
    assert seen == ["class", "method", "given", "class"]


FAULTS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"tools": [3]}, ToolDeclarationError, "int"),
    ({"tools": [now, now]}, DuplicateToolError, "'now'"),
    ({"advisors": [ToolCallingAdvisor(), ToolCallingAdvisor()]}, AdvisorOrderError, "one tool advisor"),
]


@WAYS
@pytest.mark.parametrize(("how", "kind", "message"), FAULTS)
def test_tools_and_advisors_that_cannot_be_are_found_when_the_service_is_made(
    make: Make, how: dict[str, Any], kind: type[Exception], message: str
) -> None:
    """No call is needed for that."""
    with pytest.raises(kind, match=message):
        make(ChatClient(ScriptedChatModel(["x"])), **how)


# -- who may share it ----------------------------------------------------------------------------


class Sync(Protocol):
    """Without async."""

    def ask(self, message: str) -> str: ...

    def count(self, message: str) -> int: ...


async def test_tasks_share_a_service() -> None:
    """Each turn has its own messages, run and hidden values."""
    arrived, go_on = asyncio.Queue[str](), asyncio.Event()

    @tool("Waits for the others.")
    async def wait(user_id: Annotated[str, Hidden], context: ToolContext) -> str:
        await arrived.put(user_id)
        await go_on.wait()
        return f"{user_id} in {context.memory_id}"

    class Desk(Protocol):
        async def ask(self, message: str, user_id: Annotated[str, Hidden], memory_id: MemoryId) -> str: ...

    def answer(request: ChatRequest) -> Any:
        last = request.messages[-1]
        return call("wait") if isinstance(last, UserMessage) else f"{request.messages[0].text}: {last.text}"

    desk, _ = served(Desk, *[answer] * 10, tools=[wait])
    tasks = [asyncio.create_task(desk.ask(f"Question {n}", f"u-{n}", f"m-{n}")) for n in range(5)]
    assert {await arrived.get() for _ in tasks} == {f"u-{n}" for n in range(5)}
    go_on.set()

    assert await asyncio.gather(*tasks) == [f"Question {n}: u-{n} in m-{n}" for n in range(5)]


def test_synchronous_methods_wait_themselves() -> None:
    """From several threads at once, too."""
    service, model = served(Sync, *["Hi."] * 4)
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(service.ask("Hello."))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (said, len(model.requests)) == (["Hi."] * 4, 4)


async def test_synchronous_methods_work_inside_a_running_loop() -> None:
    """As in a notebook."""
    with ChatClient(ScriptedChatModel([call("now"), "It is noon.", '{"value": 12}']), tools=[now]) as client:
        service = ai_service(Sync, client)
        assert (service.ask("Time?"), service.count("Hours?")) == ("It is noon.", 12)


async def test_services_share_a_client_that_stays_the_caller_s() -> None:
    """Two interfaces over one; nothing of a method's is left behind in it."""
    model = ScriptedChatModel(["1", "2", "3"])
    async with ChatClient(model, tools=[in_stock]) as client:
        chain = client.chain
        first = ai_service(two_with(tools=[now], advisors=[Noting([], "own")]), client)
        second = ai_service(Two, client)
        assert (await first.own("?"), await second.own("?")) == (1, 2)
        assert (await client.prompt("?").call()).content == "3"

    assert client.chain is chain
    assert [[each.name for each in request.parameters.tools] for request in model.requests] == [
        ["in_stock", "now"],
        ["in_stock"],
        ["in_stock"],
    ]
    assert not hasattr(first, "aclose") and not hasattr(first, "close")


async def test_a_hidden_default_is_the_last_resort_of_a_service_that_is_a_tool_too() -> None:
    """What the outer run has comes first, then what the service's own client has."""

    class Expert(Protocol):
        @tool("Looks for tea.")
        async def look(self, question: str, user_id: Annotated[str, Hidden] = "default") -> str: ...

    cases = [({"user_id": "outer"}, {"user_id": "inner"}), ({}, {"user_id": "inner"}), ({}, {})]
    for (outer, inner), known in zip(cases, ("outer", "inner", "default"), strict=True):
        expert, model = served(Expert, call("in_stock", item="tea"), "Yes.", tools=[in_stock], tool_context=inner)
        asking = ChatClient(ScriptedChatModel([call("look", question="Tea?"), "Yes."]), tools=[expert])
        await asking.prompt("Tea?").tool_context(outer).call()
        assert model.requests[1].messages[-1].text == f"tea for {known}: yes"
