"""Whatever a reply holds: what the wire says is what we read, and what we read is what goes back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatResponse,
    FinishReason,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing.contracts.streams import check_stream, same_reply
from agentforge.testing.responses_form import ResponsesForm
from agentforge_openai.responses.response import decode_response
from plugins.openai.tests.responses.support import (
    answering,
    body_of,
    call_item,
    events_in,
    plain,
    reasoning_item,
    text_item,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
NAME = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True).filter(lambda name: name != "parallel")
ARGUMENTS = st.dictionaries(TEXT, st.one_of(TEXT, st.integers(), st.none(), st.booleans()), max_size=3).map(json.dumps)

FINISH = st.sampled_from([FinishReason.STOP, FinishReason.LENGTH, FinishReason.CONTENT_FILTER])


@st.composite
def messages(draw: st.DrawFn) -> AiMessage:
    """A turn with parts in any order."""
    parts: list[Any] = []
    for position in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["text", "thinking", "call"]))
        if kind == "text":
            parts.append(TextContent(draw(TEXT)))
        elif kind == "thinking":
            parts.append(ThinkingContent(draw(TEXT)))
        else:
            parts.append(ToolExecutionRequest(f"call_{position}", draw(NAME), draw(ARGUMENTS)))
    return AiMessage(parts)


def seen(message: AiMessage) -> list[Any]:
    """The parts without what is kept for the way back."""
    return [
        (part.id, part.name, part.arguments) if isinstance(part, ToolExecutionRequest) else (type(part), part.text)  # type: ignore[union-attr]
        for part in message.contents
    ]


@settings(max_examples=80, deadline=None)
@given(messages(), FINISH)
def test_a_turn_on_the_wire_is_read_as_it_was(message: AiMessage, reason: FinishReason) -> None:
    """Plain and streamed: neutral, wire, neutral."""
    has_calls = message.has_tool_execution_requests
    expected = FinishReason.TOOL_EXECUTION if has_calls and reason is FinishReason.STOP else reason
    response = ChatResponse(message, expected, id="resp_1", model_name="m")
    form = ResponsesForm()
    read = decode_response(json.dumps(form.reply(response, {})).encode(), answering())
    streamed = check_stream(events_in(b"".join(form.events(response, {}, None))))
    assert seen(read.ai_message) == seen(message)
    assert read.finish_reason is expected
    same_reply(read, streamed)
    assert streamed.ai_message == read.ai_message


ITEMS = st.one_of(
    st.builds(lambda text, n: text_item(text, id=f"msg_{n}", phase="commentary"), TEXT, st.integers(1, 99)),
    st.builds(lambda name, args, n: call_item(name, args, n=n), NAME, ARGUMENTS, st.integers(1, 99)),
    st.builds(lambda text, n: reasoning_item(text, n=n), TEXT, st.integers(1, 99)),
    st.builds(
        lambda kind, data: {"type": kind, "id": "x", **data},
        st.sampled_from(["web_search_call", "mcp_call", "compaction"]),
        st.dictionaries(st.sampled_from("abc"), TEXT, max_size=2),
    ),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(ITEMS, max_size=6))
def test_items_go_back_as_they_came(items: list[dict[str, Any]]) -> None:
    """Wire, neutral, wire; each call and message has an id of its own, as servers give them."""
    items = [{**item, "id": f"{item['id']}-{at}"} for at, item in enumerate(items)]
    items = [{**item, "call_id": f"call_{at}"} if "call_id" in item else item for at, item in enumerate(items)]
    message = plain(*items, text_item("End.", id="msg_end")).ai_message
    results: list[ChatMessage] = [
        ToolExecutionResultMessage(call.id, call.name, "x") for call in message.tool_execution_requests
    ]
    sent = body_of([UserMessage("Hello"), message, *results])["input"]
    assert sent[1 : len(items) + 2] == [*items, text_item("End.", id="msg_end")]
    assert [item["call_id"] for item in sent[len(items) + 2 :]] == [
        item["call_id"] for item in items if "call_id" in item
    ]
