"""What a reply was read as goes back as it came: neutral to wire to neutral, and wire to neutral to wire."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from plugins.gemini.tests.support import body, body_of, own, piece, plain, streamed

OLD = "gemini-2.5-flash"
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=30)
signatures = st.binary(min_size=1, max_size=9).map(lambda data: b64encode(data).decode())
names = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_.:-]{0,40}\Z")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=4)
signed = st.fixed_dictionaries({"thoughtSignature": signatures})
calls = st.builds(
    lambda name, args, more, identity: {"functionCall": {"name": name, "args": args, **identity}, **more},
    names,
    objects,
    signed | st.just({}),
    st.builds(lambda number: {"id": f"id{number}"}, st.integers(0, 99)) | st.just({}),
)
parts = st.one_of(
    st.builds(lambda text, more: {"text": text, **more}, words, signed),
    st.builds(lambda text, more: {"text": text, "thought": True, **more}, words, signed),
    st.builds(lambda more: {"text": "", **more}, signed),
    st.builds(lambda code: {"executableCode": {"language": "PYTHON", "code": code}}, words),
    st.builds(lambda found: {"newerThing": found}, objects.filter(bool)),
    calls,
)


def sent_back(message: AiMessage, model: str) -> list[dict[str, Any]]:
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in message.tool_execution_requests]
    contents = body_of([UserMessage("q"), message, *results, UserMessage("and?")], model=model)["contents"]
    return [part for content in contents if content["role"] == "model" for part in content["parts"]]


@settings(max_examples=25, deadline=None)
@given(st.lists(parts, max_size=5))
def test_the_parts_of_a_reply_go_back_as_they_came(given_parts: list[dict[str, Any]]) -> None:
    """In their order, whatever they are; plain and streamed are the same message."""
    provider = f"gemini/generateContent/{OLD}"
    reply = plain(body(*given_parts), provider=provider).ai_message
    assert sent_back(reply, OLD) == given_parts
    pieces = b"".join(piece(part) for part in given_parts) + piece(finish="STOP")
    assert streamed(pieces, provider=provider).ai_message == reply


made = st.one_of(
    st.builds(lambda text, sign: TextContent(text, own(thoughtSignature=sign)), words, signatures),
    st.builds(lambda text, sign: ThinkingContent(text, own(thoughtSignature=sign)), words, signatures),
    st.builds(
        lambda name, arguments, sign: (name, json.dumps(arguments, separators=(",", ":"), ensure_ascii=False), sign),
        names,
        objects,
        signatures,
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(made, min_size=1, max_size=5))
def test_a_message_of_ours_is_read_as_it_was(given_parts: list[Any]) -> None:
    """Through the bytes of a request and back through an answer of the same parts."""
    turn = AiMessage(
        [
            ToolExecutionRequest(
                f"id{at}", part[0], part[1], True, own(thoughtSignature=part[2], functionCall={"id": f"id{at}"})
            )
            if isinstance(part, tuple)
            else part
            for at, part in enumerate(given_parts)
        ]
    )
    assert plain(body(*sent_back(turn, "gemini-3.5-flash"))).ai_message == turn
