"""The sources that replies name, in every form that servers have for them, plain and streamed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.model import AiMessage, ChatRequest, ChatResponse, Citation, ResponseDone, UserMessage
from agentforge.testing import ScriptedEndpoint
from agentforge_openai import OpenAiChatModel
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import USAGE, answering, delta, exchange, message, plain, sse, streamed

TEXT = "奥斯陆 is sunny ([yr](https://yr.example/oslo)) and mild [2]."
OSLO, MILD = "https://yr.example/oslo", "https://mild.example"
START = TEXT.index("(")
END = TEXT.index(" and")


def cited(url: Any = OSLO, **fields: Any) -> dict[str, Any]:
    """An annotation in the documented form."""
    return {"type": "url_citation", "url_citation": {"url": url, **fields}}


def placed(start: Any, end: Any) -> dict[str, Any]:
    """An annotation with a place."""
    return cited(start_index=start, end_index=end)


# What the message has, what the body has, what becomes of it.
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[Citation, ...]]] = {
    "as documented": (
        {"annotations": [cited(title="Oslo", start_index=START, end_index=END)]},
        {},
        (Citation(OSLO, "Oslo", None, START, END),),
    ),
    "several, in the order of the server": (
        {"annotations": [cited(MILD), cited(OSLO)]},
        {},
        (Citation(MILD), Citation(OSLO)),
    ),
    "one source for two places": (
        {"annotations": [placed(0, 3), placed(4, 6)]},
        {},
        (Citation(OSLO, start=0, end=3), Citation(OSLO, start=4, end=6)),
    ),
    "the same annotation twice": ({"annotations": [placed(0, 3), placed(0, 3)]}, {}, (Citation(OSLO, start=0, end=3),)),
    "with what the source says": (
        {"annotations": [cited(title="Oslo", content="22 degrees")]},
        {},
        (Citation(OSLO, "Oslo", "22 degrees"),),
    ),
    "with a quote": (
        {"annotations": [cited(title="Oslo", exactQuote="22 degrees", dateTime="2026-08-21")]},
        {},
        (Citation(OSLO, "Oslo", "22 degrees"),),
    ),
    "no place, written as 0 to 0": (
        {"annotations": [cited(title="Oslo", start_index=0, end_index=0)]},
        {},
        (Citation(OSLO, "Oslo"),),
    ),
    "without the inner object": (
        {"annotations": [{"type": "url_citation", "url": OSLO, "start_index": 0, "end_index": 3}]},
        {},
        (Citation(OSLO, start=0, end=3),),
    ),
    "addresses beside the choices": ({}, {"citations": [MILD, OSLO]}, (Citation(MILD), Citation(OSLO))),
    "an address twice, as [1] and [2] count": ({}, {"citations": [OSLO, OSLO]}, (Citation(OSLO), Citation(OSLO))),
    "objects beside the choices": (
        {},
        {"citations": [{"url": OSLO, "title": "Oslo", "text": "22 degrees"}]},
        (Citation(OSLO, "Oslo", "22 degrees"),),
    ),
    "search results tell the titles of the addresses": (
        {},
        {
            "citations": [MILD, OSLO],
            "search_results": [
                {"title": "Oslo", "url": OSLO, "date": "2026-08-21", "snippet": "22 degrees", "source": "web"},
                {"title": "Unused", "url": "https://other.example"},
            ],
        },
        (Citation(MILD), Citation(OSLO, "Oslo", "22 degrees")),
    ),
    "search results alone": (
        {},
        {"search_results": [{"title": "Oslo", "url": OSLO, "snippet": "22 degrees"}]},
        (Citation(OSLO, "Oslo", "22 degrees"),),
    ),
    "objects of the message": (
        {"citations": [{"id": "1", "url": OSLO, "title": "Oslo", "author": None}]},
        {},
        (Citation(OSLO, "Oslo"),),
    ),
    "a source that is annotated and listed": (
        {"annotations": [placed(0, 3)], "citations": [{"url": OSLO, "title": "Oslo"}]},
        {"citations": [OSLO, MILD]},
        (Citation(OSLO, start=0, end=3), Citation(MILD)),
    ),
    "sources without an address": (
        {"annotations": [cited(None, title="Handbook")]},
        {"citations": [{"title": "Appendix"}]},
        (Citation(title="Handbook"), Citation(title="Appendix")),
    ),
    "none": ({"annotations": []}, {"citations": [], "search_results": []}, ()),
    "null": ({"annotations": None, "citations": None}, {"citations": None, "search_results": None}, ()),
}

MALFORMED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[Citation, ...]]] = {
    "annotations that are no list": ({"annotations": {"type": "url_citation", "url": OSLO}}, {}, ()),
    "annotations that are no objects": ({"annotations": [None, 3, OSLO, [cited()], cited()]}, {}, (Citation(OSLO),)),
    "an annotation that says nothing": ({"annotations": [cited(None), {"type": "url_citation"}, {}]}, {}, ()),
    "an inner object that is none": (
        {"annotations": [{"type": "url_citation", "url_citation": None}, {"type": "url_citation", "url_citation": 3}]},
        {},
        (),
    ),
    "an inner object that is none beside an address": (
        {"annotations": [{"type": "url_citation", "url_citation": "x", "url": OSLO}]},
        {},
        (Citation(OSLO),),
    ),
    "a blank address": ({"annotations": [cited("")]}, {"citations": ["", " "]}, ()),
    "an address and a title of other types": (
        {"annotations": [cited(7, title=["Oslo"]), cited(title=7)]},
        {},
        (Citation(OSLO),),
    ),
    "lists that are none": ({"citations": OSLO}, {"citations": OSLO, "search_results": {"url": OSLO}}, ()),
    "items of lists that are none": ({}, {"citations": [None, 3, [OSLO], {}, OSLO]}, (Citation(OSLO),)),
}


def _both(fields: dict[str, Any], body: dict[str, Any]) -> tuple[ChatResponse, list[ChatResponse]]:
    """The reply plain, and in the streams that may carry it."""
    head, end = delta(role="assistant", content=TEXT[:9]), delta("stop")
    streams = [
        # Behind the text, the lists beside the usage of the last chunk.
        [head, delta(content=TEXT[9:]), delta(**fields), end, {"choices": [], "usage": USAGE, **body}],
        # With the last text, the lists in every chunk.
        [{**head, **body}, {**delta(content=TEXT[9:], **fields), **body}, {**end, **body}],
        # As the first of all, the lists once.
        [delta(role="assistant", content="", **fields), {**head, **body}, delta(content=TEXT[9:]), end],
        # A whole reply as one chunk.
        [{**message(content=TEXT, **fields), **body}],
    ]
    whole = plain({**message(content=TEXT, **fields), **body, "usage": USAGE})
    return whole, [streamed(sse(*chunks)) for chunks in streams]


@pytest.mark.parametrize("name", [*FORMS, *MALFORMED])
def test_sources_are_read_in_every_form_and_nothing_malformed_breaks_a_reply(name: str) -> None:
    """The reply is whole in any case, and plain and streamed the same."""
    fields, body, expected = (FORMS | MALFORMED)[name]

    whole, streams = _both(fields, body)

    for response in (whole, *streams):
        assert response.citations == expected
        assert response.ai_message == AiMessage(TEXT)
        assert response.notices == ()


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "file", "file": {"hash": "a1", "name": "oslo.pdf", "content": [{"type": "text", "text": "22"}]}},
        {"type": "document_citation", "document_citation": {"document_id": "d1", "start_index": 0, "end_index": 3}},
        {"type": "file_citation", "file_id": "f1", "filename": "oslo.pdf", "index": 3},
        {"type": "file_citation", "url": MILD, "title": "oslo.pdf"},
        {"type": ["url_citation"], "url": MILD},
    ],
)
def test_annotations_of_other_types_are_left_alone(kind: dict[str, Any]) -> None:
    """They are in `ChatResponse.raw_body`, and what stands beside them is read."""
    whole, streams = _both({"annotations": [kind, cited()]}, {})

    assert [response.citations for response in (whole, *streams)] == [(Citation(OSLO),)] * 5
    assert whole.raw["choices"][0]["message"]["annotations"][0] == kind


@pytest.mark.parametrize(
    ("start", "end"),
    [(3, 3), (6, 3), (-1, 3), (0, len(TEXT) + 1), (0, None), (None, 3), ("0", "3"), (0.0, 3.0), (False, True), (0, {})],
)
def test_a_place_that_is_none_leaves_the_source(start: Any, end: Any) -> None:
    whole, streams = _both({"annotations": [placed(start, end)]}, {})
    assert [response.citations for response in (whole, *streams)] == [(Citation(OSLO),)] * 5


def test_a_place_is_counted_in_characters_and_ends_behind_the_last() -> None:
    whole, _ = _both({"annotations": [placed(START, END), placed(0, len(TEXT))]}, {})
    places = [TEXT[citation.start : citation.end] for citation in whole.citations]
    assert places == ["([yr](https://yr.example/oslo))", TEXT]


def test_annotations_that_come_one_by_one_are_all_kept() -> None:
    """Each delta has further ones; a server that sends the whole set again adds nothing."""
    first, second = placed(0, 3), cited(MILD)
    response = streamed(
        sse(
            delta(content=TEXT[:9], annotations=[first]),
            delta(content=TEXT[9:], annotations=[second]),
            delta("stop", annotations=[first, second]),
        )
    )
    assert response.citations == (Citation(OSLO, start=0, end=3), Citation(MILD))


def test_of_lists_in_every_chunk_the_last_counts() -> None:
    """Also where the last chunks have none, or another one."""
    results = [{"url": OSLO, "title": "Oslo"}]
    chunks = [
        {**delta(content="a"), "citations": [MILD], "search_results": results},
        {**delta(content="b"), "citations": [MILD, OSLO]},
        {**delta("stop"), "citations": []},
    ]
    assert streamed(sse(*chunks)).citations == (Citation(MILD), Citation(OSLO, "Oslo"))


def test_of_several_answers_the_annotations_of_the_first_are_read() -> None:
    other = {"index": 1, "delta": {"content": "x", "annotations": [cited(MILD)]}}
    chunks = [delta(content="a", annotations=[cited(OSLO)]), {"choices": [other]}, delta("stop")]
    assert streamed(sse(*chunks)).citations == (Citation(OSLO),)


def test_sources_do_not_go_back() -> None:
    """An assistant turn has no field for them; they are no part of the message."""
    reply = plain(message(content="Sunny.", annotations=[cited()])).ai_message
    body, _ = exchange(ChatRequest([UserMessage("Weather?"), reply, UserMessage("And now?")]))
    assert body["messages"][1] == {"role": "assistant", "content": "Sunny."}


CITED = ChatResponse(
    AiMessage(TEXT),
    citations=(
        Citation(OSLO, "Oslo", "22 degrees", START, END),
        Citation(MILD),
        Citation(title="Handbook", text="Mild is from 15."),
    ),
)


async def test_a_scripted_endpoint_serves_sources_both_ways() -> None:
    """What a test scripts is what a program gets."""
    async with (
        ScriptedEndpoint([CITED, CITED]) as endpoint,
        OpenAiChatModel(base_url=endpoint.base_url, model="any-model") as model,
    ):
        whole = await model.chat(ChatRequest("Weather?"))
        last = [event async for event in model.stream(ChatRequest("Weather?"))][-1]

    assert isinstance(last, ResponseDone)
    assert whole.citations == last.response.citations == CITED.citations


_words = st.sampled_from([OSLO, MILD, "", " ", "x"])
_values = st.none() | st.booleans() | st.integers(-3, 40) | st.floats(allow_nan=False) | _words
_objects = st.dictionaries(
    st.sampled_from(["type", "url_citation", "url", "title", "content", "snippet", "start_index", "end_index"]),
    st.recursive(_values, lambda inner: st.lists(inner, max_size=2), max_leaves=3),
)
_items = st.lists(_values | _objects | _objects.map(lambda inner: {"type": "url_citation", "url_citation": inner}))
_fields = st.dictionaries(st.sampled_from(["annotations", "citations"]), _items | _values | _objects)
_bodies = st.dictionaries(st.sampled_from(["citations", "search_results"]), _items | _values | _objects)


@given(_fields, _bodies)
def test_whatever_is_sent_the_reply_is_whole_and_equal_both_ways(fields: dict[str, Any], body: dict[str, Any]) -> None:
    """Each source says something, and each place is one of the text."""
    whole, streams = _both(fields, body)

    for response in streams:
        assert response.citations == whole.citations
    for citation in whole.citations:
        assert citation.url or citation.title or citation.text
        assert (citation.start is None) is (citation.end is None)
        if citation.start is not None and citation.end is not None:
            assert TEXT[citation.start : citation.end]


@given(st.data())
def test_a_cut_anywhere_changes_nothing(data: st.DataObject) -> None:
    body = sse(delta(content=TEXT, annotations=[cited(title="天气")]), {**delta("stop"), "citations": [MILD]})
    at = data.draw(st.integers(0, len(body)))
    decoder = StreamDecoder(answering())
    last = [*decoder.feed(body[:at]), *decoder.feed(body[at:]), *decoder.finish()][-1]
    assert isinstance(last, ResponseDone)
    assert last.response.citations == (Citation(OSLO, "天气"), Citation(MILD))
