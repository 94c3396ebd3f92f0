"""Finding tools by what they do: the words of a text, and what each index makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import ToolSpecification
from agentforge.errors import ConfigurationError, ModelError
from agentforge.model import EmbeddingModel, EmbeddingResponse, ToolParameters
from agentforge.tool.search import (
    Bm25Index,
    EmbeddingIndex,
    KeywordIndex,
    ToolIndex,
    fingerprint_of,
    query_words,
    words_of,
)

WORDS = [
    ("get_weather", ["get", "weather"]),
    ("getWeatherNow", ["get", "weather", "now"]),
    ("parseHTTPRequest2", ["pars", "http", "request2"]),
    ("kebab-case.and/paths", ["kebab", "case", "and", "path"]),
    ("Cancelled cancelling cancels", ["cancel", "cancel", "cancel"]),
    ("invoices, invoice; parcels", ["invoic", "invoic", "parcel"]),
    ("categories category", ["category", "category"]),
    ("status address bus", ["status", "address", "bus"]),
    ("取消客户订单", ["取消", "消客", "客户", "户订", "订单"]),
    ("查A股", ["查", "a", "股"]),
    ("查询order订单", ["查询", "order", "订单"]),
    ("ホテル", ["ホテ", "テル"]),
    ("예약 취소", ["예약", "취소"]),
    ("\uff26\uff35\uff2c\uff2c width", ["full", "width"]),
    ("\u0130stanbul", ["istanbul"]),
    ("größe STRASSE", ["grösse", "strass"]),
    ("", []),
    ("?! …", []),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_a_text_becomes_words(text: str, words: list[str]) -> None:
    """Names come apart, endings are cut, and where words have no spaces neighbours are pairs."""
    assert words_of(text) == words


QUERIES = [
    ("Could you please cancel my ORDER and the orders?", ["cancel", "order"]),
    ("what is the", ["what", "is", "the"]),
    ("我的订单", ["我的", "的订", "订单"]),
]


@pytest.mark.parametrize(("text", "words"), QUERIES)
def test_a_question_keeps_each_word_that_says_something(text: str, words: list[str]) -> None:
    """Once. One of nothing else keeps what it has."""
    assert query_words(text) == words


CITY = ToolParameters.builder().add_property("city", "string", "Where the sun may shine.").build()
NESTED = ToolParameters(
    {
        "type": "object",
        "properties": {
            "stay": {"$ref": "#/$defs/Stay"},
            "guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}},
        },
        "$defs": {
            "Stay": {"type": "object", "properties": {"balcony": {"type": "boolean"}}},
            "Guest": {"anyOf": [{"type": "object", "properties": {"n": {"description": "The passport's number."}}}]},
        },
    }
)
TOOLS = (
    ToolSpecification("get_weather", "Forecast for today.", CITY),
    ToolSpecification("cancelOrder", "Withdraws what was bought."),
    ToolSpecification("refund", None),
    ToolSpecification("book_room", "Reserves a room.", NESTED),
    ToolSpecification("query_stock", "查询仓库库存"),
    ToolSpecification("cancel_ticket", "取消客服工单"),
)
INDEXES: dict[str, Callable[..., ToolIndex]] = {"keyword": KeywordIndex, "bm25": Bm25Index}
FOUND = [
    ("weather", ["get_weather"]),
    ("forecasts", ["get_weather"]),
    ("city", ["get_weather"]),
    ("sun", ["get_weather"]),
    ("order", ["cancelOrder"]),
    ("BOUGHT", ["cancelOrder"]),
    ("refund", ["refund"]),
    ("balcony", ["book_room"]),
    ("passport", ["book_room"]),
    ("仓库里还有多少库存", ["query_stock"]),
    ("帮我取消工单", ["cancel_ticket"]),
    ("satellite", []),
    ("", []),
    ("。", []),
]


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize(("query", "names"), FOUND)
async def test_a_tool_is_found_by_its_texts(kind: str, query: str, names: list[str]) -> None:
    """Its name, its description, and its parameters' names and descriptions, at any depth."""
    assert list(await INDEXES[kind](TOOLS).search(query, 5)) == names


async def test_rare_words_and_names_count_more() -> None:
    common = [ToolSpecification(f"list_{name}", "Lists orders of a customer.") for name in ("a", "b", "c")]
    special = ToolSpecification("export_orders", "Makes a file.")
    assert (await Bm25Index([*common, special]).search("export of all customer orders", 4))[0] == "export_orders"


_TEXTS = st.text("abc dXY_订单取消é ", max_size=20)
_TOOLS = st.lists(st.tuples(_TEXTS, st.none() | _TEXTS), max_size=8).map(
    lambda rows: [ToolSpecification(f"t{at}_{name}", said) for at, (name, said) in enumerate(rows)]
)


@pytest.mark.parametrize("kind", INDEXES)
@given(tools=_TOOLS, query=_TEXTS, limit=st.integers(1, 4))
def test_a_search_is_a_pure_function(kind: str, tools: list[ToolSpecification], query: str, limit: int) -> None:
    """Known names, each once, no more than asked for, the same each time; a smaller limit is a beginning of a larger
    one; and every tool with a word of the question is found, no other."""
    index = INDEXES[kind](()).rebuild(tools)
    found = asyncio.run(_search(index, query, limit))
    everything = asyncio.run(_search(INDEXES[kind](tools), query.upper() if query.isascii() else query, 100))

    assert found == asyncio.run(_search(index, query, limit)) and len(set(found)) == len(found) <= limit
    if query == query.lower():
        assert asyncio.run(_search(index, query, 100))[:limit] == found
    words = set(query_words(query))
    holding = {each.name for each in tools if words & {*words_of(each.name), *words_of(each.description or "")}}
    assert set(asyncio.run(_search(index, query, 100))) == holding
    assert set(everything) <= {each.name for each in tools}


async def _search(index: ToolIndex, query: str, limit: int) -> list[str]:
    return list(await index.search(query, limit))


CHANGES: list[tuple[str, Sequence[ToolSpecification], bool]] = [
    ("the same again", [ToolSpecification.from_json(each.to_json()) for each in TOOLS], True),
    ("metadata", [ToolSpecification("get_weather", "Forecast for today.", CITY, metadata={"a": 1}), *TOOLS[1:]], True),
    ("a name", [ToolSpecification("weather", "Forecast for today.", CITY), *TOOLS[1:]], False),
    ("a description", [ToolSpecification("get_weather", "Forecast.", CITY), *TOOLS[1:]], False),
    ("parameters", [ToolSpecification("get_weather", "Forecast for today."), *TOOLS[1:]], False),
    ("one less", TOOLS[1:], False),
]


@pytest.mark.parametrize(("what", "tools", "same"), CHANGES)
def test_a_fingerprint_changes_with_what_is_searched(what: str, tools: Any, same: bool) -> None:
    assert (fingerprint_of(tools) == fingerprint_of(TOOLS)) is same


# -- by meaning ----------------------------------------------------------------------------------


class Letters:
    """An embedding model of few letters, which notes what it is asked."""

    def __init__(self, letters: str = "wod") -> None:
        self.asked: list[list[str]] = []
        self.letters = letters

    async def embed(self, texts: Sequence[str]) -> EmbeddingResponse:
        self.asked.append(list(texts))
        await asyncio.sleep(0)
        return EmbeddingResponse(tuple([float(text.count(letter)) for letter in self.letters] for text in texts))


async def test_the_nearest_tools_are_found() -> None:
    model = Letters()
    assert isinstance(model, EmbeddingModel)
    tools = [ToolSpecification("www"), ToolSpecification("ooo"), ToolSpecification("wwwo"), ToolSpecification("xxx")]
    index = EmbeddingIndex(model, tools, min_score=0.5)
    assert list(await index.search("w", 5)) == ["www", "wwwo"]
    assert list(await index.search("w", 1)) == ["www"]
    assert list(await index.search("d", 5)) == []
    assert list(await index.search(" ", 5)) == []


async def test_vectors_are_asked_for_once() -> None:
    """At the first search, also of several at once; a rebuilt index asks only for what is new."""
    model = Letters()
    index = EmbeddingIndex(model).rebuild([ToolSpecification("www"), ToolSpecification("ooo")])
    assert model.asked == [] and list(await index.search("w", 5)) == ["www"]
    await asyncio.gather(*(index.search("o", 1) for _ in range(3)))
    again = index.rebuild([ToolSpecification("ooo"), ToolSpecification("ddd")])
    assert list(await again.search("d", 5)) == ["ddd"]
    assert [texts for texts in model.asked if texts[0].endswith(": ")] == [["www: ", "ooo: "], ["ddd: "]]


async def test_several_first_searches_ask_once() -> None:
    model = Letters()
    index = EmbeddingIndex(model, [ToolSpecification("www")])
    assert await asyncio.gather(*(index.search("w", 1) for _ in range(3))) == [["www"]] * 3
    assert sum(texts == ["www: "] for texts in model.asked) == 1


async def test_a_first_search_that_fails_leaves_the_next_one_to_ask() -> None:
    class Failing(Letters):
        async def embed(self, texts: Sequence[str]) -> EmbeddingResponse:
            if not self.asked:
                self.asked.append([])
                raise ModelError("away")
            return await super().embed(texts)

    index = EmbeddingIndex(Failing(), [ToolSpecification("www")])
    with pytest.raises(ModelError, match="away"):
        await index.search("w", 1)
    assert list(await index.search("w", 1)) == ["www"]


async def test_vectors_that_do_not_belong_together_are_an_error() -> None:
    model = Letters()
    index = EmbeddingIndex(model, [ToolSpecification("www")])
    await index.search("w", 1)
    model.letters = "wo"
    with pytest.raises(ModelError, match="vectors of 3 and of 2 numbers"):
        await index.search("w", 1)

    class Few(Letters):
        async def embed(self, texts: Sequence[str]) -> EmbeddingResponse:
            return EmbeddingResponse(())

    with pytest.raises(ModelError, match="0 vectors for 1 texts"):
        await EmbeddingIndex(Few(), [ToolSpecification("www")]).search("w", 1)


@pytest.mark.parametrize("score", [-1.1, 2, "0.5", True])
def test_a_likeness_that_cannot_be_is_refused(score: Any) -> None:
    with pytest.raises(ConfigurationError, match="from -1 to 1"):
        EmbeddingIndex(Letters(), min_score=score)
