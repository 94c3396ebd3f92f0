"""No round costs more because the conversation is long: what was encoded once is only copied."""

from __future__ import annotations

import gc
import json
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ImageContent,
    SystemMessage,
    TextContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import Endpoint, RequestEncoder, profile_of
from agentforge_openai import VendorRow
from agentforge_openai.vendors import DEEPSEEK, GENERIC
from agentforge_openai.wire.chat_wire import ChatWire
from plugins.openai.tests.support import WEATHER

BASE = "https://llm.example/v1"


def encoder(row: VendorRow = GENERIC, **options: Any) -> RequestEncoder:
    def endpoint(model: str | None) -> Endpoint:
        name = model or "m"
        return Endpoint(row, profile_of(row, name, base_url=BASE), name, BASE)

    return RequestEncoder(ChatWire(), endpoint, **options)


def round_of(number: int) -> list[ChatMessage]:
    call = ToolExecutionRequest(f"c{number:04}", "get_weather", '{"city": "x"}')
    return [AiMessage([call]), ToolExecutionResultMessage(call.id, call.name, "fine")]


def messages_in(body: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(body)["messages"]
    return found


def test_the_bytes_encoded_in_a_round_do_not_grow_with_the_history() -> None:
    encode = encoder()
    history: list[ChatMessage] = [UserMessage("q")]
    parameters = ChatRequestParameters(tools=(WEATHER,))
    encode.encode(history, parameters)
    costs: list[int] = []
    for number in range(60):
        history += round_of(number)
        before = encode.encoded_bytes
        encode.encode(history, parameters)
        costs.append(encode.encoded_bytes - before)
    assert len(set(costs)) == 1
    assert 0 < costs[0] < 300


def test_tools_are_encoded_once_for_the_same_tools_in_other_parameters() -> None:
    """A loop makes new parameters and a new tuple for each round."""
    encode = encoder()
    tools = [ToolSpecification(f"tool_{n}", "d" * 100) for n in range(50)]
    first = encode.encode([], ChatRequestParameters(tools=tuple(tools))).body
    before = encode.encoded_bytes
    again = encode.encode([], ChatRequestParameters(tools=tuple(tools))).body
    assert first == again
    assert encode.encoded_bytes == before


def test_many_sets_of_tools_share_one_bound() -> None:
    encode = encoder()
    for number in range(20):
        parameters = ChatRequestParameters(tools=(ToolSpecification(f"tool_{number}"),))
        body = json.loads(encode.encode([], parameters).body)
        assert body["tools"][0]["function"]["name"] == f"tool_{number}"


def test_a_trimmed_or_branched_history_is_never_stale() -> None:
    encode = encoder()
    parameters = ChatRequestParameters()
    turns = [UserMessage(str(n)) for n in range(6)]
    for picked in ([0, 1, 2, 3], [2, 3], [3, 2], [0, 4, 5], [5], [1, 1]):
        sent = messages_in(encode.encode([turns[n] for n in picked], parameters).body)
        assert [entry["content"] for entry in sent] == [str(n) for n in picked]


def test_messages_that_are_gone_leave_nothing_to_be_mistaken_for_others() -> None:
    """The id of a collected object may be used again; the cache keeps what it knows alive."""
    encode = encoder()
    parameters = ChatRequestParameters()
    for number in range(300):
        sent = messages_in(encode.encode([UserMessage(f"text {number}")], parameters).body)
        assert sent[0]["content"] == f"text {number}"
        gc.collect(0)


def test_other_parameters_of_the_same_address_are_not_mistaken() -> None:
    encode = encoder(defaults=ChatRequestParameters(temperature=0.5))
    for number in range(100):
        body = json.loads(encode.encode([], ChatRequestParameters(seed=number)).body)
        assert body["seed"] == number


def test_the_same_message_has_other_bytes_where_the_request_shapes_it() -> None:
    encode = encoder(DEEPSEEK)
    turn = [AiMessage("a")]
    plain = messages_in(encode.encode(turn, ChatRequestParameters()).body)
    with_tools = messages_in(encode.encode(turn, ChatRequestParameters(tools=(WEATHER,))).body)
    without_thinking = messages_in(
        encode.encode(turn, ChatRequestParameters(tools=(WEATHER,), model_name="deepseek-chat")).body
    )
    assert "reasoning_content" not in plain[0]
    assert with_tools[0]["reasoning_content"] == ""
    assert "reasoning_content" not in without_thinking[0]
    offering = encoder(DEEPSEEK, defaults=ChatRequestParameters(tools=(WEATHER,)))
    assert messages_in(offering.encode(turn, ChatRequestParameters()).body) == with_tools


def test_a_full_cache_makes_room_and_long_histories_still_come_out_right() -> None:
    encode = encoder(max_turns=4, max_bytes=10_000)
    parameters = ChatRequestParameters()
    for start in range(5):
        turns = [UserMessage(f"{start}-{n}") for n in range(start * 3 + 1)]
        for _ in range(2):
            sent = messages_in(encode.encode(turns, parameters).body)
            assert [entry["content"] for entry in sent] == [turn.text for turn in turns]


def test_a_long_history_keeps_its_beginning_in_a_small_cache() -> None:
    """Newest-first would throw everything out on every round."""
    encode = encoder(max_turns=10)
    turns = [UserMessage("x" * 100) for _ in range(15)]
    parameters = ChatRequestParameters()
    encode.encode(turns, parameters)
    first = encode.encoded_bytes
    encode.encode([SystemMessage("y" * 100), *turns], parameters)  # another beginning: no joined piece serves it
    assert encode.encoded_bytes - first == first // 3 + len('{"role":"system","content":""}') + 100


def test_a_conversation_that_only_grew_is_taken_in_one_piece() -> None:
    """Also where its turns have long left the cache of turns."""
    encode = encoder(max_turns=2)
    turns: list[ChatMessage] = [UserMessage("x" * 100) for _ in range(15)]
    parameters = ChatRequestParameters()
    encode.encode(turns, parameters)
    before = encode.encoded_bytes
    grown = encode.encode([*turns, UserMessage("new")], parameters)
    assert encode.encoded_bytes - before == len('{"role":"user","content":"new"}')
    assert len(json.loads(grown.body)["messages"]) == 16


@pytest.mark.parametrize("kept", [0, 1, 7, 14])
def test_a_history_that_was_cut_or_branched_never_gets_stale_bytes(kept: int) -> None:
    encode = encoder()
    turns: list[ChatMessage] = [UserMessage(f"turn {number}") for number in range(15)]
    parameters = ChatRequestParameters()
    encode.encode(turns, parameters)
    branched: list[ChatMessage] = [*turns[:kept], UserMessage("another way")]
    body = json.loads(encode.encode(branched, parameters).body)
    assert [message["content"] for message in body["messages"]] == [message.text for message in branched]  # type: ignore[union-attr]


def test_media_of_results_stay_behind_all_results_though_the_history_was_sent_before_the_last_of_them() -> None:
    encode = encoder()
    asked = AiMessage(tool_execution_requests=[ToolExecutionRequest("c1", "a"), ToolExecutionRequest("c2", "b")])
    shown = ToolExecutionResultMessage("c1", "a", [TextContent("seen"), ImageContent(data="QUJD")])
    turns: list[ChatMessage] = [UserMessage("q"), asked, shown]
    parameters = ChatRequestParameters()
    encode.encode(turns, parameters)
    body = encode.encode([*turns, ToolExecutionResultMessage("c2", "b", "done")], parameters).body
    roles = [message["role"] for message in json.loads(body)["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]


def test_the_cache_is_bounded_in_bytes() -> None:
    encode = encoder(max_bytes=1000)
    parameters = ChatRequestParameters()
    turn = [UserMessage("x" * 2000)]
    first = encode.encode(turn, parameters)
    before = encode.encoded_bytes
    assert encode.encode(turn, parameters).body == first.body
    assert encode.encoded_bytes == 2 * before


def test_many_shapes_share_one_bound() -> None:
    encode = encoder()
    turn = UserMessage("q")
    for number in range(12):
        parameters = ChatRequestParameters(model_name=f"model-{number}")
        assert json.loads(encode.encode([turn], parameters).body)["model"] == f"model-{number}"


def test_notices_of_turns_come_with_every_request_that_holds_them() -> None:
    encode = encoder()
    parameters = ChatRequestParameters()
    turns: list[ChatMessage] = [UserMessage("q"), AiMessage([ImageContent(data="QUJD")])]
    for _ in range(2):
        codes = [notice.code for notice in encode.encode(turns, parameters).notices]
        assert codes == ["assistant_media_left_out"]
    assert encode.encode(turns[:1], parameters).notices == ()


@contextmanager
def _threads_that_alternate() -> Iterator[ThreadPoolExecutor]:
    """Threads that give way to each other as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            yield threads
    finally:
        sys.setswitchinterval(before)


def test_threads_that_share_an_encoder_get_the_bytes_of_a_fresh_one() -> None:
    """Histories that grow, branch and begin anew, over several models and sets of tools, in a cache that is full."""
    shared = encoder(DEEPSEEK, max_turns=8, max_bytes=4000)
    common: list[ChatMessage] = [UserMessage("q"), *round_of(0), AiMessage("a"), UserMessage("more")]

    def converse(seed: int) -> int:
        pick = random.Random(seed)
        history = list(common)
        for number in range(60):
            if pick.random() < 0.3:
                history = [*common[: pick.choice([1, 3, 5])], UserMessage(f"{seed}/{number}")]
            history += pick.choice([round_of(number), [AiMessage(f"{seed}:{number}" * 20), UserMessage("next")]])
            tools = (WEATHER,) if pick.random() < 0.5 else ()
            parameters = ChatRequestParameters(model_name=pick.choice(["a", "b", "c", "d", "e"]), tools=tools)
            assert shared.encode(history, parameters).body == encoder(DEEPSEEK).encode(history, parameters).body, (
                seed,
                number,
            )
        return seed

    with _threads_that_alternate() as threads:
        assert list(threads.map(converse, range(16))) == list(range(16))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 7), max_size=12), max_size=8), st.integers(1, 6))
def test_a_cached_body_equals_a_fresh_one(histories: list[list[int]], bound: int) -> None:
    turns: list[ChatMessage] = [UserMessage("a"), AiMessage("b"), UserMessage(ImageContent(data="QQ==")), AiMessage()]
    turns += [UserMessage("c", name="n"), AiMessage("é"), UserMessage(""), AiMessage("x" * 50)]
    encode = encoder(max_turns=bound)
    parameters = ChatRequestParameters()
    for picked in histories:
        history = [turns[n] for n in picked]
        assert encode.encode(history, parameters).body == encoder().encode(history, parameters).body
