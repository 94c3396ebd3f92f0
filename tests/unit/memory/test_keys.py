"""What a conversation is kept under, and the conversation itself as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import RunStateError
from agentforge.memory import Conversation, MemoryKey, MemoryKeyError, Suspension
from agentforge.model import History
from agentforge.testing.contracts.memory_store import FULL
from tests.unit.memory.samples import NOON, ask, called

ID = UUID("12345678123456781234567812345678")


@pytest.mark.parametrize(
    ("memory_id", "text"), [("42", "42"), (42, "42"), (-1, "-1"), (ID, str(ID)), (" ", " "), ("会话", "会话")]
)
def test_a_memory_id_is_a_text_a_whole_number_or_a_uuid(memory_id: object, text: str) -> None:
    """Which stand for their text."""
    assert MemoryKey(None, memory_id).memory_id == text


@pytest.mark.parametrize(
    ("tenant", "memory_id", "message"),
    [
        (None, None, "needs a memory id"),  # row 279
        (None, "", "at least one character"),
        (None, True, "not bool"),
        (None, 1.5, "not float"),
        (None, b"42", "not bytes"),
        (None, ("a", "b"), "not tuple"),
        (None, object(), "not object"),
        (None, "x" * 1_001, "at most 1000"),
        ("", "42", "at least one character"),
        (7, "42", "not int"),
        ("x" * 1_001, "42", "at most 1000"),
    ],
)
def test_anything_else_is_refused(tenant: Any, memory_id: object, message: str) -> None:
    """A conversation is never kept under the text of an object that happens to be there."""
    with pytest.raises(MemoryKeyError, match=message) as caught:
        MemoryKey(tenant, memory_id)
    assert isinstance(caught.value, ValueError)


_texts = st.text(min_size=1, max_size=6) | st.sampled_from(['"', ",", "[", "null", "\\", "\x00", "\ud800", '","'])


@given(st.none() | _texts, _texts, st.none() | _texts, _texts)
def test_two_keys_have_one_text_only_when_they_are_one(t1: str | None, m1: str, t2: str | None, m2: str) -> None:
    """And the text is read back as the key."""
    one, two = MemoryKey(t1, m1), MemoryKey(t2, m2)
    assert (one.encoded == two.encoded) == (one == two) == ((t1, m1) == (t2, m2))
    assert MemoryKey.decode(one.encoded) == one
    assert one.encoded.isascii()


@pytest.mark.parametrize("text", ["", "x", '["a"]', '["a", "b"]', '[1,"b"]', '["a","b","c"]', '{"a":1,"b":2}', "1"])
def test_a_text_that_is_no_keys_is_refused(text: str) -> None:
    """Also one that only looks like it."""
    with pytest.raises(MemoryKeyError):
        MemoryKey.decode(text)


def test_a_key_is_shown_with_its_tenant() -> None:
    """In the messages of errors."""
    assert f"{MemoryKey('acme', 42)}, {MemoryKey(None, 'x')}" == "'42' of tenant 'acme', 'x'"


# -- the conversation ----------------------------------------------------------------------------


def test_a_conversation_is_written_and_read_back() -> None:
    """As an object, as text and as bytes."""
    full = replace(FULL, version=7)
    data = full.to_json()
    assert data["version"] == 1 and data["revision"] == 7
    for form in (data, json.dumps(data), json.dumps(data).encode()):
        assert Conversation.from_json(form) == full


def test_its_messages_are_always_a_valid_history() -> None:
    """What is not is mended when it is made and when it is read."""
    broken = Conversation(created=NOON, updated=NOON, messages=[ask("1"), called("a")[0]])  # type: ignore[arg-type]
    assert type(broken.messages) is History
    assert len(broken.messages) == 3
    data = broken.to_json()
    del data["messages"]["messages"][2]

    assert len(Conversation.from_json(data).messages) == 3


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({"version": 9}, "version"),
    "an unknown field": ({"more": 1}, "more"),
    "no revision": ({"revision": None}, "revision"),
    "a negative revision": ({"revision": -1}, "revision"),
    "no time": ({"created": "noon"}, "created"),
    "a time without a zone": ({"updated": "2026-08-21T12:00:00"}, "updated"),
    "no messages": ({"messages": []}, "messages"),
    "a message of no kind": ({"messages": {"version": 1, "messages": [{"type": "x"}]}}, "messages.messages[0].type"),
    "a state that is none": ({"state": [1]}, "state"),
    "a suspension without its run": ({"suspended": {"since": NOON.isoformat()}}, "suspended.run"),
    "a suspension since ever": ({"suspended": {"run": {}, "since": "ever"}}, "suspended.since"),
    "a suspension of something more": ({"suspended": {"x": 1}}, "suspended.x"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_does_not_fit_is_refused_with_its_place(kind: str) -> None:
    """Nothing is guessed."""
    changes, place = BROKEN[kind]
    with pytest.raises(RunStateError) as caught:
        Conversation.from_json({**FULL.to_json(), **changes})
    assert caught.value.location == place


@pytest.mark.parametrize("field", ["created", "updated", "messages", "revision", "version"])
def test_a_field_that_is_missing_is_told(field: str) -> None:
    """By its name."""
    data = FULL.to_json()
    del data[field]
    with pytest.raises(RunStateError) as caught:
        Conversation.from_json(data)
    assert caught.value.location == field


def test_what_is_made_wrongly_is_refused_where_it_is_made() -> None:
    """A time without a zone, and what JSON cannot hold."""
    with pytest.raises(RunStateError, match="time zone"):
        Conversation(created=datetime(2026, 1, 1), updated=NOON)
    with pytest.raises(RunStateError, match="set cannot be stored"):
        Conversation(created=NOON, updated=NOON, state={"found": {1}})
    with pytest.raises(RunStateError, match="a mapping is needed"):
        Suspension([1], NOON)  # type: ignore[arg-type]
