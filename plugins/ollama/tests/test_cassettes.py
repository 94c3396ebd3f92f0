"""Every recording of a native answer is read, and requests of ours are those that were recorded.

Nothing recorded covers a stream, several calls or a further round of this API; `test_stream` has these by hand.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import NotFoundError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ProviderState,
    ResponseDone,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge_ollama.wire.errors import parse_error
from plugins.ollama.tests.support import OWNER, READING, body_of, dumped, events_in, plain, streamed
from tests.support.cassette_checks import Recordings, check_calls

ERROR, CALL, LEGACY = (
    "ollama-arize-chat-error-records-model-name",
    "ollama-arize-chat-with-callable-tool",
    "ollama-olm-ollama-chat-tool-calls-legacy",
)


RECORDINGS = Recordings(READING, "ollama", "ollama", files=3)


def one(shared: Path, stem: str) -> dict[str, Any]:
    return next(interaction for name, _, interaction in RECORDINGS.interactions(shared) if name == stem)


# -- answers --------------------------------------------------------------------------------------


def test_every_answer_is_read(shared: Path) -> None:
    """Each has a reason that fits, calls with names and objects as arguments, counted tokens; or it is an error."""
    read = 0
    for name, _, interaction in RECORDINGS.interactions(shared):
        answer = interaction["response"]
        if answer["status"] != 200:
            made = parse_error(answer["status"], {}, json.dumps(answer["body"]).encode())
            assert made.status == answer["status"] and answer["body"]["error"] in made.message
        else:
            response = plain(answer["body"])
            calls = response.ai_message.tool_execution_requests
            assert response.finish_reason is (FinishReason.TOOL_EXECUTION if calls else FinishReason.STOP), name
            check_calls(response, name)
            assert response.token_usage.total_tokens and response.model_name, name
        read += 1
    assert read == 3


def test_the_reply_with_a_call_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: thinking, an empty content, one call with its id, and ``stop`` as the reason."""
    body = one(shared, CALL)["response"]["body"]
    response = plain(body)
    assert response == ChatResponse(
        AiMessage(
            [
                ThinkingContent(body["message"]["thinking"], ProviderState(OWNER, {"field": "thinking"})),
                ToolExecutionRequest("call_2k7ryu9k", "add_two_numbers", '{"a":2,"b":3}'),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(310, 145, 455),
        None,
        "qwen3.6:latest",
        "stop",
    )
    assert response.token_usage.raw == {
        "total_duration": 1671921584,
        "load_duration": 140923875,
        "prompt_eval_count": 310,
        "prompt_eval_duration": 155740000,
        "eval_count": 145,
        "eval_duration": 1361034000,
    }
    assert body["message"]["thinking"].startswith("Thinking Process:")


def test_the_reply_of_2024_reads_as_reviewed(shared: Path) -> None:
    """Reviewed by hand: a text, its counts, and the model that gave it."""
    body = one(shared, LEGACY)["response"]["body"]
    assert plain(body) == ChatResponse(
        AiMessage([TextContent(body["message"]["content"])]),
        FinishReason.STOP,
        TokenUsage(44, 113, 157),
        None,
        "llama3.1",
        "stop",
    )
    assert body["message"]["content"].startswith("This is a simple example")


def test_the_error_reads_as_reviewed(shared: Path) -> None:
    answer = one(shared, ERROR)["response"]
    made = parse_error(answer["status"], {}, json.dumps(answer["body"]).encode())
    assert type(made) is NotFoundError and made.retryable is False
    assert made.message == "status 404: model 'nonexistent-model:latest' not found"
    assert "ollama pull" in (made.next_step or "")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_the_recorded_replies_as_a_stream_say_the_same_wherever_they_are_cut(shared: Path, data: st.DataObject) -> None:
    """A plain reply is a stream of one line, which is how the server makes it."""
    stem = data.draw(st.sampled_from([CALL, LEGACY]))
    body = one(shared, stem)["response"]["body"]
    content = dumped(body)
    places = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    events = events_in(*(content[begin:end] for begin, end in itertools.pairwise([0, *places, len(content)])))
    assert events == events_in(content)
    assert isinstance(events[-1], ResponseDone) and events[-1].response == streamed(content) == plain(body)


# -- requests -------------------------------------------------------------------------------------


def _without(*names: str) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        for name in names:
            body.pop(name, None)

    return change


def _empty_members(body: dict[str, Any]) -> None:
    for name in ("tools", "format", "options", "keep_alive"):
        if name in body and not body[name]:
            del body[name]


def _ids(body: dict[str, Any]) -> None:
    for message in body["messages"]:
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            call.pop("id", None)


def _indexes(body: dict[str, Any]) -> None:
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"].pop("index", None)


def _names_of_results(body: dict[str, Any]) -> None:
    for message in body["messages"]:
        message.pop("tool_name", None)


#: What is no difference, and why.
NORMALISATIONS: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_without("truncate"), "we ask for an error where the server would cut the conversation"),
    (_empty_members, "older clients send members that say nothing"),
    (_ids, "the server of 2024 had no ids"),
    (_indexes, "nor numbers of calls"),
    (_names_of_results, "nor names of results"),
]


def normal(body: Mapping[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(dict(body))
    for change, _ in NORMALISATIONS:
        change(made)
    return made


def history(body: Mapping[str, Any]) -> list[ChatMessage]:
    """The recorded messages as ours."""
    messages: list[ChatMessage] = []
    for message in body["messages"]:
        if message["role"] == "user":
            messages.append(UserMessage(message["content"]))
        elif message["role"] == "assistant":
            calls = plain({"message": message, "done": True}).ai_message.tool_execution_requests
            messages.append(AiMessage(message["content"], tool_execution_requests=calls))
        else:
            messages.append(ToolExecutionResultMessage(calls[0].id, calls[0].name, message["content"]))
    return messages


def parameters(body: Mapping[str, Any]) -> ChatRequestParameters:
    """The recorded settings as ours."""
    options = body.get("options", {})
    return ChatRequestParameters(
        model_name=body["model"],
        temperature=options.get("temperature"),
        seed=options.get("seed"),
        tools=[
            ToolSpecification(
                tool["function"]["name"],
                tool["function"]["description"],
                ToolParameters(tool["function"]["parameters"]),
            )
            for tool in body["tools"]
        ],
    )


@pytest.mark.parametrize("stem", [ERROR, CALL, LEGACY])
def test_every_recorded_request_is_made_again(shared: Path, stem: str) -> None:
    """The whole body: a question, a question with a tool, and the second round of a loop."""
    body = one(shared, stem)["request"]["body"]
    assert normal(body_of(history(body), parameters(body))) == normal(body)


def test_each_normalisation_is_needed(shared: Path) -> None:
    """The list holds nothing that hides a difference nobody has."""
    needed = set()
    for _, _, interaction in RECORDINGS.interactions(shared):
        body = interaction["request"]["body"]
        for side in (body, body_of(history(body), parameters(body))):
            for change, why in NORMALISATIONS:
                changed = copy.deepcopy(dict(side))
                change(changed)
                if changed != side:
                    needed.add(why)
    assert needed == {why for _, why in NORMALISATIONS}
