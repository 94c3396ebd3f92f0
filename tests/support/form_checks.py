"""What holds for every form of the scripted endpoint: what it says is what the wire of its protocol reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatResponse,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing.wire_form import WireForm
from tests.support.wire_exchange import Asking, Reading

__all__ = ("check_counts", "read_both_ways", "two_calls")


def two_calls(ids: str, thought: str = "hm") -> AiMessage:
    """A reply that thinks, speaks and calls twice, with such ids and a number."""
    return AiMessage(
        [
            ThinkingContent(thought),
            TextContent("I look."),
            ToolExecutionRequest(f"{ids}1", "look", '{"a":{"b":[1,2,3]}}'),
            ToolExecutionRequest(f"{ids}2", "look", "{}"),
        ]
    )


def read_both_ways(
    form: WireForm, reading: Reading[Any], response: ChatResponse, body: Mapping[str, Any] | None = None
) -> ChatResponse:
    """The response as it is read from a plain answer to ``body``, which is that of the stream, and says the same as
    ``response``."""
    read = reading.plain(form.reply(response, body or {}))
    assert read == reading.streamed(b"".join(form.events(response, body or {}, None)))
    assert read.ai_message.text == response.ai_message.text
    assert read.ai_message.thinking == response.ai_message.thinking
    calls, said = (each.ai_message.tool_execution_requests for each in (read, response))
    assert [(c.id, c.name, c.arguments_as_map()) for c in calls] == [(c.id, c.name, c.arguments_as_map()) for c in said]
    assert read.finish_reason is response.finish_reason
    assert (read.token_usage.input_tokens or 0) == (response.token_usage.input_tokens or 0)
    assert [each.url for each in read.citations] == [each.url for each in response.citations]
    return read


def check_counts(form: WireForm, asking: Asking, reply: AiMessage, **options: Any) -> None:
    """A request with instructions, a question, ``reply`` and the results of its calls: all calls are known, and all
    text, names and arguments are counted, with thinking where it goes back."""
    calls = reply.tool_execution_requests
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in calls]
    history: Sequence[ChatMessage] = [SystemMessage("be"), UserMessage("hello"), reply, *results]
    body = asking.body_of(history, **options)
    assert list(form.call_ids(body)) == [call.id for call in calls]
    texts = ["be", "hello", *(part.text for part in reply.contents if isinstance(part, (TextContent, ThinkingContent)))]
    texts += [word for call in calls for word in (call.name, call.arguments, "ok")]
    assert form.characters(body) == len("".join(texts))
    assert form.characters({}) == 0
