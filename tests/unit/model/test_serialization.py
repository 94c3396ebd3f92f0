"""Every message and response survives a trip through JSON text, and whatever is not ours is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.errors import RunStateError
from agentforge.model import serialization
from agentforge.model.citation import Citation
from agentforge.model.content import (
    AudioContent,
    FileContent,
    ImageContent,
    ProviderState,
    TextContent,
    ThinkingContent,
)
from agentforge.model.events import Notice
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.serialization import (
    citation_to_json,
    content_from_json,
    content_to_json,
    message_from_json,
    message_to_json,
    messages_from_json,
    messages_to_json,
    provider_state_from_json,
    provider_state_to_json,
    response_from_json,
    response_to_json,
    tool_execution_request_from_json,
    tool_execution_request_to_json,
    usage_from_json,
    usage_to_json,
)
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage

PROPERTY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_texts = st.text(max_size=20)
_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_objects = st.dictionaries(_texts, _json_values, max_size=3)
_states = st.none() | st.builds(ProviderState, _texts, _objects)


def _media(kind: Any, **more: Any) -> st.SearchStrategy[Any]:
    return st.builds(kind, url=_texts.map("https://a.example/{}".format), media_type=_texts, **more) | st.builds(
        kind, data=st.binary(max_size=20), media_type=_texts, **more
    )


_contents = st.lists(
    st.builds(TextContent, _texts, _states)
    | st.builds(ThinkingContent, _texts, _states)
    | _media(ImageContent, detail=st.sampled_from([None, "auto", "low", "high"]))
    | _media(AudioContent)
    | _media(FileContent, name=st.none() | _texts),
    max_size=4,
)
_requests = st.builds(ToolExecutionRequest, _texts, _texts, _texts, st.booleans(), _states)
_ai_messages = st.builds(
    AiMessage,
    st.lists(_requests | _contents.map(lambda parts: parts[0] if parts else TextContent(""))),
    provider_state=_states,
)
_messages = (
    st.builds(SystemMessage, _contents)
    | st.builds(UserMessage, _contents, name=st.none() | _texts)
    | _ai_messages
    | st.builds(ToolExecutionResultMessage, _texts, _texts, _contents, is_error=st.booleans(), attributes=_objects)
)
_counts = st.none() | st.integers(0, 10**12)
_amounts = st.decimals(0, 10**9, places=9)
_costs = (
    st.just({})
    | st.fixed_dictionaries({"cost": _amounts, "currency": st.sampled_from(["USD", "EUR"])})
    | st.fixed_dictionaries(
        {
            "partial_costs": st.dictionaries(st.sampled_from(["EUR", "USD"]), _amounts).map(
                lambda each: tuple(sorted(each.items()))
            )
        }
    )
)
_usages = st.builds(
    lambda counts, raw, costs: TokenUsage(*counts, raw, **costs),
    st.tuples(_counts, _counts, _counts, _counts, _counts, _counts),
    st.none() | _objects,
    _costs,
)
_optional = st.none() | _texts
_citations = st.builds(Citation, _optional, _optional, _optional, _counts, _counts)
_responses = st.builds(
    ChatResponse,
    _ai_messages,
    st.sampled_from(FinishReason),
    _usages,
    st.none() | _texts,
    st.none() | _texts,
    st.none() | _texts,
    st.lists(st.builds(Notice, _texts, _texts, _objects), max_size=2).map(tuple),
    citations=st.lists(_citations, max_size=2).map(tuple),
)


def _through_text(data: object) -> Any:
    return json.loads(json.dumps(data))


@PROPERTY
@given(st.lists(_messages, max_size=4))
def test_every_conversation_survives(messages: list[Any]) -> None:
    stored = messages_to_json(messages)
    assert stored["version"] == 1
    assert messages_from_json(_through_text(stored)) == tuple(messages)
    assert messages_from_json(json.dumps(stored)) == tuple(messages)
    assert messages_from_json(json.dumps(stored).encode()) == tuple(messages)


@PROPERTY
@given(_messages)
def test_every_single_message_survives(message: Any) -> None:
    stored = message_to_json(message)
    assert stored["version"] == 1
    back = message_from_json(_through_text(stored))
    assert back == message
    assert type(back) is type(message)


@PROPERTY
@given(_responses)
def test_every_response_survives_without_its_raw_body(response: ChatResponse) -> None:
    back = response_from_json(json.dumps(response_to_json(response)))
    assert back == response
    assert back.token_usage.raw == response.token_usage.raw
    data = response_to_json(ChatResponse(AiMessage("a"), raw_body=b'{"secret": 1}'))
    assert not {"raw", "raw_body"} & set(data)


@PROPERTY
@given(_contents, _requests, _usages, _states)
def test_every_part_survives_alone(
    contents: list[Any], request: ToolExecutionRequest, usage: TokenUsage, state: ProviderState | None
) -> None:
    for content in contents:
        assert content_from_json(_through_text(content_to_json(content))) == content
    assert tool_execution_request_from_json(_through_text(tool_execution_request_to_json(request))) == request
    assert usage_from_json(_through_text(usage_to_json(usage))) == usage
    if state is not None:
        assert provider_state_from_json(_through_text(provider_state_to_json(state))) == state


def test_the_order_of_parts_and_calls_is_kept() -> None:
    call = ToolExecutionRequest("c1", "now", "{}", False, ProviderState("acme", {"sig": "x"}))
    message = AiMessage([ThinkingContent("a"), call, TextContent("b"), ThinkingContent("c")])
    back = message_from_json(message_to_json(message))
    assert back == message
    assert isinstance(back, AiMessage)
    assert back.tool_execution_requests == (call,)


def test_a_plain_message_is_stored_small() -> None:
    assert messages_to_json([AiMessage([ToolExecutionRequest("c1", "now", "{}")])])["messages"] == [
        {"type": "ai", "contents": [{"type": "call", "id": "c1", "name": "now", "arguments": "{}"}]}
    ]


def test_storing_copies_so_that_later_changes_do_not_reach_it() -> None:
    rows = [1]
    stored = message_to_json(ToolExecutionResultMessage("c1", "now", "noon", attributes={"rows": rows}))
    rows.append(2)
    assert stored["attributes"] == {"rows": [1]}


def test_other_kinds_of_mapping_are_stored_as_objects() -> None:
    message = ToolExecutionResultMessage("c", "t", "x", attributes=MappingProxyType({"a": MappingProxyType({})}))
    assert message_from_json(message_to_json(message)) == message


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("attributes", "place", "says"),
    [
        ({"when": object()}, "messages[1].attributes.when", "object cannot be stored"),
        ({"rows": [1, {"pair": (1, 2)}]}, "messages[1].attributes.rows[1].pair", "tuple cannot be stored"),
        ({"data": b"x"}, "messages[1].attributes.data", "bytes cannot be stored"),
        ({"share": float("nan")}, "messages[1].attributes.share", "no NaN"),
        ({"share": float("-inf")}, "messages[1].attributes.share", "no NaN"),
        ({"by": {7: 1}}, "messages[1].attributes.by[7]", "a key is a text"),
        ({"deep": _deep(200)}, "messages[1].attributes.deep", "levels deep"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_key(attributes: Any, place: str, says: str) -> None:
    messages: list[ChatMessage] = [
        UserMessage("a"),
        ToolExecutionResultMessage("c1", "now", "noon", attributes=attributes),
    ]
    with pytest.raises(RunStateError, match=says) as caught:
        messages_to_json(messages)
    assert (caught.value.location or "").startswith(place)


@pytest.mark.parametrize(
    ("store", "says"),
    [
        (lambda: messages_to_json(["a"]), "str is not a message"),  # type: ignore[list-item]
        (lambda: content_to_json(3), "int is not a content part"),  # type: ignore[arg-type]
        (lambda: content_to_json(ToolExecutionRequest("a", "b")), "a call is not a content part"),  # type: ignore[arg-type]
        (lambda: provider_state_to_json(ProviderState("p", {"k": {1}})), "set cannot be stored"),
    ],
)
def test_only_our_own_kinds_are_stored(store: Callable[[], object], says: str) -> None:
    with pytest.raises(RunStateError, match=says):
        store()


def _with(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "messages": [{"type": "user", "contents": [], **fields}]}


def _part(**fields: Any) -> dict[str, Any]:
    return _with(contents=[fields])


_CALL = {"type": "call", "id": "c", "name": "n", "arguments": ""}


@pytest.mark.parametrize(
    ("data", "place", "says"),
    [
        ([], None, "an object is needed, not a list"),
        ("", "line 1, column 1", "not JSON"),
        ('{"version": 1,', "line 1", "not JSON"),
        (b"\xff", None, "not UTF-8"),
        ('{"version": NaN}', None, "NaN is not a JSON number"),
        ("[" * 100_000, None, "nested too deeply"),
        ({"messages": []}, "version", "the field is missing"),
        ({"version": 2, "messages": []}, "version", "version 2 cannot be read"),
        ({"version": True, "messages": []}, "version", "a whole number is needed, not a truth value"),
        ({"version": "1", "messages": []}, "version", "a whole number is needed, not a text"),
        ({"version": 1}, "messages", "the field is missing"),
        ({"version": 1, "messages": {}}, "messages", "a list is needed, not an object"),
        ({"version": 1, "messages": [], "more": 1}, "more", "unknown field"),
        ({"version": 1, "messages": [None]}, "messages[0]", "an object is needed, not null"),
        (_with(type="robot"), "messages[0].type", "unknown value 'robot'"),
        (_with(type=3), "messages[0].type", "a text is needed, not a number"),
        (_with(mood="good"), "messages[0].mood", "unknown field"),
        (_with(name=3), "messages[0].name", "a text is needed"),
        (_with(contents="text"), "messages[0].contents", "a list is needed, not a text"),
        (_part(), "messages[0].contents[0].type", "the field is missing"),
        (_part(type="video"), "messages[0].contents[0].type", "unknown value 'video'"),
        (_part(**_CALL), "messages[0].contents[0].type", "unknown value 'call'"),
        (_part(type="text"), "messages[0].contents[0].text", "the field is missing"),
        (_part(type="text", text=None), "messages[0].contents[0].text", "a text is needed, not null"),
        (_part(type="text", text="a", colour="red"), "messages[0].contents[0].colour", "unknown field"),
        (_part(type="image", media_type="a"), "messages[0].contents[0]", "exactly one of url and data"),
        (_part(type="image", url="a"), "messages[0].contents[0].media_type", "the field is missing"),
        (_part(type="image", url="a", media_type="b", detail="max"), "messages[0].contents[0].detail", "unknown value"),
        (
            _part(type="text", text="a", provider_state={"provider": "p"}),
            "messages[0].contents[0].provider_state.data",
            "the field is missing",
        ),
        (
            _part(type="text", text="a", provider_state={"provider": "p", "data": {}, "x": 1}),
            "messages[0].contents[0].provider_state.x",
            "unknown field",
        ),
        (
            _part(type="text", text="a", provider_state=7),
            "messages[0].contents[0].provider_state",
            "an object is needed",
        ),
        (
            _with(type="ai", contents=[{**_CALL, "id_was_given": 1}]),
            "messages[0].contents[0].id_was_given",
            "true or false is needed, not a number",
        ),
        (_with(type="tool_result", id="a"), "messages[0].tool_name", "the field is missing"),
        (
            _with(type="tool_result", id="a", tool_name="b", attributes=[]),
            "messages[0].attributes",
            "an object is needed, not a list",
        ),
    ],
)
def test_a_conversation_that_is_not_ours_is_refused_with_its_place(data: Any, place: str | None, says: str) -> None:
    with pytest.raises(RunStateError) as caught:
        messages_from_json(data)
    assert says in caught.value.message
    assert (caught.value.location or "").startswith(place or "")
    assert (caught.value.location is None) == (place is None)


def _response(**fields: Any) -> dict[str, Any]:
    return {**response_to_json(ChatResponse(AiMessage("a"))), **fields}


@pytest.mark.parametrize(
    ("data", "place", "says"),
    [
        (_response(version=0), "response.version", "version 0 cannot be read"),
        (_response(raw={}), "response.raw", "unknown field"),
        (_response(finish_reason="done"), "response.finish_reason", "unknown value 'done'"),
        (_response(ai_message=None), "response.ai_message", "an object is needed"),
        (_response(ai_message={"type": "user", "contents": []}), "response.ai_message.type", "kind 'ai'"),
        (_response(token_usage={"input_tokens": 1.5}), "response.token_usage.input_tokens", "a whole number"),
        (_response(token_usage={"tokens": 1}), "response.token_usage.tokens", "unknown field"),
        (_response(notices=[{"code": "a"}]), "response.notices[0].message", "the field is missing"),
        (_response(id=1), "response.id", "a text is needed"),
        (_response(citations={}), "response.citations", "a list is needed, not an object"),
        (_response(citations=["https://a.example"]), "response.citations[0]", "an object is needed, not a text"),
        (_response(citations=[{}, {"url": 1}]), "response.citations[1].url", "a text is needed, not a number"),
        (_response(citations=[{"start": "1"}]), "response.citations[0].start", "a whole number is needed"),
        (_response(citations=[{"page": 1}]), "response.citations[0].page", "unknown field"),
    ],
)
def test_a_response_that_is_not_ours_is_refused_with_its_place(data: Any, place: str, says: str) -> None:
    with pytest.raises(RunStateError) as caught:
        response_from_json(data)
    assert says in caught.value.message
    assert caught.value.location == place


def test_of_a_citation_only_what_was_said_is_stored() -> None:
    """A reply without citations is stored as before there were any, and such a reply is read."""
    assert citation_to_json(Citation("https://a.example", start=0, end=3)) == {
        "url": "https://a.example",
        "start": 0,
        "end": 3,
    }
    stored = _response()
    assert "citations" not in stored
    assert response_from_json(stored).citations == ()


def test_a_single_message_of_another_version_is_refused() -> None:
    with pytest.raises(RunStateError, match="version 9 cannot be read"):
        message_from_json({"version": 9, "type": "user", "contents": []})
    with pytest.raises(RunStateError, match="unknown value 'text'"):
        tool_execution_request_from_json({"type": "text", "text": "a"})


def test_an_error_names_the_place_and_never_shows_a_value() -> None:
    with pytest.raises(RunStateError) as caught:
        messages_from_json(_part(type="text", text={"token": "sk-very-secret"}))
    assert "sk-very-secret" not in str(caught.value)


def test_every_public_name_exists() -> None:
    assert all(hasattr(serialization, name) for name in serialization.__all__)
