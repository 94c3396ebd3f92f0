"""The request of another attempt, and what of the one before it belongs to the turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.advisor import Advised
from agentforge.advisor.reprompt import finished_rounds, reprompted
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    History,
    ImageContent,
    SystemMessage,
    TextContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)

SYSTEM, USER = SystemMessage("Be short."), UserMessage("Weather?", name="ann")
IMAGE = ImageContent(url="http://localhost/map.png")


def advised(*messages: ChatMessage) -> Advised:
    last = messages[-1]
    assert isinstance(last, AiMessage)
    return Advised(ChatResponse(last), messages)


def a_round(number: int) -> tuple[ChatMessage, ...]:
    request = ToolExecutionRequest(f"c{number}", "look")
    return AiMessage([request]), ToolExecutionResultMessage(request.id, "look", "rain")


def test_without_tool_rounds_the_user_message_is_extended() -> None:
    """The original text and the words on what was wrong; the answer that will not do is not sent."""
    made, kept = reprompted(ChatRequest((SYSTEM, USER)), advised(AiMessage("Rain.")), "As JSON, please.")

    assert made.messages == (SYSTEM, UserMessage("Weather?\n\nAs JSON, please.", name="ann"))
    assert kept == ()


def test_with_tool_rounds_they_stay_and_the_text_follows() -> None:
    made, kept = reprompted(ChatRequest((USER,)), advised(*a_round(1), AiMessage("Rain.")), "As JSON, please.")

    assert made.messages == (USER, *a_round(1), UserMessage("As JSON, please."))
    assert kept == a_round(1)


def test_texts_of_several_attempts_do_not_pile_up() -> None:
    """Each goes by the turn's own request and what was kept so far."""
    request = ChatRequest((USER,))
    first, kept = reprompted(request, advised(AiMessage("Rain.")), "First.")
    second, kept = reprompted(request, advised(*a_round(1), AiMessage("Rain.")), "Second.", kept)
    third, kept = reprompted(request, advised(*a_round(2), AiMessage("Rain.")), "Third.", kept)

    assert first.messages == (UserMessage("Weather?\n\nFirst.", name="ann"),)
    assert second.messages == (USER, *a_round(1), UserMessage("Second."))
    assert third.messages == (USER, *a_round(1), *a_round(2), UserMessage("Third."))
    assert kept == (*a_round(1), *a_round(2))


@pytest.mark.parametrize(
    ("message", "extended"),
    [
        (UserMessage(["See", IMAGE, "this"]), [TextContent("See"), IMAGE, TextContent("this\n\nAgain.")]),
        (UserMessage(["See", IMAGE]), [TextContent("See"), IMAGE, TextContent("Again.")]),
        (UserMessage([]), [TextContent("Again.")]),
    ],
)
def test_other_parts_of_the_user_message_stay(message: UserMessage, extended: list[object]) -> None:
    made, _ = reprompted(ChatRequest((message,)), advised(AiMessage("x")), "Again.")

    assert list(made.messages[-1].contents) == extended


@pytest.mark.parametrize("messages", [(), (SYSTEM,), (USER, *a_round(1))])
def test_where_no_user_message_is_last_the_text_is_one(messages: tuple[ChatMessage, ...]) -> None:
    """A turn that goes on after results that the caller sent, say."""
    made, kept = reprompted(ChatRequest(messages), advised(AiMessage("x")), "Again.")

    assert made.messages == (*messages, UserMessage("Again.")) and kept == ()


def test_the_parameters_stay() -> None:
    parameters = ChatRequestParameters(temperature=0.2)

    assert reprompted(ChatRequest((USER,), parameters), advised(AiMessage("x")), "Again.")[0].parameters is parameters


def test_a_reply_that_paused_is_no_round() -> None:
    assert finished_rounds(advised(*a_round(1), AiMessage("Let me"), AiMessage("see."))) == a_round(1)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_no_message_is_sent_twice_and_every_history_is_valid(rounds: list[int]) -> None:
    """Whatever each attempt ran."""
    request, kept, number = ChatRequest((SYSTEM, USER)), (), 0
    ran: list[ChatMessage] = []
    for count in rounds:
        made_rounds = [message for at in range(number, number + count) for message in a_round(at)]
        number += count
        ran += made_rounds
        made, kept = reprompted(request, advised(*made_rounds, AiMessage("no")), "Again.", kept)

        assert kept == tuple(ran)
        assert History.of(made.messages) == made.messages
        assert AiMessage("no") not in made.messages
        assert len(set(map(id, made.messages))) == len(made.messages)
        assert sum("Again." in message.text for message in made.messages if isinstance(message, UserMessage)) == 1
