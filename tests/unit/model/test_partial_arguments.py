"""Arguments while they are written: never more than was written, never an error, and in the end exactly the object."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentforge.errors import ToolArgumentsError
from agentforge.model import (
    AiMessage,
    ArgumentLimits,
    ChatResponse,
    PartialArguments,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
    ToolExecutionRequest,
    parse_arguments,
)


def calls_of(*pieces: str, index: int = 0, limits: ArgumentLimits | None = None) -> PartialArguments:
    made = PartialArguments() if limits is None else PartialArguments(limits=limits)
    for piece in pieces:
        made.add(ToolCallDelta(index, "c1", "get_weather", piece))
    return made


# -- what is shown -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown", "finished"),
    [
        ("", {}, {}),
        (" \n", {}, {}),
        ("{", {}, {}),
        ('{"ci', {}, {}),
        ('{"city"', {}, {}),
        ('{"city":', {}, {}),
        ('{"city": "', {"city": ""}, {}),
        ('{"city": "Hang', {"city": "Hang"}, {}),
        ('{"city": "Hanoi"', {"city": "Hanoi"}, {"city": "Hanoi"}),
        ('{"city": "Hanoi",', {"city": "Hanoi"}, {"city": "Hanoi"}),
        ('{"city": "Hanoi", "d', {"city": "Hanoi"}, {"city": "Hanoi"}),
        ('{"days": 1', {"days": 1}, {}),
        ('{"days": 1,', {"days": 1}, {"days": 1}),
        ('{"days": -', {}, {}),
        ('{"days": 1.', {"days": 1}, {}),
        ('{"days": 1.5e', {"days": 1.5}, {}),
        ('{"days": 1.5e2 ', {"days": 150.0}, {"days": 150.0}),
        ('{"fine": tru', {}, {}),
        ('{"fine": true', {"fine": True}, {"fine": True}),
        ('{"none": null, "no": false', {"none": None, "no": False}, {"none": None, "no": False}),
        ('{"stops": [', {"stops": []}, {"stops": []}),
        ('{"stops": [1, 2', {"stops": [1, 2]}, {"stops": [1]}),
        ('{"stops": ["a", {"name": "b', {"stops": ["a", {"name": "b"}]}, {"stops": ["a", {}]}),
        ('{"a": {"b": {"c": [[]', {"a": {"b": {"c": [[]]}}}, {"a": {"b": {"c": [[]]}}}),
        ('{"say": "a\\', {"say": "a"}, {}),
        ('{"say": "a\\n\\u00e9\\"', {"say": 'a\né"'}, {}),
        ('{"say": "\\ud83d', {"say": ""}, {}),
        ('{"say": "\\ud83d\\ude', {"say": ""}, {}),
        ('{"say": "\\ud83d\\ude00', {"say": "😀"}, {}),
        ('{"say": "two\nlines', {"say": "two\nlines"}, {}),
        ('```json\n{"city": "Ha', {"city": "Ha"}, {}),
        ("```js", {}, {}),
    ],
)
def test_what_is_shown_of_a_text_that_has_begun(text: str, shown: Any, finished: Any) -> None:
    """Texts and numbers as far as they came, or not at all; a key with its value; an escape once it is whole."""
    for pieces in ((text,), tuple(text)):
        calls = calls_of(*pieces)
        assert calls.arguments() == shown
        assert calls.arguments(unfinished=False) == finished


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": 1} and more', {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 1}),
        ('{"a": 1; "b": 2}', {"a": 1}),
        ('{"a": 01, "b": 2}', {}),
        ('{"a": "x", "b": NaN, "c": 1}', {"a": "x"}),
        ('{"a": "x\\q", "b": 1}', {}),
        ('{"a": ["x", "\\ud83d"], "b": 1}', {"a": ["x"]}),
        ('{"a": [1, "\ud83d"]}', {"a": [1]}),
        ('{"a": 1]', {"a": 1}),
        ('{"a": ' + "9" * 1001 + ', "b": 1}', {}),
        ('{"a": 1e999, "b": 1}', {}),
        ('{"a" 1}', {}),
        ('{"a":}', {}),
        ("{a: 1}", {}),
        ("[1, 2]", {}),
        ('"text"', {}),
        ("Let me see.", {}),
        ("`x`", {}),
    ],
)
def test_a_text_that_is_no_object_is_shown_up_to_where_it_went_wrong(text: str, shown: Any) -> None:
    with pytest.raises(ToolArgumentsError):
        parse_arguments(text)
    for pieces in ((text,), tuple(text)):
        assert calls_of(*pieces).arguments() == shown


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Hanoi"}',
        ' \ufeff {"city": "Hanoi"}\n',
        '```json\n{"city": "Hanoi"}\n```',
        '{"city": "Hanoi",}',
        '{"stops": [1, 2,], "none": [,], "no": {,}}',
        '"{\\"city\\": \\"Hanoi\\"}"',
        '"{"city": "Hanoi"}"',
        ' "{\\"city\\": \\"Hanoi\\"}" \n',
        '"{\\"city\\": \\"Hanoi\\"}\\n\\u0020"',
        '"{\\"city\\": \\"Hanoi\\", } "',
        '```json\n"{\\"city\\": \\"Hanoi\\"}"\n```',
        '{"id": 12345678901234567890, "price": 1.00000000000000000001, "big": 9007199254740993.0, "far": 1e23}',
        "{}",
    ],
)
def test_a_text_that_has_ended_is_what_a_tool_would_get(text: str) -> None:
    """Numbers, and what stands around an object, by the one rule for arguments; also when somebody asked on the way."""
    whole = ToolExecutionRequest("c1", "get_weather", text).arguments_as_map()
    asked = PartialArguments()
    for piece in text:
        asked.add(ToolCallDelta(0, "c1", "get_weather", piece))
        asked.arguments()
    for calls in (calls_of(text), calls_of(*text), asked):
        assert calls.arguments() == calls.arguments(unfinished=False) == whole
        assert json.dumps(calls.arguments()) == json.dumps(whole)
        assert [type(value) for value in calls.arguments().values()] == [type(value) for value in whole.values()]


def test_numbers_are_read_by_the_rule_for_arguments_before_the_text_has_ended_too() -> None:
    """No digit is lost unseen."""
    calls = calls_of('{"id": 12345678901234567890, "price": 1.00000000000000000001, "days": 3')
    shown = calls.arguments()
    assert (shown["id"], shown["days"]) == (12345678901234567890, 3)
    assert shown["price"].text == "1.00000000000000000001"


# -- the events ----------------------------------------------------------------------------------


def test_calls_are_told_apart_by_their_index() -> None:
    calls = PartialArguments()
    for index, name, piece in [(0, "look", '{"a"'), (1, None, '{"b": [1'), (0, None, ': "x'), (1, "find", ", 2")]:
        calls.add(ToolCallDelta(index, None, name, piece))

    assert calls.indexes == (0, 1)
    assert [(calls.name(index), calls.arguments(index)) for index in calls.indexes] == [
        ("look", {"a": "x"}),
        ("find", {"b": [1, 2]}),
    ]
    assert (calls.arguments(7), calls.name(7)) == ({}, None)
    assert repr(calls) == "PartialArguments(2 calls)"


def test_the_next_reply_begins_anew() -> None:
    """Also where the stream of a run goes on, whose replies number their calls from 0 each."""
    calls = calls_of('{"city": "Oslo"}')
    calls.add(TextDelta("A moment."))
    calls.add(ResponseDone(ChatResponse(AiMessage("A moment."))))
    assert calls.arguments() == {"city": "Oslo"}

    calls.add(ToolCallDelta(0, "c1", "get_weather", '{"city": "Ha'))
    assert calls.arguments() == {"city": "Ha"}

    calls.add(ToolCallDelta(0, "c2", "get_weather", '{"city": "B'))  # another attempt, without an end of the first
    assert calls.arguments() == {"city": "B"}

    calls.clear()
    assert calls.indexes == ()


def test_what_was_shown_does_not_change_when_more_comes() -> None:
    calls = calls_of('{"stops": ["a", {"name": "b"}], "more": {"x": [1')
    shown = calls.arguments()
    kept = json.dumps(shown)
    calls.add(ToolCallDelta(0, None, None, ', 2], "y": "z"}, "end": 1}'))

    assert calls.arguments()["end"] == 1
    assert json.dumps(shown) == kept


# -- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "text", "shown"),
    [
        (ArgumentLimits(max_depth=2), '{"a": {"b": {"c": 1}}}', {"a": {}}),
        (ArgumentLimits(max_members=3), '{"a": [1, 2, 3, 4]}', {"a": [1, 2]}),
        (ArgumentLimits(max_bytes=10), '{"a": "0123456789"}', {"a": "0123"}),
    ],
)
def test_what_is_beyond_a_bound_is_not_read(limits: ArgumentLimits, text: str, shown: Any) -> None:
    for pieces in ((text,), tuple(text)):
        assert calls_of(*pieces, limits=limits).arguments() == shown


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"a": ' + "[" * 100_000])
def test_nesting_is_bounded(text: str) -> None:
    json.dumps(calls_of(text).arguments())


@pytest.mark.parametrize(
    "text",
    [
        '{"text": "' + "word " * 20_000,
        '{"text": "' + "\\u00e9" * 15_000,
        '{"a": ' + " " * 100_000,
        " " * 100_000,
        '"{      ' + 'wordy \\"' * 10_000,
    ],
    ids=["text", "escapes", "spaces inside", "spaces", "a text with an object in it"],
)
def test_asking_after_every_piece_reads_the_text_once(text: str) -> None:
    """Four times the text takes about four times as long; read from its start each time it would be sixteen."""

    def seconds(text: str) -> float:
        taken = []
        for _ in range(3):
            begun = time.process_time()
            calls = PartialArguments()
            for at in range(0, len(text), 8):
                calls.add(ToolCallDelta(0, None, None, text[at : at + 8]))
                calls.arguments(unfinished=False)
            taken.append(time.process_time() - begun)
        return min(taken)

    short = seconds(text[: len(text) // 4])
    assert seconds(text) < 9 * short


# -- any text ------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), _JSON, max_size=5)


def consistent(part: Any, whole: Any, *, last: bool, unfinished: bool) -> bool:
    """Whether ``part`` may become ``whole`` by what is appended; ``last``: it may still grow."""
    if isinstance(whole, dict):
        if not isinstance(part, dict) or list(part) != list(whole)[: len(part)]:
            return False
        ends = list(part)[-1:]
        return all(
            consistent(part[key], whole[key], last=last and key in ends, unfinished=unfinished) for key in part
        ) and (last or len(part) == len(whole))
    if isinstance(whole, list):
        if not isinstance(part, list) or len(part) > len(whole):
            return False
        return all(
            consistent(each, whole[at], last=last and at == len(part) - 1, unfinished=unfinished)
            for at, each in enumerate(part)
        ) and (last or len(part) == len(whole))
    if last and unfinished and isinstance(whole, str):
        return isinstance(part, str) and whole.startswith(part)
    if last and unfinished and isinstance(whole, (int, float)) and not isinstance(whole, bool):
        text = json.dumps(whole)
        return isinstance(part, (int, float)) and any(_read(text[:end]) == part for end in range(1, len(text) + 1))
    return bool(part == whole) and type(part) is type(whole)


def _read(text: str) -> Any:
    try:
        return parse_arguments(f'{{"number": {text}}}')["number"]
    except ToolArgumentsError:
        return None


@settings(deadline=None)
@given(value=_OBJECTS, ascii_only=st.booleans(), step=st.integers(1, 7), indent=st.sampled_from([None, 2]))
@example(value={"a": '\U0001f600\\"\n'}, ascii_only=True, step=1, indent=None)
@example(value={"a": -1.5e-20, "b": [10**30]}, ascii_only=False, step=1, indent=None)
def test_every_prefix_shows_a_part_of_the_whole(
    value: dict[str, Any], ascii_only: bool, step: int, indent: int | None
) -> None:
    """And at the end it is the whole."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    whole = parse_arguments(text)
    calls = PartialArguments()
    for at in range(0, len(text), step):
        calls.add(ToolCallDelta(0, "c1", "f", text[at : at + step]))
        for unfinished in (True, False):
            shown = calls.arguments(unfinished=unfinished)
            assert consistent(shown, whole, last=True, unfinished=unfinished), (text[: at + step], shown)

    assert json.dumps(calls.arguments()) == json.dumps(whole)


@settings(deadline=None)
@given(
    pieces=st.lists(
        st.text(max_size=8)
        | st.text('{}[]",:\\u0123dbtrfnlase+-.eE \n`', max_size=8)
        | st.sampled_from(['{"a":', '"', "\\ud83d", "\ud83d", "[", "]", "}", "1e", "null", ", ", "```json\n", "\ufeff"])
    )
)
@example(pieces=['{"a": "', "\\ud83d", "\\u0041"])
@example(pieces=["{", ",", "}"])
@example(pieces=["²"])
@example(pieces=['{"a": ²'])
def test_no_text_raises_and_pieces_make_no_difference(pieces: list[str]) -> None:
    """What is shown in the end does not depend on how the text was cut, or on whether somebody asked on the way; and a
    text that is an object is shown as it is."""
    text = "".join(pieces)
    asked = PartialArguments()
    for piece in pieces:
        asked.add(ToolCallDelta(0, None, None, piece))
        asked.arguments()
        asked.arguments(unfinished=False)
    at_once = calls_of(text)

    for unfinished in (True, False):
        assert asked.arguments(unfinished=unfinished) == at_once.arguments(unfinished=unfinished)
    try:
        whole = parse_arguments(text)
    except ToolArgumentsError:
        return
    assert asked.arguments() == whole
