"""Answers of this form: why they end, what they count, what they name, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ModelError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.model import AudioContent, Citation, FileContent, FinishReason, ImageContent, TextContent, TokenUsage
from plugins.gemini.tests.support import GOOD, OWNER, body, call_part, event, own, piece, plain, streamed
from tests.support.wire_exchange import calls_of

_FILTERED = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY")
_FAILED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
REASONS: dict[str, tuple[FinishReason, FinishReason]] = {
    "STOP": (FinishReason.STOP, FinishReason.TOOL_EXECUTION),
    "MAX_TOKENS": (FinishReason.LENGTH, FinishReason.LENGTH),
    "CONTINUATION": (FinishReason.LENGTH, FinishReason.LENGTH),
    "OTHER": (FinishReason.OTHER, FinishReason.OTHER),
    "SOMETHING_NEW": (FinishReason.OTHER, FinishReason.OTHER),
    "NO_IMAGE": (FinishReason.OTHER, FinishReason.OTHER),
    **dict.fromkeys(_FILTERED, (FinishReason.CONTENT_FILTER, FinishReason.CONTENT_FILTER)),
    **dict.fromkeys(_FAILED, (FinishReason.ERROR, FinishReason.ERROR)),
}


@pytest.mark.parametrize("word", REASONS)
def test_why_a_reply_ended(word: str) -> None:
    """Without and with a call; plain and streamed alike."""
    without, with_call = REASONS[word]
    for parts, reason in (([{"text": "a"}], without), ([{"text": "a"}, call_part(args={})], with_call)):
        response = plain(body(*parts, finish=word))
        assert (response.finish_reason, response.raw_finish_reason) == (reason, word)
        assert streamed(piece(*parts) + piece(finish=word)) == response


def test_no_call_of_a_blocked_prompt_runs() -> None:
    """Whatever the reply's own reason says."""
    blocked = event({"promptFeedback": {"blockReason": "SAFETY"}})
    for content in (blocked + piece(call_part(args={}), finish="STOP"), piece(call_part(args={})) + blocked):
        response = streamed(content)
        assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.CONTENT_FILTER, "SAFETY")


def test_what_the_vendor_says_of_an_end_is_a_notice() -> None:
    """A broken call stands in it; usual ends say nothing."""
    message = "Malformed function call: print(default_api.get_weather(city="
    response = plain(body(finish="MALFORMED_FUNCTION_CALL", finishMessage=message))
    [notice] = response.notices
    assert message in notice.message and notice.details["finish_reason"] == "MALFORMED_FUNCTION_CALL"
    assert plain(body({"text": "a"}, finishMessage="Model generated function call(s).")).notices == ()
    [told] = plain(body({"text": "a"}, finish="CONTINUATION", continuationToken="x")).notices
    assert told.code == "reply_continues"


def test_a_blocked_prompt_is_an_answer_that_says_so() -> None:
    """No candidates, status 200, plain and streamed."""
    blocked = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "no"},
        "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4},
        "modelVersion": "m",
    }
    for response in (plain(blocked), streamed(event(blocked))):
        assert response.finish_reason is FinishReason.CONTENT_FILTER
        assert response.raw_finish_reason == "PROHIBITED_CONTENT"
        assert response.ai_message.contents == ()
        [notice] = response.notices
        assert (notice.code, notice.message) == (
            "prompt_blocked",
            "the provider blocked the prompt (PROHIBITED_CONTENT): no",
        )


@pytest.mark.parametrize("candidate", [{}, {"content": {}}, {"content": {"role": "model"}}, {"content": {"parts": []}}])
def test_a_candidate_may_hold_nothing(candidate: dict[str, Any]) -> None:
    """No content, or content without parts."""
    response = plain({**GOOD, "candidates": [{**candidate, "finishReason": "SAFETY"}]})
    assert response.ai_message.contents == () and response.finish_reason is FinishReason.CONTENT_FILTER


def test_only_the_first_candidate_counts() -> None:
    other = {"index": 1, "content": {"parts": [{"text": "other"}]}, "finishReason": "STOP"}
    answer = {**GOOD, "candidates": [other, *GOOD["candidates"]]}  # type: ignore[misc]
    assert plain(answer).ai_message.text == "ok"


USAGES: dict[str, tuple[dict[str, Any], TokenUsage]] = {
    "thoughts are output": (
        {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5, "totalTokenCount": 17},
        TokenUsage(10, 7, 17, None, None, 5),
    ),
    "what is cached is input": (
        {"promptTokenCount": 10, "cachedContentTokenCount": 8, "candidatesTokenCount": 1, "totalTokenCount": 11},
        TokenUsage(10, 1, 11, 8),
    ),
    "so is what own tools read": (
        {"promptTokenCount": 10, "toolUsePromptTokenCount": 90, "candidatesTokenCount": 1, "totalTokenCount": 101},
        TokenUsage(100, 1, 101),
    ),
    "only thoughts": ({"promptTokenCount": 1, "thoughtsTokenCount": 2}, TokenUsage(1, 2, None, None, None, 2)),
    "nothing that counts": ({"trafficType": "ON_DEMAND"}, TokenUsage()),
}


@pytest.mark.parametrize(("raw", "usage"), USAGES.values(), ids=USAGES)
def test_what_is_counted(raw: dict[str, Any], usage: TokenUsage) -> None:
    found = plain({**body({"text": "a"}), "usageMetadata": raw}).token_usage
    assert found == usage and found.raw == raw


def test_counts_of_a_stream_are_cumulative() -> None:
    """The last of each holds; one that is missing later keeps its value."""
    first = {**body({"text": "a"}, finish=None), "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 7}}
    last = {**body(finish="STOP"), "usageMetadata": {"promptTokenCount": 6, "candidatesTokenCount": 1}}
    assert streamed(event(first) + event(last)).token_usage == TokenUsage(6, 8, None, None, None, 7)


# -- what it names ---------------------------------------------------------------------------------


def test_sources_of_a_search() -> None:
    """Places are bytes on the wire and characters here; a source without a place is one all the same."""
    text = "Vær: 5 °C. Sol."
    begin, end = len("Vær: ".encode()), len("Vær: 5 °C.".encode())
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://yr.example", "title": "yr"}},
            {"retrievedContext": {"uri": "gs://b/a", "title": "a", "text": "words"}},
            {"odd": {}},
        ],
        "groundingSupports": [
            {"segment": {"startIndex": begin, "endIndex": end, "text": "5 °C."}, "groundingChunkIndices": [0, 7]},
            {"segment": {"endIndex": 999}, "groundingChunkIndices": [0]},
        ],
        "webSearchQueries": ["x"],
        "searchEntryPoint": {"renderedContent": "<p>"},
    }
    expected = (
        Citation("https://yr.example", "yr", None, 5, 10),
        Citation("https://yr.example", "yr"),
        Citation("gs://b/a", "a", "words"),
    )
    response = plain(body({"text": text}, groundingMetadata=grounding))
    assert response.citations == expected
    assert text[5:10] == "5 °C."
    later = streamed(piece({"text": text[:8]}) + piece({"text": text[8:]}, finish="STOP", groundingMetadata=grounding))
    assert later.citations == expected
    state = response.ai_message.provider_state
    assert state is not None and state.provider == OWNER
    assert state.data == {"groundingMetadata": grounding}, "the whole of it is kept with the message"


def test_works_that_were_recited() -> None:
    cited = {"citationSources": [{"startIndex": 0, "endIndex": 2, "uri": "https://a.example", "license": "mit"}]}
    assert plain(body({"text": "abc"}, citationMetadata=cited)).citations == (
        Citation("https://a.example", None, None, 0, 2),
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"groundingMetadata": []},
        {"groundingMetadata": {"groundingChunks": "x", "groundingSupports": [1, {"segment": 3}]}},
        {"groundingMetadata": {"groundingSupports": [{"segment": {}, "groundingChunkIndices": [0]}]}},
        {"citationMetadata": {"citations": [{"startIndex": "a", "endIndex": 3}, None]}},
    ],
)
def test_malformed_sources_are_none(odd: dict[str, Any]) -> None:
    assert plain(body({"text": "abc"}, **odd)).citations == ()


def test_media_of_a_reply() -> None:
    """Pictures, sound and files are ours; drafts among the thoughts and what is no base64 stay the vendor's."""
    parts = [
        {"inlineData": {"mimeType": "image/jpeg", "data": "QUJD"}},
        {"inlineData": {"mimeType": "audio/pcm", "data": "QUJD"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "QUJD", "displayName": "a.pdf"}},
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}, "thought": True},
        {"inlineData": {"mimeType": "image/png", "data": "?"}},
    ]
    contents = plain(body(*parts)).ai_message.contents
    assert contents[:3] == (
        ImageContent(data="QUJD", media_type="image/jpeg"),
        AudioContent(data="QUJD", media_type="audio/pcm"),
        FileContent(data="QUJD", media_type="application/pdf", name="a.pdf"),
    )
    assert [part.provider_state.data["part"] for part in contents[3:] if part.provider_state] == parts[3:]  # type: ignore[union-attr]


def test_calls_without_names_or_with_odd_arguments_are_the_loops_to_refuse() -> None:
    response = plain(body({"functionCall": {}}, call_part(args="not an object"), call_part(args=[1])))
    assert [(name, arguments) for _, name, arguments in calls_of(response)] == [
        ("", "{}"),
        ("get_weather", "not an object"),
        ("get_weather", "[1]"),
    ]


def test_a_call_beside_a_text_in_one_part_is_both() -> None:
    """Hosts that fill every field send such parts; the call must not get lost."""
    for text, texts in (("", []), ("I look.", [TextContent("I look.")])):
        part = {**call_part(args={"city": "Oslo"}, thoughtSignature="c2ln"), "text": text}
        for response in (plain(body(part)), streamed(piece(part, finish="STOP"))):
            assert calls_of(response) == [("made_1", "get_weather", '{"city":"Oslo"}')]
            *others, call = response.ai_message.contents
            assert others == texts and call.provider_state == own(thoughtSignature="c2ln")


def test_numbers_that_json_has_not() -> None:
    """Null takes their place, with a notice; in arguments they stay, so that the check refuses them."""
    raw = json.dumps(body({"text": "a"}, call_part(args={"n": "@"}), avgLogprobs="@")).replace('"@"', "NaN").encode()
    response = plain(raw)
    assert [notice.code for notice in response.notices] == ["number_not_finite"]
    assert calls_of(response)[0][2] == '{"n":NaN}'


def test_the_list_of_a_stream_without_events_is_one_answer() -> None:
    pieces = [body({"text": "a"}, finish=None), body({"text": "b"}, call_part(args={}), finish="STOP")]
    response = plain(pieces)
    assert response.ai_message.contents[0] == TextContent("ab")
    assert response.finish_reason is FinishReason.TOOL_EXECUTION


def test_a_list_without_an_end_is_cut() -> None:
    """As a stream of events is; no call of it runs."""
    with pytest.raises(StreamTruncatedError) as caught:
        plain([body({"text": "so far"}, finish=None), body(call_part(args={}), finish=None)])
    assert caught.value.partial_text == "so far"


# -- what is no answer -----------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"<html>", b"", b"[]", b"[1]", b'"text"', b"null"])
def test_what_is_no_object_is_no_answer(content: bytes) -> None:
    with pytest.raises(ProtocolError, match="is not a JSON object"):
        plain(content)


@pytest.mark.parametrize("answer", [{}, {"candidates": []}, {"choices": []}, {"promptFeedback": {}}])
def test_an_answer_without_candidates_or_a_reason_is_none(answer: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="no candidates") as caught:
        plain(answer)
    assert "base_url" in str(caught.value.next_step)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, OverloadedError),
        ([{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}], RateLimitError),
        ({"error": {"code": 401, "message": "who?", "status": "UNAUTHENTICATED"}}, AuthenticationError),
        ({"error": {"odd": 1}}, ModelError),
    ],
)
def test_an_error_under_a_good_status_is_one(answer: Any, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        plain(answer)
