"""What holds for every reply: both kinds of streams make it, wherever they are cut, and it goes back as it came."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatResponse,
    ProviderState,
    ResponseDone,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing.contracts.streams import check_stream
from agentforge.testing.dashscope_form import DashScopeForm
from agentforge_dashscope.wire.stream import StreamDecoder
from plugins.dashscope.tests.support import OWNER, answering, messages_of, plain, reply

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40)
names = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_-]{0,40}\Z").filter(lambda name: name != "search")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=4)


def thinking(text: str) -> ThinkingContent:
    return ThinkingContent(text, ProviderState(OWNER, {"reasoning_content": text}))


@st.composite
def messages(draw: st.DrawFn) -> AiMessage:
    """A reply as this wire can say it: thinking, text, calls."""
    parts: list[Any] = [
        *([thinking(draw(words))] if draw(st.booleans()) else []),
        *([TextContent(draw(words))] if draw(st.booleans()) else []),
    ]
    calls = [
        ToolExecutionRequest(f"call_{number}", draw(names), json.dumps(draw(objects), ensure_ascii=False))
        for number in range(draw(st.integers(0, 3)))
    ]
    return AiMessage([*parts, *calls])


def read(pieces: list[bytes], *, cumulative: bool) -> list[ChatEvent]:
    decoder = StreamDecoder(answering(cumulative=cumulative))
    return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.finish()]


def cut(body: bytes, cuts: list[float]) -> list[bytes]:
    edges = sorted({0, len(body), *(int(at * len(body)) for at in cuts)})
    return [body[at:to] for at, to in itertools.pairwise(edges)]


@settings(max_examples=40, deadline=None)
@given(messages(), st.booleans(), st.lists(st.floats(0, 1), max_size=8))
def test_both_kinds_of_streams_make_the_same_reply(message: AiMessage, many_kinds: bool, cuts: list[float]) -> None:
    """The response is that of the plain answer, and the pieces that are shown make it, under any cut."""
    scripted = ChatResponse(message, id="r-1")
    asked: dict[str, Any] = {"input": {"messages": [{"role": "user", "content": [] if many_kinds else ""}]}}
    whole = plain(DashScopeForm().reply(scripted, asked))
    assert whole.ai_message == message
    for cumulative in (False, True):
        asked["parameters"] = {"incremental_output": not cumulative}
        body = b"".join(DashScopeForm().events(scripted, asked, None))
        events = read(cut(body, cuts), cumulative=cumulative)
        assert check_stream(events) == whole
        assert events == read([body], cumulative=cumulative)
        assert isinstance(events[-1], ResponseDone)


@settings(max_examples=40, deadline=None)
@given(messages(), st.booleans())
def test_a_message_of_ours_is_read_as_it_was(message: AiMessage, many_kinds: bool) -> None:
    """Through the bytes of a request and back through an answer of the same message, where reasoning goes back."""
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in message.tool_execution_requests]
    history = [UserMessage("q"), message, *results, UserMessage("and?")]
    sent = messages_of(*history, multimodal=many_kinds, profile_overrides={"replay": ["reasoning_content"]})[1]
    assert plain(reply(**sent)).ai_message == message


@settings(max_examples=40, deadline=None)
@given(words | st.just(""), st.lists(st.tuples(names, objects), max_size=3))
def test_what_a_server_said_goes_back_as_it_came(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """The message of the answer is the message of the next request, but for the place of each call."""
    said = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    ]
    answered: dict[str, Any] = {"role": "assistant", "content": text, **({"tool_calls": said} if said else {})}
    message = plain(reply(**answered)).ai_message
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in message.tool_execution_requests]
    assert messages_of(UserMessage("q"), message, *results, UserMessage("and?"))[1] == answered
