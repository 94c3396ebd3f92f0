"""What histories hold that servers refuse or mix up, and what only one API may read; encoded at a flat cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ProviderState,
    ResponseFormat,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import dump_text
from agentforge_openai.vendors import OPENAI
from plugins.openai.tests.responses.support import body_of as responses_body
from plugins.openai.tests.support import FakeTransport, model_on
from plugins.openai.tests.test_encode_once import encoder

ASK = UserMessage("q")


def turn(*ids: str) -> list[ChatMessage]:
    """A turn with calls of these ids, and its results."""
    calls = [ToolExecutionRequest(identity, "look", "{}") for identity in ids]
    return [AiMessage(calls), *(ToolExecutionResultMessage(call.id, "look", "fine") for call in calls)]


def sent(messages: list[ChatMessage], vendor: str = "openai", **parameters: Any) -> tuple[dict[str, Any], list[str]]:
    """The body of a request, and the codes of its notices."""
    request = ChatRequest(messages, ChatRequestParameters(**parameters))
    body, notices = model_on(FakeTransport(), vendor).preview(request)
    made: dict[str, Any] = json.loads(body)
    return made, [notice.code for notice in notices]


@pytest.mark.parametrize("ids", [("c", "c"), ("",), ("\ud800", "\ud801")])
@pytest.mark.parametrize("fresh", [False, True])
def test_the_cost_of_a_round_is_flat_whatever_the_ids_are(ids: tuple[str, ...], fresh: bool) -> None:
    """Also with new parameters in each round, of which each has a head and a shape of its own."""
    encode = encoder()
    kept = ChatRequestParameters()
    history: list[ChatMessage] = [ASK]
    costs = []
    for _ in range(40):
        history += turn(*ids)
        before = encode.encoded_bytes
        encode.encode(history, ChatRequestParameters() if fresh else kept)
        costs.append(encode.encoded_bytes - before)
    assert len(set(costs[1:])) == 1


def test_messages_whose_ids_were_changed_are_found_again_under_another_beginning() -> None:
    """As the turns are those of before, whatever stands around them."""
    encode = encoder()
    turns = [message for _ in range(20) for message in turn("c", "c")]
    parameters = ChatRequestParameters()
    encode.encode([ASK, *turns], parameters)
    before = encode.encoded_bytes
    encode.encode([UserMessage("another"), *turns], parameters)
    assert encode.encoded_bytes - before == len('{"role":"user","content":"another"}')


def test_a_conversation_goes_on_at_a_flat_cost_while_others_have_another_shape() -> None:
    """A loop that asks for its last answer without tools, and one that goes on with them."""
    encode = encoder(max_turns=2)
    tools = ChatRequestParameters(tools=(ToolSpecification("look"),))
    history: list[ChatMessage] = [UserMessage("x" * 100) for _ in range(10)]
    for parameters in (tools, ChatRequestParameters(model_name="other")):
        encode.encode(history, parameters)
    for parameters in (tools, ChatRequestParameters(model_name="other")):
        before = encode.encoded_bytes
        encode.encode([*history, UserMessage("new")], parameters)
        assert encode.encoded_bytes - before == len('{"role":"user","content":"new"}')


def test_ids_that_differ_only_in_what_cannot_be_written_are_distinct() -> None:
    body = sent([ASK, *turn("\ud800", "\ud801")])[0]
    calls = [call["id"] for call in body["messages"][1]["tool_calls"]]
    assert len(set(calls)) == 2
    assert [entry["tool_call_id"] for entry in body["messages"][2:]] == calls


@pytest.mark.parametrize(
    ("name", "expected", "notices"),
    [
        ("anna", "anna", []),
        ("Anna Müller", "Anna_M_ller_94666c88", ["user_name_changed"]),
        ("a" * 65, None, ["user_name_changed"]),
    ],
)
def test_the_name_of_a_user_is_sent_as_the_vendor_takes_it(name: str, expected: str | None, notices: list[str]) -> None:
    body, told = sent([UserMessage("q", name=name)])
    made = body["messages"][0]["name"]
    assert made == expected if expected is not None else len(made) <= 64
    assert told == notices


def test_a_vendor_without_a_rule_gets_the_name_as_it_is() -> None:
    body, told = sent([UserMessage("q", name="Anna Müller")], "generic")
    assert (body["messages"][0]["name"], told) == ("Anna Müller", [])


def test_the_rule_for_names_of_users_is_checked_with_the_row() -> None:
    assert "user_name_pattern" in OPENAI.PATTERNS


@pytest.mark.parametrize(("name", "expected"), [("answer", "answer"), ("my answer", "my_answer_acf8b9d3")])
def test_the_name_of_a_response_format_is_sent_as_the_apis_take_it(name: str, expected: str) -> None:
    form = ResponseFormat.json_schema({"type": "object", "properties": {}}, name=name)
    assert sent([ASK], response_format=form)[0]["response_format"]["json_schema"]["name"] == expected
    responses = responses_body([ASK], ChatRequestParameters(response_format=form))
    assert responses["text"]["format"]["name"] == expected


@pytest.mark.parametrize("owner", ["generic@llm.example/v1/messages", "generic@llm.example/v1/responses"])
def test_state_of_another_api_of_the_same_endpoint_stays_behind(owner: str) -> None:
    state = ProviderState(owner, {"reasoning_content": "SECRET", "signature": "SECRET", "extra_content": "SECRET"})
    call = ToolExecutionRequest("c", "look", "{}", provider_state=state)
    said = AiMessage([ThinkingContent("SECRET", state), TextContent("hi", state), call], provider_state=state)
    body = sent([ASK, said, ToolExecutionResultMessage("c", "look", "x")], "generic")[0]
    assert "SECRET" not in json.dumps(body)


def test_of_our_own_state_only_what_this_api_made_goes_back() -> None:
    """A block of another form, kept under the name of the same endpoint, is no field of a message or of a call."""
    from dataclasses import replace

    from agentforge_openai.vendors import GENERIC

    row = replace(GENERIC, replay_extras=True)
    state = ProviderState("generic@llm.example/v1", {"type": "thinking", "signature": "s", "extra_content": {"a": 1}})
    call = ToolExecutionRequest("c", "look", "{}", provider_state=state)
    history: list[ChatMessage] = [
        ASK,
        AiMessage([call], provider_state=state),
        ToolExecutionResultMessage("c", "look", "x"),
    ]
    body = json.loads(encoder(row).encode(history, ChatRequestParameters()).body)["messages"][1]
    assert body["extra_content"] == {"a": 1}
    assert "signature" not in json.dumps(body)
    assert body["tool_calls"][0]["type"] == "function"


def test_a_schema_that_is_too_deep_to_be_written_is_an_error_that_says_so() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {}}
    for _ in range(3000):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(ConfigurationError, match="nested too deep"):
        sent([ASK], tools=(ToolSpecification("t", "d", ToolParameters(deep)),))
    with pytest.raises(ConfigurationError, match="nested too deep"):
        dump_text(deep)
