"""What an MCP result becomes: each thing once, pictures as pictures, and all of it bounded."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ToolExecutionError
from agentforge.masking import Secrets
from agentforge.model import TextContent
from agentforge.tool.execution import ToolExecutionResult
from agentforge_mcp.results import masked, prompt_result, resource_result, result_of

PNG = base64.b64encode(b"hi").decode()


def made(wire: dict[str, Any], *, max_bytes: int = 10_000, keep_meta: bool = False) -> ToolExecutionResult:
    """A result from its form on the wire."""
    answer = types.CallToolResult.model_validate(wire, by_name=False)
    return result_of(answer, tool="t", max_bytes=max_bytes, keep_meta=keep_meta)


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def told(result: ToolExecutionResult) -> list[Any]:
    """What the model is told: texts as they are, other parts as their class and media type."""
    return [
        part.text if isinstance(part, TextContent) else (type(part).__name__, getattr(part, "media_type", None))
        for part in result.contents
    ]


ITEMS = {"items": ["a", "b"]}
RESULTS = [
    ("text", {"content": [text("hello")]}, ["hello"], None),
    ("texts one after the other", {"content": [text("a"), text("b")]}, ["a\nb"], None),
    ("nothing", {"content": []}, ["Success"], None),
    (
        "the object as text too",
        {"content": [text(json.dumps(ITEMS))], "structuredContent": ITEMS},
        [json.dumps(ITEMS)],
        ITEMS,
    ),
    (
        "in another form",
        {"content": [text('{ "items":["a","b"] }')], "structuredContent": ITEMS},
        ['{ "items":["a","b"] }'],
        ITEMS,
    ),
    ("the object alone", {"content": [], "structuredContent": ITEMS}, ['{"items": ["a", "b"]}'], ITEMS),
    (
        "the object and other words",
        {"content": [text("two")], "structuredContent": ITEMS},
        ['two\n{"items": ["a", "b"]}'],
        ITEMS,
    ),
    ("a value that was wrapped", {"content": [text("5")], "structuredContent": {"result": 5}}, ["5"], {"result": 5}),
    (
        "a text that was wrapped",
        {"content": [text("five")], "structuredContent": {"result": "five"}},
        ["five"],
        {"result": "five"},
    ),
    (
        "a text under another name, with a line's end",
        {"content": [text("no newline\n")], "structuredContent": {"content": "no newline"}},
        ["no newline\n"],
        {"content": "no newline"},
    ),
    (
        "one text of two",
        {"content": [text("a")], "structuredContent": {"content": "a", "more": "b"}},
        ['a\n{"content": "a", "more": "b"}'],
        {"content": "a", "more": "b"},
    ),
    (
        "true is not one",
        {"content": [text("1")], "structuredContent": {"result": True}},
        ['1\n{"result": true}'],
        {"result": True},
    ),
    (
        "a picture",
        {"content": [text("shot"), {"type": "image", "data": PNG, "mimeType": "image/png"}]},
        ["shot", ("ImageContent", "image/png")],
        None,
    ),
    (
        "sound",
        {"content": [{"type": "audio", "data": PNG, "mimeType": "audio/wav"}]},
        [("AudioContent", "audio/wav")],
        None,
    ),
    (
        "an embedded text",
        {"content": [{"type": "resource", "resource": {"uri": "file:///a.txt", "text": "words"}}]},
        ["words"],
        None,
    ),
    (
        "an embedded document",
        {
            "content": [
                {"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": PNG, "mimeType": "application/pdf"}}
            ]
        },
        [("FileContent", "application/pdf")],
        None,
    ),
    (
        "an embedded archive",
        {
            "content": [
                {"type": "resource", "resource": {"uri": "file:///a.zip", "blob": PNG, "mimeType": "application/zip"}}
            ]
        },
        ["[application/zip at file:///a.zip of 2 bytes]"],
        None,
    ),
    (
        "a link",
        {
            "content": [
                {
                    "type": "resource_link",
                    "uri": "file:///b",
                    "name": "b",
                    "mimeType": "text/csv",
                    "description": "Sales.",
                }
            ]
        },
        ["[resource b (text/csv) at file:///b]: Sales."],
        None,
    ),
    (
        "data that is none",
        {"content": [{"type": "image", "data": "!!", "mimeType": "image/png"}]},
        ["[image/png: its data is no base64]"],
        None,
    ),
]


@pytest.mark.parametrize(("wire", "parts", "value"), [row[1:] for row in RESULTS], ids=[row[0] for row in RESULTS])
def test_a_result_is_told_once_and_as_what_it_is(wire: dict[str, Any], parts: list[Any], value: Any) -> None:
    """The structured value is the result's object."""
    result = made(wire)
    assert told(result) == parts and result.result == value
    assert not result.is_error and "ImageContent(" not in result.text


def test_a_failure_is_an_error_with_the_servers_words() -> None:
    """For the model; one without words says so."""
    with pytest.raises(ToolExecutionError) as caught:
        made({"content": [text("no such"), text("order")], "isError": True, "structuredContent": ITEMS})
    assert caught.value.message == "no such\norder"
    with pytest.raises(ToolExecutionError, match="it gave no reason"):
        made({"content": [], "isError": True})


def test_what_goes_with_a_result_is_dropped_unless_it_is_to_be_kept() -> None:
    """And even then no model sees it."""
    wire = {"content": [text("a")], "_meta": {"trace": "x"}}
    assert made(wire).attributes == {}
    kept = made(wire, keep_meta=True)
    assert kept.attributes == {"_meta": {"trace": "x"}} and kept.text == "a"


def test_a_large_result_is_cut_and_large_data_is_left_out() -> None:
    """Text at a character, with a note; a picture is whole or not there."""
    result = made({"content": [text("ä" * 100)]}, max_bytes=51)
    assert result.text == "ä" * 25 + "\n[cut: 149 of 200 bytes are left out]"
    picture = {"type": "image", "data": base64.b64encode(b"x" * 300).decode(), "mimeType": "image/png"}
    assert told(made({"content": [text("a"), picture]}, max_bytes=100)) == [
        "a\n[image/png of 300 bytes: too large to be given here]"
    ]


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=6), st.integers(min_value=0, max_value=200))
def test_no_result_is_larger_than_is_allowed(texts: list[str], limit: int) -> None:
    """But for the notes about what is left out."""
    texts = [each.encode(errors="replace").decode() for each in texts]
    result = made({"content": [text(each) for each in texts]}, max_bytes=limit)
    kept = "".join(line for line in result.text.split("\n") if not line.startswith("[cut: "))
    assert len(kept.encode()) <= max(limit, len("Success")) + len(texts)


def test_resources_and_prompts_are_told_likewise() -> None:
    """A prompt with the roles of its messages."""
    contents = [
        {"uri": "file:///a", "text": "words"},
        {"uri": "file:///b", "blob": PNG, "mimeType": "image/png"},
        {"uri": "file:///c", "blob": PNG},
    ]
    resource = types.ReadResourceResult.model_validate({"contents": contents}, by_name=False)
    result = resource_result(resource, max_bytes=1_000)
    assert told(result) == [
        "words",
        ("ImageContent", "image/png"),
        "[application/octet-stream at file:///c of 2 bytes]",
    ]
    messages = [{"role": "user", "content": text("Hi")}, {"role": "assistant", "content": text("Hello")}]
    prompt = types.GetPromptResult.model_validate({"messages": messages}, by_name=False)
    assert prompt_result(prompt, max_bytes=1_000).text == "user:\nHi\nassistant:\nHello"


@pytest.mark.parametrize(
    ("parts", "structured"),
    [(300_000, None), (100_000, {"a": ["x" * 100] * 1_000})],
    ids=["texts", "texts beside an object"],
)
def test_parts_without_end_cost_no_time(parts: int, structured: Any) -> None:
    """A thousand are taken; what is left out is said."""
    begun = time.monotonic()
    content = [types.TextContent(text="1")] * parts
    answer = types.CallToolResult(content=content, structured_content=structured)
    assert f"[cut: {parts - 1_000:,} further parts are left out]" in result_of(answer, tool="t", max_bytes=10**7).text
    assert time.monotonic() - begun < 5


def test_what_does_not_fit_is_told_once() -> None:
    """And not for each part."""
    found = made({"content": [text("x" * 60)] * 500}, max_bytes=100)
    assert found.text.count("cut:") == 2 and len(found.text) < 300


def test_secrets_are_masked_in_all_that_a_server_says() -> None:
    """In texts and in the object, wherever they are; pictures stay."""
    picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
    found = made({"content": [text("key sk-canary-1"), picture], "structuredContent": {"key": "sk-canary-1", "n": 1}})
    hidden = masked(found, Secrets(["sk-canary-1"]))
    assert told(hidden) == ["key ***", ("ImageContent", "image/png"), '{"key": "***", "n": 1}']
    assert hidden.result == {"key": "***", "n": 1}
