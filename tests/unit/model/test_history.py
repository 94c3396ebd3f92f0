"""A history is always valid: every call has its one result, directly after it and in the order of the calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model.history import LOST_RESULT, History, mend_history
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.tool_call import ToolExecutionRequest

SYSTEM = SystemMessage("Be brief.")
ASK = UserMessage("Weather?")
ANSWER = AiMessage("22 degrees.")


def _calls(*ids: str) -> AiMessage:
    return AiMessage([ToolExecutionRequest(id_, "now", "{}") for id_ in ids])


def _result(id_: str, text: str = "noon") -> ToolExecutionResultMessage:
    return ToolExecutionResultMessage(id_, "now", text)


def _lost(id_: str) -> ToolExecutionResultMessage:
    return ToolExecutionResultMessage(id_, "now", LOST_RESULT, is_error=True)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [SYSTEM, ASK, ANSWER],
        [ASK, _calls("a"), _result("a"), ANSWER],
        [ASK, _calls("a", "b"), _result("a"), _result("b")],
        [ASK, _calls("a"), _result("a"), _calls("a"), _result("a"), ANSWER],
        [ASK, _calls("a", "a"), _result("a", "one"), _result("a", "two")],
    ],
)
def test_a_valid_conversation_is_left_as_it_is(messages: list[ChatMessage]) -> None:
    mended, notices = mend_history(messages)
    assert mended is messages
    assert notices == ()
    assert History.of(messages) == tuple(messages)


LOST, ORPHAN = "history_call_without_result", "history_result_without_call"


@pytest.mark.parametrize(
    ("messages", "mended", "codes"),
    [
        ([ASK, _calls("a")], [ASK, _calls("a"), _lost("a")], [LOST]),
        ([ASK, _calls("a"), ANSWER], [ASK, _calls("a"), _lost("a"), ANSWER], [LOST]),
        (
            [ASK, _calls("a", "b"), _result("b"), ASK],
            [ASK, _calls("a", "b"), _lost("a"), _result("b"), ASK],
            [LOST],
        ),
        ([_result("a"), ASK], [ASK], [ORPHAN]),
        ([ASK, ANSWER, _result("a")], [ASK, ANSWER], [ORPHAN]),
        ([_calls("a"), _result("a"), _result("a", "again")], [_calls("a"), _result("a")], [ORPHAN]),
        ([_calls("a"), _result("x")], [_calls("a"), _lost("a")], [LOST, ORPHAN]),
        ([_calls("a", "b"), _result("b"), _result("a")], [_calls("a", "b"), _result("a"), _result("b")], []),
        ([_calls("a"), ASK, _result("a")], [_calls("a"), _lost("a"), ASK], [LOST, ORPHAN]),
        (
            [_calls("a"), _calls("a"), _result("a")],
            [_calls("a"), _lost("a"), _calls("a"), _result("a")],
            [LOST],
        ),
    ],
)
def test_a_broken_conversation_is_mended_and_says_so(
    messages: list[ChatMessage], mended: list[ChatMessage], codes: list[str]
) -> None:
    before = list(messages)
    found, notices = mend_history(messages)
    assert list(found) == mended
    assert [notice.code for notice in notices] == codes
    assert messages == before
    assert History.of(messages) == tuple(mended)


def test_a_notice_names_the_call_and_its_tool() -> None:
    _, (notice,) = mend_history([_calls("a")])
    assert notice.details == {"id": "a", "tool": "now"}
    assert "'a'" in notice.message


_messages = st.lists(
    st.sampled_from([SYSTEM, ASK, ANSWER])
    | st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda ids: _calls(*ids))
    | st.sampled_from("abcd").map(_result),
    max_size=12,
)


def _assert_valid(messages: Sequence[ChatMessage]) -> None:
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolExecutionResultMessage):
            assert open_calls, "a result without a call"
            assert open_calls.pop(0) == message.id
        else:
            assert not open_calls, "a call without its result"
            if isinstance(message, AiMessage):
                open_calls = [request.id for request in message.tool_execution_requests]
    assert not open_calls


@settings(deadline=None)
@given(_messages)
def test_whatever_comes_in_a_valid_conversation_comes_out(messages: list[ChatMessage]) -> None:
    mended, _ = mend_history(messages)
    _assert_valid(mended)
    kept = [message for message in messages if not isinstance(message, ToolExecutionResultMessage)]
    assert [message for message in mended if not isinstance(message, ToolExecutionResultMessage)] == kept
    assert mend_history(mended) == (mended, ())


def test_a_history_is_not_made_twice() -> None:
    history = History.of([ASK, ANSWER])
    assert History.of(history) is history
    assert isinstance(history, tuple)


def test_extending_gives_a_new_history_and_keeps_the_old_one() -> None:
    history = History.of([ASK])
    longer = history.extended([_calls("a"), _result("a")])
    assert type(longer) is History
    assert longer == (ASK, _calls("a"), _result("a"))
    assert history == (ASK,)
