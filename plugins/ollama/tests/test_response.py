"""Plain answers: parts, ids, names, arguments, and what is no answer at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ModelError, OverloadedError, ProtocolError, StreamTruncatedError
from agentforge.model import FinishReason, ProviderState, TextContent, ThinkingContent, ToolExecutionRequest
from plugins.ollama.tests.support import GOOD, OWNER, call, dumped, last, line, plain, reply, streamed
from tests.support.wire_exchange import calls_of


def test_a_reply_has_thinking_text_and_calls_in_this_order() -> None:
    response = plain(reply("I look.", thinking="hm", tool_calls=[call(id="call_1")]))
    assert response.ai_message.contents == (
        ThinkingContent("hm", ProviderState(OWNER, {"field": "thinking"})),
        TextContent("I look."),
        ToolExecutionRequest("call_1", "get_weather", '{"city":"Oslo"}'),
    )
    assert response.finish_reason is FinishReason.TOOL_EXECUTION and response.id is None
    assert json.loads(response.raw_body or b"")["message"]["thinking"] == "hm"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "{}"),
        ({"city": "杭州", "deep": {"list": [1.5, True, None]}}, '{"city":"杭州","deep":{"list":[1.5,true,null]}}'),
        ('{"city": "Ro', '{"city": "Ro'),
        ('{"city": "Rome"}', '{"city": "Rome"}'),
        ([1], "[1]"),
        (" ", "{}"),
    ],
    ids=["none", "an object", "half a text", "a text", "a list", "a blank text"],
)
def test_arguments_are_the_text_of_what_came(arguments: Any, text: str) -> None:
    """An object as this API has it; texts and others of hosts that speak the form are left to the check of them."""
    assert calls_of(plain(reply(tool_calls=[call(arguments=arguments, id="a")]))) == [("a", "get_weather", text)]


@pytest.mark.parametrize("function", [{"name": "get_weather"}, {"name": "get_weather", "arguments": None}])
def test_arguments_that_are_missing_are_an_empty_object(function: dict[str, Any]) -> None:
    assert calls_of(plain(reply(tool_calls=[{"function": function}]))) == [("made_1", "get_weather", "{}")]


def test_ids_differ_whatever_the_server_gave() -> None:
    """None, the same twice, or no text."""
    calls = [call(), call(id="a"), call(id="a"), call(id=7), call(id=" ")]
    made = plain(reply(tool_calls=calls)).ai_message.tool_execution_requests
    assert [each.id for each in made] == ["made_1", "a", "made_2", "made_3", "made_4"]
    assert [each.id_was_given for each in made] == [False, True, False, False, False]


def test_names_are_taken_back() -> None:
    """An alias, a name with white space around it, and one that nobody knows."""
    calls = [call("files_read"), call(" get_time "), call("other")]
    response = plain(reply(tool_calls=calls), aliases={"files_read": "files/read"})
    assert [name for _, name, _ in calls_of(response)] == ["files/read", "get_time", "other"]


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": None, "thinking": None},
        {"content": "", "tool_calls": [None, {}, {"function": "x"}], "thinking": 5, "images": []},
        {},
    ],
)
def test_a_message_without_anything_is_an_empty_reply(message: dict[str, Any]) -> None:
    response = plain({**GOOD, "message": message})
    assert response.ai_message.contents == () and response.finish_reason is FinishReason.STOP


@pytest.mark.parametrize("word", ["load", "unload"])
def test_a_reply_that_only_loads_or_unloads_the_model_says_so(word: str) -> None:
    """As the server answers a request without messages, which another program may have made."""
    body = {
        "model": "qwen3",
        "created_at": "2026-08-21T18:48:22Z",
        "message": {"role": "assistant", "content": ""},
        "done_reason": word,
        "done": True,
    }
    response = plain(body)
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.OTHER, word)
    assert response.ai_message.contents == ()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"404 page not found", "the answer is not a JSON object"),
        (b"", "the answer is not a JSON object"),
        (b"[]", "the answer is not a JSON object"),
        (b'{"choices": []}', "the answer has no message"),
        (b'{"message": "hi", "done": true}', "the answer has no message"),
        (json.dumps({**GOOD, "done": False}).encode(), "only the beginning of one"),
    ],
)
def test_what_is_no_answer_is_a_fault_of_the_protocol(content: bytes, what: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        plain(content)
    assert what in caught.value.message and caught.value.next_step


def test_an_error_under_status_200_is_an_error() -> None:
    with pytest.raises(OverloadedError, match="server busy"):
        plain({"error": "server busy, please try again.  maximum pending requests exceeded"})
    with pytest.raises(ModelError, match="said so"):
        plain({"error": {"message": "said so"}})


def test_a_stream_where_a_whole_answer_was_asked_for_is_joined() -> None:
    """As a proxy may answer that passes over what was asked."""
    content = line("It ") + line("rains.", tool_calls=[call(id="a")]) + last()
    response = plain(content)
    assert response.ai_message == streamed(content).ai_message and response.raw_body == content
    with pytest.raises(StreamTruncatedError) as caught:
        plain(line("It ") + line("rains."))
    assert caught.value.partial_text == "It rains."
    with pytest.raises(ModelError, match="no luck"):
        plain(line("It ") + dumped({"error": "no luck"}))
