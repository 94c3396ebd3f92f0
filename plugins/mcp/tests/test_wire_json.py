"""Messages as servers write them: what is read though it is a little wrong, and whom an answer is for that is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCResponse

from agentforge_mcp.wire_json import answered_id, is_answer_to, message_of, whole_characters

HALF = rb"\ud83d"
ANSWER = b'{"jsonrpc": "2.0", "id": 1, "result": {"x": %s}}'


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (rb'"a \ud83d\ude00"', "a \U0001f600"),
        (b'"cut ' + HALF + b'"', "cut \ufffd"),
        (b'"' + HALF + rb"\n" + HALF + b'"', "\ufffd\n\ufffd"),
        (rb'"\\ud83d"', r"\ud83d"),
        (b'"caf\xe9"', "caf\ufffd"),
        (b"1" + b"0" * 5_000, float("inf")),
    ],
    ids=["a pair", "a half", "halves", "an escaped backslash", "another encoding", "a very long number"],
)
def test_what_a_server_got_a_little_wrong_is_read(value: bytes, read: object) -> None:
    """A character that is none stands where there was half of one; all else is as it was."""
    message = message_of(ANSWER % value)
    assert isinstance(message, JSONRPCResponse) and message.result == {"x": read}


def test_what_is_nested_deeper_than_the_sdk_reads_is_read() -> None:
    """So that the other tools of a list are; without end it is refused."""
    message = message_of(ANSWER % (b'{"a":' * 300 + b"1" + b"}" * 300))
    assert isinstance(message, JSONRPCResponse)
    with pytest.raises(ValueError, match="nested too deep"):
        message_of(ANSWER % (b'{"a":' * 50_000 + b"1" + b"}" * 50_000))


@pytest.mark.parametrize("line", [b"", b"[info] up", b"{", b"[]", b'{"status": 200}', b'{"jsonrpc": "2.0", "id": 1}'])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    """With the one error that readers expect."""
    with pytest.raises(ValueError, match=r".+"):
        message_of(line)


@settings(deadline=None)
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_whole_characters_stay(value: object) -> None:
    """Whatever a well-behaved server writes is left alone."""
    written = json.dumps(value).encode()
    assert whole_characters(written) == written


@pytest.mark.parametrize(
    ("start", "end", "request_id"),
    [
        (b'{"jsonrpc": "2.0", "id": 3, "result": {', b"}}", 3),
        (b'{"id": "4", "jsonrpc": "2.0", "result": {', b"}}", 4),
        (b'{"result": {"content": [', b']}, "jsonrpc": "2.0", "id": 5}', 5),
        (b'{"result": {"content": [', b']},"id":6,"jsonrpc":"2.0"}\n', 6),
        (b'{"jsonrpc": "2.0", "id": 7.0, "error": "x"}', b"", 7),
        (b'{"jsonrpc": "2.0", "result": {"id": 8, ', b'"id": 9}, "x": 1}', None),
        (b'{"jsonrpc": "2.0", "id": 10, "method": "ping"', b"}", None),
        (b'{"id": 11, "level": "info"}', b'{"id": 11, "level": "info"}', None),
        (b'{"jsonrpc": "2.0", "id": null, "result": [', b"]}", None),
    ],
)
def test_whom_an_unreadable_answer_is_for(start: bytes, end: bytes, request_id: int | None) -> None:
    """It is told by how it begins and ends, where servers write it, and never by what is inside of it."""
    assert answered_id(start, end) == request_id


def test_an_answer_is_for_one_request() -> None:
    """Its number may come back as text; what is no answer is for none."""
    answer = JSONRPCResponse(jsonrpc="2.0", id="7", result={})
    assert is_answer_to(answer, 7) and not is_answer_to(answer, 8)
    assert not is_answer_to(JSONRPCNotification(jsonrpc="2.0", method="x"), 7)
    assert not is_answer_to(JSONRPCError(jsonrpc="2.0", id=None, error={"code": 1, "message": ""}), 7)
