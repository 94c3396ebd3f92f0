"""Section N: tools that are searched. Indexes belong to sets of tools here, where the anchors keep them by session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import ChatRequest, Run, SystemMessage, ToolSpecification
from agentforge.advisor import MessageMemoryAdvisor, ToolSearchAdvisor
from agentforge.errors import ConfigurationError
from agentforge.memory import ChatMemory, InMemoryStore
from agentforge.model import AiMessage, ToolExecutionRequest
from agentforge.model.scripted import call
from agentforge.tool.search import BuiltIndexes, KeywordIndex, ToolIndex
from tests.anchors.support import ANSWER, FACES, Conversation, ask, differs, differs_row, row, rows
from tests.unit.advisor.searching import TOOLS, search


class Counting:
    """An index that notes each set of tools that it is made of."""

    def __init__(self) -> None:
        self.rebuilt: list[list[str]] = []

    def rebuild(self, specifications: Sequence[ToolSpecification]) -> ToolIndex:
        self.rebuilt.append([each.name for each in specifications])
        return KeywordIndex(specifications)

    async def search(self, query: str, limit: int) -> Sequence[str]:
        return []


def both(*queries: str) -> AiMessage:
    """Several searches in one reply."""
    return AiMessage(
        [ToolExecutionRequest(f"c{at}", "search_tools", f'{{"query": "{q}"}}') for at, q in enumerate(queries)]
    )


def offered(done: Conversation) -> list[list[str]]:
    """The names of the tools of each request, but for the search tool, which is the first of all."""
    names = [[tool.name for tool in request.parameters.tools] for request in done.requests]
    assert all(each[0] == "search_tools" for each in names)
    return [each[1:] for each in names]


def system_text(request: ChatRequest) -> str:
    return "".join(message.text for message in request.messages if isinstance(message, SystemMessage))


@FACES
@rows(312, "no term matches")
async def test_a_search_without_a_match_says_so(anchor: int, streamed: bool) -> None:
    done = await ask([search("satellites"), ANSWER], ToolSearchAdvisor(), tools=TOOLS, streamed=streamed)
    assert offered(done) == [[], []]
    assert done.texts == ["No tool fits 'satellites'. Try other words."]


SPECIFICATIONS = (
    ToolSpecification("get_weather", "Weather of a city, today or tomorrow."),
    ToolSpecification("cancel_order", "Cancels an order."),
    ToolSpecification("silent"),
    ToolSpecification("list_orders", "Lists what was bought."),
)
TERMS = [
    row(314, "several terms are summed", "order cancel", ["cancel_order", "list_orders"]),
    row(314, "three in a description beat one in a name", "silent city today tomorrow", ["get_weather", "silent"]),
    row(314, "a term in the name counts for more", "silent today", ["silent", "get_weather"]),
    row(314, "a term twice counts once", "order order order lists", ["list_orders", "cancel_order"]),
    row(314, "upper case", "CANCEL ORDER", ["cancel_order", "list_orders"]),
    row(314, "no description", "silent", ["silent"]),
    row(314, "a dotted capital I", "C\u0130TY", ["get_weather"]),
    row(314, "a capital I", "LISTS", ["list_orders"]),
]


@pytest.mark.parametrize(("query", "found"), TERMS)
async def test_tools_are_found_by_their_words(query: str, found: list[str]) -> None:
    """Whatever the case, and the process's locale."""
    assert await KeywordIndex(SPECIFICATIONS).search(query, 5) == found


@FACES
@rows(318, "found in an earlier turn")
async def test_what_was_found_is_offered_at_once_in_the_next_turn(anchor: int, streamed: bool) -> None:
    memory, found = ChatMemory(InMemoryStore()), ToolSearchAdvisor()

    async def turn(*replies: Any) -> Conversation:
        kept = MessageMemoryAdvisor(memory)
        return await ask(replies, kept, found, tools=TOOLS, run=Run(memory_id="m1"), streamed=streamed)

    await turn(search("cancel an order"), ANSWER)
    done = await turn(call("cancel_order", order_id="7"), ANSWER)
    assert offered(done) == [["cancel_order"]] * 2 and done.texts == ["7 is cancelled"]


@FACES
@rows(321, "the first request")
async def test_a_turn_begins_with_the_search_tool_alone(anchor: int, streamed: bool) -> None:
    """The system message tells of it, and the tools are indexed once, whatever is searched."""
    index = Counting()
    advisor = ToolSearchAdvisor(index)
    for _ in range(2):
        replies = [search("order"), search("weather"), ANSWER]
        done = await ask(replies, advisor, tools=TOOLS, system="Be brief.", streamed=streamed)
        assert offered(done)[0] == []
        assert system_text(done.requests[0]).startswith("Be brief.\n\nYou have more tools than you see.")
    assert index.rebuilt == [[tool.__name__ for tool in TOOLS]]


@rows(321, "a suffix of one's own")
async def test_the_system_text_may_be_another(anchor: int) -> None:
    done = await ask([ANSWER], ToolSearchAdvisor(system_text="Search first."), tools=TOOLS, system="Be brief.")
    assert system_text(done.requests[0]) == "Be brief.\n\nSearch first."


KEPT = [
    row(324, "accumulation off, two searches at once", False, [both("order", "city")], ["cancel_order", "get_weather"]),
    row(324, "accumulation off, one after the other", False, [search("order"), search("city")], ["get_weather"]),
    row(326, "accumulation on", True, [search("order"), search("city")], ["cancel_order", "get_weather"]),
    row(
        326,
        "accumulation on, two at once",
        True,
        [both("order", "city"), search("hotel")],
        ["cancel_order", "get_weather", "list_rooms"],
    ),
]


@FACES
@pytest.mark.parametrize(("accumulate", "replies", "last"), KEPT)
async def test_what_stays_of_earlier_searches(
    accumulate: bool, replies: list[Any], last: list[str], streamed: bool
) -> None:
    """Searches of one reply always add up."""
    advisor = ToolSearchAdvisor(accumulate=accumulate)
    done = await ask([*replies, ANSWER], advisor, tools=TOOLS, streamed=streamed)
    assert offered(done)[-1] == last


SET_A, SET_B = SPECIFICATIONS[:2], SPECIFICATIONS[2:]
LATELY = [
    differs_row(328, "sets A, then B, room for one", 1, [SET_A, SET_B, SET_A], 3),
    row(329, "an access refreshes", 2, [SET_A, SET_B, SET_A, SPECIFICATIONS, SET_A], 3),
    row(329, "the same one never evicts itself", 1, [SET_A, SET_A, SET_A], 1),
]


@pytest.mark.parametrize(("capacity", "asked", "made"), LATELY)
def test_indexes_of_sets_that_were_used_lately_stay(
    capacity: int, asked: list[Sequence[ToolSpecification]], made: int
) -> None:
    """Sessions with the same tools share one; what a session has found is another thing, and is its memory's."""
    index = Counting()
    indexes = BuiltIndexes(index, capacity)
    for specifications in asked:
        indexes.of(specifications)
    assert len(index.rebuilt) == made and len(indexes) <= capacity


@rows(329, "a capacity is positive")
def test_a_capacity_below_one_is_refused(anchor: int) -> None:
    with pytest.raises(ConfigurationError, match="from 1, not 0"):
        BuiltIndexes(KeywordIndex(), 0)
    with pytest.raises(ConfigurationError, match="max_indexes is a whole number from 1, not 0"):
        ToolSearchAdvisor(max_indexes=0)


@differs(330, "an index does not age")
async def test_an_index_is_right_as_long_as_its_tools_are_the_same(anchor: int) -> None:
    """It is found by what the tools are, so that it is never an old one, and needs no time to live."""
    index = Counting()
    indexes = BuiltIndexes(index)
    changed = (*SET_A[:1], ToolSpecification("cancel_order", "Withdraws a purchase."))
    assert await indexes.of(SET_A).search("purchase", 5) == []
    assert await indexes.of(changed).search("purchase", 5) == ["cancel_order"]
    assert indexes.of(tuple(ToolSpecification.from_json(each.to_json()) for each in SET_A)) is indexes.of(SET_A)
    assert len(index.rebuilt) == 2


@rows(332, "evicted by hand")
async def test_indexes_can_be_forgotten(anchor: int) -> None:
    """The next search makes them again; the end of a turn alone does not."""
    index = Counting()
    advisor = ToolSearchAdvisor(index)
    for made in (1, 1, 2):
        if made == 2:
            advisor.indexes.clear()
        await ask([search("order"), ANSWER], advisor, tools=TOOLS)
        assert len(index.rebuilt) == made
