"""A turn of an AI service that waits for a decision: how each kind of method says so, and how it goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import pytest

from agentforge import ChatRequest, Hidden, MemoryId, Result, Run, ToolChatResult, ToolContext, system, tool
from agentforge.client import ServiceSuspendedError, resuming
from agentforge.errors import RunArgumentError, RunError, RunStateError
from agentforge.model import Event, TextDelta, UserMessage
from agentforge.testing import call
from agentforge.tool.execution import RunEvent, RunFinished, RunStream, RunSuspended, ToolLoopState
from tests.unit.client.served import served, waiting


@dataclass
class Receipt:
    """A value."""

    paid: int


class Desk(Protocol):
    """A method of every kind."""

    async def text(self, message: str) -> str: ...

    async def value(self, message: str) -> Receipt: ...

    async def optional(self, message: str) -> Receipt | None: ...

    async def nothing(self, message: str) -> None: ...

    def text_now(self, message: str) -> str: ...

    def value_now(self, message: str) -> Receipt: ...

    def texts(self, message: str) -> AsyncIterator[str]: ...

    async def texts_later(self, message: str) -> AsyncIterator[str]: ...

    def deltas(self, message: str) -> AsyncIterator[TextDelta]: ...

    def texts_now(self, message: str) -> Iterator[str]: ...

    async def result(self, message: str) -> Result[Receipt]: ...

    def result_now(self, message: str) -> Result[str]: ...

    async def turn(self, message: str) -> ToolChatResult: ...

    def events(self, message: str) -> AsyncIterator[RunEvent]: ...

    def ends(self, message: str) -> AsyncIterator[TextDelta | RunSuspended]: ...

    def finished_now(self, message: str) -> Iterator[RunFinished]: ...

    def stream(self, message: str) -> RunStream: ...


@tool("Pays.")
def pay(amount: int) -> str:
    """What has to be agreed to."""
    return f"{amount} paid"


async def taken(given: Any) -> Any:
    """What a method gives, an iterator as the list of its items and a stream as its result."""
    if hasattr(given, "__await__"):
        given = await given
    if isinstance(given, RunStream):
        async with given as events:
            async for _ in events:
                pass
        return given.result
    if isinstance(given, Iterator):
        return list(given)
    return [each async for each in given] if isinstance(given, AsyncIterator) else given


def desk(answer: str = '{"paid": 3}') -> Any:
    """The service, its model and its gate; the model pays first."""
    return waiting(Desk, call("pay", amount=3), answer, tools=[pay])


RAISING = [
    "text",
    "value",
    "optional",
    "nothing",
    "text_now",
    "value_now",
    "texts",
    "texts_later",
    "deltas",
    "texts_now",
]
ANSWERS: dict[str, Any] = {
    "text": '{"paid": 3}',
    "value": Receipt(3),
    "optional": Receipt(3),
    "nothing": None,
    "text_now": '{"paid": 3}',
    "value_now": Receipt(3),
    "texts": '{"paid": 3}',
    "texts_later": '{"paid": 3}',
    "texts_now": '{"paid": 3}',
}


@pytest.mark.parametrize("name", RAISING)
async def test_a_type_without_a_place_for_it_raises(name: str) -> None:
    """The error has the state, and what there is of the turn; nothing has run."""
    service, model, _ = desk()
    with pytest.raises(ServiceSuspendedError) as raised:
        await taken(getattr(service, name)("Pay three."))

    error = raised.value
    assert error.message == f"the turn of {name!r} waits for a decision: 'may pay run?'"
    assert error.next_step == (
        "Decide, and call resuming(service.method, error.state)(...) with the same arguments; or let the method return "
        "Result[T], which says so."
    )
    assert error.code == "AF513" and isinstance(error, RunError)
    assert [ask.reason for ask in error.state.waiting.values()] == ["may pay run?"]
    assert error.reply is not None and error.reply.suspended is error.state
    assert list(error.reply.messages) == [UserMessage("Pay three.")]
    assert (error.reply.tool_executions, len(model.requests)) == ((), 1)


@pytest.mark.parametrize("through_json", [False, True])
@pytest.mark.parametrize("name", ANSWERS)
async def test_resuming_gives_what_the_method_gives(name: str, through_json: bool) -> None:
    """Called with the same arguments; the state may have been a text meanwhile, and another service take it up."""
    service, model, gate = desk()
    with pytest.raises(ServiceSuspendedError) as raised:
        await taken(getattr(service, name)("Pay three."))
    state = raised.value.state
    if through_json:
        state = ToolLoopState.from_json(json.loads(json.dumps(state.to_json())))
        service, model, gate = waiting(Desk, '{"paid": 3}', tools=[pay])
    gate.agreed = True
    answer = await taken(resuming(getattr(service, name), state)("Pay three."))

    assert ("".join(answer) if isinstance(answer, list) else answer) == ANSWERS[name]
    assert len(model.requests) == (1 if through_json else 2)
    assert [each.text for each in model.requests[-1].messages] == ["Pay three.", None, "3 paid"]


def _of_result(result: Any) -> ToolLoopState | None:
    assert result.content is None and result.finish_reason is None and list(result.citations) == []
    state: ToolLoopState | None = result.suspended
    return state


def _of_events(events: list[Event]) -> ToolLoopState | None:
    told = [each for each in events if isinstance(each, RunSuspended)]
    last = events[-1]
    if not isinstance(last, RunFinished):
        assert [each.waiting for each in told] == [{0: "may pay run?"}]
        return None
    return last.result.suspended


# the method, and how it says that the turn waits: the state, where there is a place for it
SAYING: list[tuple[str, Callable[[Any], ToolLoopState | None]]] = [
    ("result", _of_result),
    ("result_now", _of_result),
    ("turn", lambda turn: turn.suspended),
    ("events", _of_events),
    ("ends", _of_events),
    ("finished_now", _of_events),
    ("stream", lambda turn: turn.suspended),
]


@pytest.mark.parametrize(("name", "state_of"), SAYING)
async def test_a_type_with_a_place_for_it_says_so(name: str, state_of: Any) -> None:
    """And goes on with the state that it has."""
    service, model, gate = desk()
    state = state_of(await taken(getattr(service, name)("Pay three.")))
    if name == "ends":
        assert state is None
        return

    assert [ask.reason for ask in state.waiting.values()] == ["may pay run?"]
    gate.agreed = True
    again = await taken(resuming(getattr(service, name), state)("Pay three."))
    turn = again[-1].result if isinstance(again, list) else getattr(again, "turn", again)
    assert (turn.text, turn.suspended, len(model.requests)) == ('{"paid": 3}', None, 2)
    assert [each.result_text() for each in turn.tool_executions] == ["3 paid"]
    if name == "result":
        assert again.content == Receipt(3)


async def test_a_turn_may_wait_more_than_once() -> None:
    """Each time with a state of its own."""

    def pay_again(request: ChatRequest) -> Any:
        gate.agreed = False
        return call("pay", amount=2)

    service, model, gate = waiting(Desk, call("pay", amount=1), pay_again, "Paid.", tools=[pay])
    with pytest.raises(ServiceSuspendedError) as first:
        await service.text("Pay.")
    gate.agreed = True
    with pytest.raises(ServiceSuspendedError) as second:
        await resuming(service.text, first.value.state)("Pay.")
    gate.agreed = True

    assert await resuming(service.text, second.value.state)("Pay.") == "Paid."
    assert [each.text for each in model.requests[-1].messages][2::2] == ["1 paid", "2 paid"]


async def test_hidden_values_and_prompts_are_given_again() -> None:
    """They are in no state, so the call says them anew."""
    seen: list[object] = []

    @tool("Pays for the user.")
    def charge(amount: int, user_id: Annotated[str, Hidden], context: ToolContext) -> str:
        seen.append((user_id, context.memory_id))
        return "paid"

    class Clerk(Protocol):
        @system("At {shop}.")
        async def ask(
            self, message: str, memory_id: MemoryId, user_id: Annotated[str, Hidden], *, shop: str = "Tea"
        ) -> str: ...

    service, model, gate = waiting(Clerk, call("charge", amount=3), "Paid.", tools=[charge])
    with pytest.raises(ServiceSuspendedError) as raised:
        await service.ask("Pay.", "m-1", "u-7", shop="Hill")
    assert "u-7" not in str(raised.value.state.to_json())
    gate.agreed = True

    assert await resuming(service.ask, raised.value.state)("Pay.", "m-1", "u-7", shop="Hill") == "Paid."
    assert seen == [("u-7", "m-1")]
    assert [request.messages[0].text for request in model.requests] == ["At Hill.", "At Hill."]


# what is given as the method, and what is said of it
NO_METHODS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda service: Desk.text, "'text' is no method of a service that asks a model"),
    (lambda service: len, "'len' is no method of a service that asks a model"),
    (lambda service: service, "'Desk' is no method of a service that asks a model"),
    (lambda service: service.__repr__, "is no method of a service that asks a model"),
    (lambda service: taken, "'taken' is no method of a service that asks a model"),
]


@pytest.mark.parametrize(("method", "message"), NO_METHODS)
async def test_only_a_method_of_a_service_goes_on(method: Any, message: str) -> None:
    """With the next step."""
    service, _, _ = desk()
    with pytest.raises(ServiceSuspendedError) as raised:
        await service.text("Pay.")
    with pytest.raises(RunArgumentError) as refused:
        resuming(method(service), raised.value.state)

    assert message in refused.value.message
    assert refused.value.next_step == "Write resuming(service.method, state)(...)."


async def test_a_method_with_a_body_is_none_either() -> None:
    """It asks nobody by itself."""

    class Half:
        async def ask(self, message: str) -> str: ...  # type: ignore[empty-body]

        async def greet(self) -> str:
            return await self.ask("Hello.")

    service, _, gate = waiting(Half, call("pay", amount=3), "Paid.", tools=[pay])
    with pytest.raises(ServiceSuspendedError, match="the turn of 'ask' waits") as raised:
        await service.greet()
    with pytest.raises(RunArgumentError, match="'greet' is no method of a service"):
        resuming(service.greet, raised.value.state)
    gate.agreed = True
    assert await resuming(service.ask, raised.value.state)("Hello.") == "Paid."


@pytest.mark.parametrize("state", [None, "state", {}, Run()])
def test_only_a_state_is_gone_on_with(state: Any) -> None:
    """Its JSON is read first."""
    service, _ = served(Desk)
    with pytest.raises(RunArgumentError, match=f"a turn goes on with a ToolLoopState, not {type(state).__name__}"):
        resuming(service.text, state)


async def test_arguments_of_a_resumed_call_are_bound_as_ever() -> None:
    """What is missing is said."""
    service, _, _ = desk()
    with pytest.raises(ServiceSuspendedError) as raised:
        await service.text("Pay.")
    with pytest.raises(TypeError, match="missing a required argument: 'message'"):
        await resuming(service.text, raised.value.state)()


def test_an_error_that_was_made_without_a_turn_has_no_state() -> None:
    """As every error can be made with a message alone."""
    with pytest.raises(RunStateError, match="no state of a turn"):
        _ = ServiceSuspendedError("waits").state
