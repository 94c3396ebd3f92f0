"""The recipe ``booking``: tools that appear only while the user speaks of booking."""

from __future__ import annotations

import pytest

from agentforge import ChatClient
from agentforge.config import ConfigurationFaults
from agentforge.testing import ScriptedEndpoint, call
from tests.support.recipes import chat, load, names_of, session

DESK = ["house_times"]
ALL = [*DESK, "book_room", "cancel_booking"]
BOOKS = call("book_room", room="double", arrival="2026-11-20", nights=2)

SPOKEN_OF = [
    "我想预订一间双人间",
    "帮我订一间房，明天到",
    "请取消我的预订",
    "帮我book一个房间",
    "我要訂房",
    "I want to book a double room",
    "BOOK IT!",
    "Please cancel my booking.",
    "Could you reserve a room for two nights?",
    "Is there a reservation under Chen?",
]
NOT_SPOKEN_OF = [
    "早餐几点开始？",
    "我的订单到哪了",
    "请修订合同",
    "怎么订阅你们的邮件？",
    "When is breakfast?",
    "May I use my notebook in the lobby?",
    "Is the bookshop still open?",
    "Are you on Facebook?",
]


@pytest.mark.parametrize(("text", "offered"), [*((t, ALL) for t in SPOKEN_OF), *((t, DESK) for t in NOT_SPOKEN_OF)])
async def test_who_speaks_of_booking_is_offered_it(text: str, offered: list[str]) -> None:
    """In the request that goes out, in either language; part of another word is no word."""
    async with ScriptedEndpoint(["Of course."]) as endpoint, load("booking", endpoint) as app:
        await app.get(ChatClient).prompt(text).call()

    assert [names_of(request) for request in endpoint.requests] == [offered]


async def test_a_room_is_booked_and_the_tools_stay_for_the_whole_turn() -> None:
    """Each round makes the choice again, and each looks at the same message."""
    async with ScriptedEndpoint([BOOKS, "已为您预订。"]) as endpoint, load("booking", endpoint) as app:
        reply = await app.get(ChatClient).prompt("我想预订一间双人间").call()
        booked = app.get("bookings").target.booked

    assert [names_of(request) for request in endpoint.requests] == [ALL, ALL]
    assert reply.tool_executions[0].result_text() == "R0001"
    assert booked == {"R0001": "double, 2026-11-20, 2 nights"}


async def test_a_call_of_a_hidden_tool_is_not_run() -> None:
    """It is unknown, and what the model is told names no tool that it does not see."""
    async with ScriptedEndpoint([BOOKS, "Sorry."]) as endpoint, load("booking", endpoint) as app:
        reply = await app.get(ChatClient).prompt("When is breakfast?").call()
        booked = app.get("bookings").target.booked

    [execution] = reply.tool_executions
    assert execution.outcome.value == "unknown_tool"
    assert execution.result_text() == "There is no tool named 'book_room'. Available tools: house_times."
    assert booked == {}


@pytest.mark.parametrize(("look_back", "third"), [("1", DESK), ("2", ALL)])
async def test_each_turn_of_a_conversation_chooses_anew(look_back: str, third: list[str]) -> None:
    """By the last message alone; with a look at the last two the answer to a question back still finds the tools."""
    told = {"AGENTFORGE_BEANS__BOOKINGS_WHEN_SPOKEN_OF__ARGUMENTS__LOOK_BACK": look_back}
    texts = ["When is breakfast?", "I want to book a room.", "From tomorrow, two nights.", "Thank you!"]
    async with ScriptedEndpoint(["Well."], repeat=True) as endpoint, load("booking", endpoint, **told) as app:
        for text in texts:
            await app.get(ChatClient).prompt(text).memory_id("anna").call()

    assert [names_of(request) for request in endpoint.requests] == [DESK, ALL, third, DESK]
    asked = [message["content"] for message in endpoint.requests[-1].body["messages"] if message["role"] == "user"]
    assert asked == texts  # that the conversation went along is not what was looked at


async def test_what_another_conversation_speaks_of_does_not_count() -> None:
    """Nor does it hide anything."""
    async with ScriptedEndpoint(["Well."], repeat=True) as endpoint, load("booking", endpoint) as app:
        for memory_id, text in (("anna", "Book a room."), ("ben", "When is breakfast?"), ("anna", "Book another.")):
            await app.get(ChatClient).prompt(text).memory_id(memory_id).call()

    assert [names_of(request) for request in endpoint.requests] == [ALL, DESK, ALL]


@pytest.mark.parametrize("look_back", ["0", "two"])
async def test_a_look_back_that_is_no_count_is_found_before_anything_is_asked(look_back: str) -> None:
    """The hint of the function's parameter says what fits."""
    told = {"AGENTFORGE_BEANS__BOOKINGS_WHEN_SPOKEN_OF__ARGUMENTS__LOOK_BACK": look_back}
    async with ScriptedEndpoint([]) as endpoint:
        with pytest.raises(ConfigurationFaults, match="look_back"):
            load("booking", endpoint, **told).check()

    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("question", "outcome", "answer"),
    [
        ("我想预订一间双人间", "ok", "双人间已预订，两晚，预订号 R0001。"),
        ("I want to book a double room", "ok", "A double room is booked for two nights: R0001."),
        ("When is breakfast?", "unknown_tool", "I could not book."),
        ("早餐几点开始？", "unknown_tool", "我没能预订。"),
    ],
)
def test_it_runs_as_a_program(question: str, outcome: str, answer: str) -> None:
    """The script books whatever it is asked, and says what came of it; where nobody spoke of it, it cannot."""
    result = chat("booking", question)

    [execution] = result["tool_executions"]
    assert (execution["outcome"], result["text"]) == (outcome, answer)


def test_in_a_session_each_question_is_looked_at_anew() -> None:
    """Both rooms are booked, and what stands between them is not."""
    said = session("booking", "Book a room.", "When is breakfast?", "And reserve another.").result["text"]

    assert [line.rpartition(" ")[2] for line in said.splitlines()] == ["R0001.", "book.", "R0002."]
