"""Calls as histories hold them: with ids that repeat, arguments that no server takes, and state of another API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ProviderState,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.provider import RequestEncoder, dump_bytes
from plugins.anthropic.tests.support import body_of, message, plain
from plugins.anthropic.tests.test_encode_once import encoder

ASK = UserMessage("q")
PARAMETERS = ChatRequestParameters()


def turn(*ids: str) -> list[ChatMessage]:
    """A turn with calls of these ids, and its results."""
    calls = [ToolExecutionRequest(identity, "look", "{}") for identity in ids]
    return [AiMessage(calls), *(ToolExecutionResultMessage(call.id, "look", "fine") for call in calls)]


def ids_in(body: bytes) -> tuple[list[str], list[str]]:
    """The ids of calls and of results, in order."""
    blocks = [block for each in json.loads(body)["messages"] for block in each["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


def test_ids_that_repeat_in_other_turns_are_distinct_in_the_request() -> None:
    """The API refuses two of them, wherever they stand; some servers number the calls of each turn anew."""
    history = [ASK, *turn("c", "d"), *turn("c"), AiMessage("so"), ASK, *turn("", "c-1"), *turn("c")]
    calls, results = ids_in(encoder().encode(history, PARAMETERS).body)
    assert calls == results == ["c", "d", "c-1", "call-1", "c-1-2", "c-2"]


def test_an_id_that_a_pattern_replaces_is_distinct_as_well() -> None:
    history = [ASK, *turn("functions.look:0"), *turn("functions.look:0")]
    calls, results = ids_in(encoder().encode(history, PARAMETERS).body)
    assert calls == results
    assert len(set(calls)) == 2


names = st.sampled_from(["", "c", "c-1", "c-2", "functions.look:0", "\ud800", "\ud801", "call-1"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(names, min_size=1, max_size=3), min_size=1, max_size=6))
def test_a_history_that_grows_has_the_ids_of_one_that_is_sent_whole(turns: list[list[str]]) -> None:
    grown = encoder()
    history: list[ChatMessage] = [ASK]
    for ids in turns:
        history += turn(*ids)
        body = grown.encode(history, PARAMETERS).body
        assert body == encoder().encode(history, PARAMETERS).body
        calls, results = ids_in(body)
        assert calls == results
        assert len(set(calls)) == len(calls)


def test_a_request_that_was_refused_takes_no_ids() -> None:
    """The next one with the same turns has the bytes of a fresh encoder."""
    from agentforge.errors import UnsupportedFeatureError
    from agentforge.model import AudioContent

    encode = encoder()
    history: list[ChatMessage] = [ASK, *turn("c")]
    encode.encode(history, PARAMETERS)
    with pytest.raises(UnsupportedFeatureError):
        encode.encode([*history, *turn("c"), UserMessage(AudioContent(data="QUJD"))], PARAMETERS)
    grown = [*history, *turn("c"), ASK]
    assert encode.encode(grown, PARAMETERS).body == encoder().encode(grown, PARAMETERS).body


@pytest.mark.parametrize("identity", ["c", "", "functions.look:0"])
@pytest.mark.parametrize("fresh", [False, True])
def test_the_cost_of_a_round_is_flat_whatever_the_ids_are(identity: str, fresh: bool) -> None:
    """Also with new parameters in each round."""
    encode = encoder()
    history: list[ChatMessage] = [ASK]
    costs = []
    for _ in range(40):
        history += turn(identity, identity)
        before = encode.encoded_bytes
        encode.encode(history, ChatRequestParameters() if fresh else PARAMETERS)
        costs.append(encode.encoded_bytes - before)
    assert max(costs[1:]) < 1.2 * costs[1]


DEEP = '{"a":' * 300 + "1" + "}" * 300


@pytest.mark.parametrize(
    "text",
    ['{"a":"\\ud83d"}', '{"a":1e400}', '{"a":1,"a":2}', DEEP, '{"a":NaN}', "[1]", "no", '{"a":1' + "0" * 2000 + "}"],
)
def test_arguments_that_our_own_check_refuses_are_not_sent_as_input(text: str) -> None:
    history: list[ChatMessage] = [
        ASK,
        AiMessage([ToolExecutionRequest("c", "look", text)]),
        ToolExecutionResultMessage("c", "look", "x"),
    ]
    assert body_of(history)["messages"][1]["content"][0]["input"] == {"invalid_arguments": text}


@pytest.mark.parametrize(
    ("text", "sent"), [('{ "a" : 1.50 }', b'"input":{ "a" : 1.50 }'), ('{"a": 1,}', b'"input":{"a":1}'), ("", b"{}")]
)
def test_arguments_that_it_takes_go_back_as_they_came_or_as_they_were_mended(text: str, sent: bytes) -> None:
    history: list[ChatMessage] = [
        ASK,
        AiMessage([ToolExecutionRequest("c", "look", text)]),
        ToolExecutionResultMessage("c", "look", "x"),
    ]
    assert sent in encoder().encode(history, PARAMETERS).body


@pytest.mark.parametrize("owner", ["anthropic", "generic@gw.example/v1", "anthropic/responses"])
def test_state_of_another_api_of_the_same_endpoint_stays_behind(owner: str) -> None:
    state = ProviderState(owner, {"reasoning_content": "SECRET", "type": "thinking", "extra_content": "SECRET"})
    call = ToolExecutionRequest("c", "look", "{}", provider_state=state)
    said = AiMessage([ThinkingContent("SECRET", state), TextContent("hi", state), call], provider_state=state)
    body = body_of([ASK, said, ToolExecutionResultMessage("c", "look", "x")])
    assert "SECRET" not in json.dumps(body)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]


def test_a_part_that_is_no_block_of_this_api_is_never_sent() -> None:
    odd = ThinkingContent("", ProviderState("anthropic/messages", {"reasoning_content": "x"}))
    assert body_of([ASK, AiMessage([odd, TextContent("hi")]), ASK])["messages"][1]["content"] == [
        {"type": "text", "text": "hi"}
    ]


def test_what_only_answers_have_is_not_sent_back() -> None:
    """The id of a file at a source, and sources of what is no text."""
    source = {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": None}
    place = {"start_char_index": 0, "end_char_index": 1}
    found: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    reply = plain(
        message(
            {**found, "citations": [source]},
            {"type": "text", "text": "hi", "citations": [{**source, **place, "file_id": "f"}]},
        )
    )
    assert body_of([ASK, reply.ai_message, ASK])["messages"][1]["content"] == [
        found,
        {"type": "text", "text": "hi", "citations": [{**source, **place}]},
    ]


def test_opaque_state_that_is_too_deep_to_be_written_is_an_error_that_says_so() -> None:
    from agentforge.errors import ConfigurationError

    deep: Any = {}
    for _ in range(2000):
        deep = {"a": deep}
    with pytest.raises(ConfigurationError, match="nested too deep"):
        dump_bytes(deep)


def test_a_long_history_costs_what_is_new_also_beyond_the_bound_of_the_cache() -> None:
    """With new parameters in each round, and more turns than the cache holds."""
    wire = encoder()
    endpoint = wire._new.args[1]
    encode = RequestEncoder(wire._new.args[0], endpoint, max_turns=10)
    history: list[ChatMessage] = [UserMessage("x" * 100) for _ in range(40)]
    encode.encode(history, ChatRequestParameters())
    for _ in range(3):
        history.append(UserMessage("new"))
        before = encode.encoded_bytes
        encode.encode(history, ChatRequestParameters())
        assert encode.encoded_bytes - before == len('{"type":"text","text":"new"}')
