"""`ChatClient`: one model, its tools and a prompt, asked in four ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolService, tool
from agentforge.client import ChatClient
from agentforge.client.observer import CallObserver, ObservedModel
from agentforge.errors import ModelError, RunArgumentError, RunStateError, RunTimeoutError, UnknownToolError
from agentforge.masking import Secrets
from agentforge.model import AiMessage, ChatMessage, ChatRequest, SystemMessage, ToolChoice, UserMessage
from agentforge.model.scripted import call
from agentforge.tool import ToolSource
from agentforge.tool.execution import RunFinished, ToolChatResult, ToolContext

SYSTEM = SystemMessage("Answer shortly.")


@tool
def get_weather(city: str, context: ToolContext) -> str:
    "Current weather of a city."
    return f"{city}: 22 degrees for {context.memory_id}"


def _chat_sync(client: ChatClient, *given: Any, **settings: Any) -> ToolChatResult:
    return client.chat_sync(*given, **settings)


def _stream_sync(client: ChatClient, *given: Any, **settings: Any) -> ToolChatResult:
    with client.stream_sync(*given, **settings) as events:
        last = list(events)[-1]
    assert isinstance(last, RunFinished)
    return last.result


def _chat(client: ChatClient, *given: Any, **settings: Any) -> ToolChatResult:
    return asyncio.run(client.chat(*given, **settings))


def _stream(client: ChatClient, *given: Any, **settings: Any) -> ToolChatResult:
    async def read() -> ToolChatResult:
        async with client.stream(*given, **settings) as events:
            kinds = [event async for event in events]
        assert isinstance(kinds[-1], RunFinished)
        return events.result

    return asyncio.run(read())


WAYS = pytest.mark.parametrize("ask", [_chat, _stream, _chat_sync, _stream_sync])
Ask = Callable[..., ToolChatResult]


def client_of(*turns: Any, **settings: Any) -> tuple[ChatClient, ScriptedChatModel]:
    """A client with one tool and a scripted model."""
    model = ScriptedChatModel(turns)
    return ChatClient(model, tools=[get_weather], **settings), model


@WAYS
def test_a_turn_is_the_same_in_all_four_ways(ask: Ask) -> None:
    """The tool runs with the memory id, and the answer comes."""
    client, _ = client_of(call("get_weather", city="杭州"), "22 degrees.")
    with client:
        result = ask(client, "杭州今天天气怎么样？", memory_id="m1", timeout=30, context={"user": 1})

    assert result.text == "22 degrees."
    assert [item.result_text() for item in result.tool_executions] == ["杭州: 22 degrees for m1"]


@WAYS
def test_the_prompt_is_put_in_front_of_a_new_conversation(ask: Ask) -> None:
    """Once, for a text as for messages."""
    client, model = client_of("One.", "Two.", system="Answer shortly.")
    with client:
        first = ask(client, "Hello")
        ask(client, [*first.messages, UserMessage("And?")])

    assert model.requests[0].messages == (SYSTEM, UserMessage("Hello"))
    assert model.requests[1].messages == (SYSTEM, UserMessage("Hello"), AiMessage("One."), UserMessage("And?"))


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("Hello", [SYSTEM, UserMessage("Hello")]),
        (UserMessage("Hello"), [SYSTEM, UserMessage("Hello")]),
        ([UserMessage("Hello")], [SYSTEM, UserMessage("Hello")]),
        (iter([UserMessage("Hello")]), [SYSTEM, UserMessage("Hello")]),
        ([SystemMessage("Mine."), UserMessage("Hello")], [SystemMessage("Mine."), UserMessage("Hello")]),
    ],
)
async def test_a_system_message_of_the_conversation_stays_alone(given: Any, sent: list[ChatMessage]) -> None:
    """The client's is only for conversations that have none; what was given is not changed."""
    client, model = client_of("One.", system="Answer shortly.")
    before = list(given) if isinstance(given, list) else None
    async with client:
        await client.chat(given)

    assert list(model.requests[0].messages) == sent
    assert before is None or before == given


async def test_without_a_prompt_nothing_is_added() -> None:
    """The messages are sent as they are."""
    client, model = client_of("One.")
    async with client:
        await client.chat("Hello")

    assert model.requests[0].messages == (UserMessage("Hello"),)
    assert client.tool_choice is None and client.system is None


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("required", ToolChoice.REQUIRED),
        ("get_weather", ToolChoice.tool("get_weather")),
        (ToolChoice.REQUIRED, ToolChoice.REQUIRED),
    ],
)
async def test_a_forced_call_holds_for_the_first_round(choice: Any, expected: ToolChoice) -> None:
    """After the call the model may answer; the next turn begins anew."""
    turns = [call("get_weather", city="x"), "Done."]
    client, model = client_of(*turns, *turns, tool_choice=choice)
    async with client:
        first = await client.chat("Weather?")
        await client.chat([*first.messages, UserMessage("And now?")])

    assert client.tool_choice == expected
    asked = [request.parameters.tool_choice for request in model.requests]
    assert asked[0] == asked[2] == expected and expected not in (asked[1], asked[3])


@WAYS
def test_what_the_service_raises_passes_through(ask: Ask) -> None:
    """With a valid history on the error."""
    client, _ = client_of(call("get_wether", city="x"))
    with client, pytest.raises(UnknownToolError) as caught:
        ask(client, "Weather?")

    assert caught.value.partial is not None  # type: ignore[attr-defined]


async def test_a_run_of_the_caller_is_the_run() -> None:
    """Its data and limits hold."""
    client, _ = client_of("One.")
    run = Run(timeout=0.000001)
    async with client:
        with pytest.raises(RunTimeoutError):
            await client.chat("Hello", context=run)


@pytest.mark.parametrize("owned", [True, False])
def test_closing_closes_only_what_is_its_own(owned: bool) -> None:
    """A service that others use stays open, a model always does."""
    service, model = ToolService(get_weather), ScriptedChatModel(["One."])
    closed: list[str] = []
    service.close = lambda: closed.append("service")  # type: ignore[method-assign]
    client = ChatClient(model, service=service, owns_service=owned)
    client.close()

    assert closed == (["service"] if owned else []) and not model.closed
    assert client.model is model and client.service is service


class _Noting:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.asked: list[Any] = []
        self.calling: list[str] = []

    def model_calling(self, model: Any, request: Any) -> None:
        self.asked.append((type(model).__name__, request, len(self.told)))

    def tool_calling(self, request: Any) -> None:
        self.calling.append(request.name)

    def model_called(self, model: Any, request: Any, response: Any, error: Any, seconds: float) -> None:
        self.told.append((type(model).__name__, response.ai_message.text if response else error, seconds >= 0))

    def tool_called(self, execution: Any) -> None:
        self.told.append(execution.request.name)


@WAYS
def test_an_observer_is_told_of_every_call(ask: Ask) -> None:
    """The model it is told of is the model itself; the run is the same as without it."""
    observer = _Noting()
    client, _ = client_of(call("get_weather", city="x"), "Done.", observer=observer)
    with client:
        result = ask(client, "Weather?")

    assert result.text == "Done."
    told = [item for item in observer.told if item != "get_weather"]
    assert told == [("ScriptedChatModel", None, True), ("ScriptedChatModel", "Done.", True)]
    assert observer.told.count("get_weather") == 1
    # Before each answer: of the model itself, and of a request that grows.
    assert [name for name, _, _ in observer.asked] == ["ScriptedChatModel", "ScriptedChatModel"]
    assert [len(request.messages) for _, request, _ in observer.asked] == [1, 3]
    assert observer.asked[0][2] == 0


@WAYS
def test_an_interceptor_tells_an_observer_of_a_call_before_it_runs(ask: Ask) -> None:
    """When the tool's own code starts it has been told; the result is the tool's."""
    observer, seen = _Noting(), []

    def look() -> str:
        "Looks what was told."
        seen.append(list(observer.calling))
        return "seen"

    service = ToolService(look, interceptors=[CallObserver(observer)])
    with ChatClient(ScriptedChatModel([call("look"), "Done."]), service=service, owns_service=True) as client:
        result = ask(client, "?")

    assert seen == [["look"]] == [observer.calling]
    assert [execution.result_text() for execution in result.tool_executions] == ["seen"]


@WAYS
def test_an_observer_is_told_of_a_model_that_fails(ask: Ask) -> None:
    """With the error that ends the run."""
    observer = _Noting()
    client, _ = client_of(ModelError("not now"), observer=observer)
    with client, pytest.raises(ModelError) as caught:
        ask(client, "Weather?")

    assert observer.told == [("ScriptedChatModel", caught.value, True)]


async def test_an_observed_stream_has_the_same_events() -> None:
    """None of them twice, none missing."""
    kinds = []
    for observer in (None, _Noting()):
        client, _ = client_of(call("get_weather", city="x"), "Done.", observer=observer)
        async with client, client.stream("Weather?") as events:
            kinds.append([type(event) async for event in events])

    assert kinds[0] == kinds[1]


async def test_an_observer_is_told_of_the_calls_of_a_run_that_is_cancelled() -> None:
    """What ran has happened, whatever became of the turn; a call that was stopped has its outcome as well."""
    began = asyncio.Event()

    async def look() -> str:
        "Looks."
        return "seen"

    async def wait() -> str:
        "Waits for ever."
        began.set()
        await asyncio.Event().wait()
        return "never"

    observer = _Noting()
    with ToolService(look, wait) as service:
        client = ChatClient(ScriptedChatModel([call("look"), call("wait")]), service=service, observer=observer)
        turn = asyncio.create_task(client.chat("?"))
        await began.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    assert [told for told in observer.told if isinstance(told, str)] == ["look", "wait"]


@WAYS
def test_an_observer_changes_nothing_about_a_context_that_is_refused(ask: Ask) -> None:
    """A mistake is answered as without one, and a run that was used already is not told again."""
    observer = _Noting()
    client, _ = client_of(call("get_weather", city="x"), "Done.", observer=observer)
    run = Run()
    with client:
        with pytest.raises(RunArgumentError, match="context must be a mapping"):
            ask(client, "Weather?", context="user 1")
        ask(client, "Weather?", context=run)
        with pytest.raises(RunStateError):
            ask(client, "Weather?", context=run)

    assert observer.told.count("get_weather") == 1


async def test_the_secrets_of_an_observed_model_are_masked_still() -> None:
    """A model's secrets do not reach it through a tool's failure."""

    def fail() -> str:
        "Fails."
        raise ValueError("the key is sk-123456")

    class Keyed(ScriptedChatModel):
        secrets = Secrets(["sk-123456"])

    model = Keyed([call("fail"), "Sorry."])
    with ToolService(fail) as service:
        result = await ChatClient(model, service=service, observer=_Noting()).chat("?")

    assert result.tool_executions[0].result_text() == "the key is ***"


async def test_an_observed_model_is_in_all_else_the_model() -> None:
    """Its profile, its name, and its end."""
    model = ScriptedChatModel(["One."])
    observed = ObservedModel(model, _Noting())
    await observed.aclose()

    assert observed.profile is model.profile and repr(observed) == repr(model) and model.closed


async def test_a_stream_that_is_closed_early_is_told_without_a_response() -> None:
    """It neither answered nor failed."""
    observer = _Noting()
    events = ObservedModel(ScriptedChatModel(["A long answer in pieces."]), observer).stream(ChatRequest("?"))
    await anext(events)
    await events.aclose()

    assert observer.told == [("ScriptedChatModel", None, True)]


def test_a_client_shows_its_model() -> None:
    """And is no source of tools by mistake."""
    client, model = client_of("One.")
    assert repr(client) == f"ChatClient(model={model!r})"
    assert not isinstance(client, ToolSource)
