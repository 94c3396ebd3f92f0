"""A prompt for a value: `entity` gives it alone, `structured` with the rest of the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agentforge import ChatClient, ScriptedChatModel
from agentforge.advisor import (
    Advisor,
    MessageMemoryAdvisor,
    OutputType,
    SafeguardAdvisor,
    StructuredOutputAdvisor,
    StructuredOutputError,
    ToolCallingAdvisor,
)
from agentforge.client import Prompt, StructuredReply
from agentforge.errors import ConfigurationError
from agentforge.memory import ChatMemory, InMemoryStore
from agentforge.model import AiMessage, TextDelta, UserMessage
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask, Proceed, RunFinished, ToolService


@dataclass
class Order:
    item: str
    count: int = 1


PEN = '{"item":"pen","count":3}'
PENS = Order("pen", 3)
MODES = pytest.mark.parametrize("mode", ["native", "tool", "prompt"])


def in_stock(item: str) -> int:
    "How many of an item there are."
    return 7


def said(mode: str) -> Any:
    return {"native": PEN, "tool": call("final_answer", PEN), "prompt": f"As you wish:\n```json\n{PEN}\n```"}[mode]


def prompt(*turns: Any, **more: Any) -> Prompt:
    return ChatClient(ScriptedChatModel(turns), **more).prompt("Three pens, please.")


# what is asked for, what the model says, the value
ASKED: list[tuple[Any, str, object]] = [
    (Order, PEN, PENS),
    (list[Order], f"[{PEN}]", [PENS]),
    (Order | None, '{"value": null}', None),
    (int, "3", 3),
    ({"type": "object", "required": ["item"], "properties": {"item": {}}}, '{"item": 1}', {"item": 1}),
    (OutputType(Order, name="order"), PEN, PENS),
]


@pytest.mark.parametrize(("output", "text", "value"), ASKED)
async def test_the_value_is_of_the_type_that_was_asked_for(output: Any, text: str, value: object) -> None:
    assert await prompt(text).entity(output) == value


def test_it_is_there_for_synchronous_code() -> None:
    assert prompt(PEN).entity_sync(Order) == PENS
    reply = prompt(PEN).structured(Order).call_sync()
    assert (reply.value, reply.reply.content) == (PENS, PEN)


@MODES
async def test_tools_run_and_the_turn_ends_with_the_value(mode: Any) -> None:
    asked = prompt(call("in_stock", item="pen"), said(mode)).tools(in_stock)
    reply: StructuredReply[Order] = await asked.structured(Order, mode=mode).call()

    assert reply.value == PENS
    assert reply.reply.content == PEN
    assert [each.request.name for each in reply.reply.tool_executions] == ["in_stock"]
    assert reply.reply.messages[-1] == AiMessage(PEN)
    assert reply.reply.token_usage.total_tokens is not None


@MODES
@pytest.mark.parametrize("listed", ["outside", "inside"])
async def test_memory_keeps_the_question_and_the_json(mode: Any, listed: str) -> None:
    """Not the words around it, not the call of the tool that gave it, and no attempt that was refused."""
    memory = ChatMemory(InMemoryStore())
    remembering = MessageMemoryAdvisor(memory)
    advisors: list[Advisor] = [remembering] if listed == "outside" else [ToolCallingAdvisor(), remembering]
    client = ChatClient(ScriptedChatModel(["no", said(mode), "You ordered pens."]), advisors=advisors)
    assert await client.prompt("Three pens, please.").memory_id("m").entity(Order, mode=mode) == PENS

    reply = await client.prompt("What did I order?").memory_id("m").call()

    assert reply.content == "You ordered pens."
    model = client.model
    assert isinstance(model, ScriptedChatModel)
    assert model.requests[-1].messages == (
        UserMessage("Three pens, please."),
        AiMessage(PEN),
        UserMessage("What did I order?"),
    )


async def test_the_value_of_a_stream_is_read_from_its_last_event() -> None:
    """The pieces before it are text that nobody has checked."""
    asked = prompt("no", PEN).structured(Order)
    texts: list[str] = []
    async with asked.stream() as events:
        async for event in events:
            if isinstance(event, TextDelta):
                texts.append(event.text)
            if isinstance(event, RunFinished):
                assert asked.read(event.result).value == PENS

    assert "".join(texts) == f"no{PEN}"


def test_a_synchronous_stream_has_it_too() -> None:
    asked = prompt(PEN).structured(Order)
    with asked.stream_sync() as events:
        last = list(events)[-1]

    assert isinstance(last, RunFinished)
    assert asked.read(last.result).value == PENS


async def test_an_answer_that_stays_invalid_is_an_error_with_the_last_text() -> None:
    model = ScriptedChatModel(['{"count": 1}'], repeat=True)
    with pytest.raises(StructuredOutputError) as raised:
        await ChatClient(model).prompt("Pens!").entity(Order, max_reprompts=1)

    assert (raised.value.text, raised.value.attempts, len(model.requests)) == ('{"count": 1}', 2, 2)
    assert raised.value.problems == ("item: is required and was not given",)
    assert raised.value.partial.messages[0].text == "Pens!"


async def test_it_goes_over_the_form_that_the_client_has() -> None:
    client = ChatClient(ScriptedChatModel([PEN, "3"]), advisors=[StructuredOutputAdvisor(int)])
    assert await client.prompt("Pens!").entity(Order) == PENS
    assert (await client.prompt("How many?").call()).content == "3"


async def test_an_advisor_further_out_may_answer_instead() -> None:
    """Then there is no value, and the answer is at hand."""
    refusing = SafeguardAdvisor(["pen"], stage="output", text="No.")
    asked = prompt(PEN, advisors=[refusing]).structured(Order)
    reply = await asked.call()

    assert reply.reply.content == "No."
    with pytest.raises(StructuredOutputError, match="the turn ended with another answer") as raised:
        _ = reply.value
    assert raised.value.text == "No."


async def test_a_reply_with_calls_for_the_caller_has_no_value() -> None:
    asked = prompt(call("in_stock", item="pen"), tool_calling=False).tools(in_stock)
    with pytest.raises(StructuredOutputError, match="the reply holds calls that the caller is to run"):
        await asked.entity(Order)


async def test_a_suspended_turn_has_its_value_when_it_was_taken_up() -> None:
    class Asking:
        decided = False

        async def check(self, batch: Any, run: Any) -> list[Any]:
            return [Proceed() if self.decided else Ask("may it?") for _ in batch]

    gate = Asking()
    with ToolService(in_stock, gates=[gate]) as service:
        asked = prompt(call("in_stock", item="pen"), PEN, service=service)
        reply = await asked.structured(Order).call()
        assert reply.reply.suspended is not None
        with pytest.raises(StructuredOutputError, match="suspended"):
            _ = reply.value

        gate.decided = True
        assert await asked.resume(reply.reply.suspended).entity(Order) == PENS


async def test_what_cannot_be_asked_for_is_refused_before_the_model_is_asked() -> None:
    asked = prompt(PEN)
    for output, more in ((object(), {}), (Order, {"mode": "often"}), (Order, {"max_reprompts": -1})):
        with pytest.raises(ConfigurationError):
            await asked.entity(output, **more)

    assert isinstance(asked.client.model, ScriptedChatModel)
    assert asked.client.model.requests == []


async def test_a_prompt_is_not_changed_by_being_asked_for_a_value() -> None:
    asked = prompt(PEN, "Of course.")
    assert await asked.entity(Order) == PENS
    assert (await asked.call()).content == "Of course."
