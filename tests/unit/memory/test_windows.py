"""What windows keep: whole turns, the newest, the instructions in front, and always a valid history."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ConfigurationError
from agentforge.memory import Everything, MessageWindow, TokenWindow, Window, estimate_tokens
from agentforge.model import (
    AiMessage,
    ChatMessage,
    History,
    ImageContent,
    ProviderState,
    SystemMessage,
    ThinkingContent,
    ToolExecutionResultMessage,
    UserMessage,
    mend_history,
)
from tests.unit.memory.samples import answer, ask, called, histories, is_valid, lists, system, texts

S1, S2 = system("s1"), system("s2")
ONE = [ask("1"), answer("one")]
TWO = [ask("2"), *called("a"), answer("two")]
THREE = [ask("3"), *called("b", "c")]

CASES: list[tuple[str, int, list[ChatMessage], list[str]]] = [
    ("nothing", 3, [], []),
    ("all of it fits", 6, [*ONE, *TWO], ["1", "one", "2", ">a", "<a", "two"]),
    ("one too many: the oldest turn goes whole", 5, [*ONE, *TWO], ["2", ">a", "<a", "two"]),
    ("a turn that fits only in part goes whole", 5, [*TWO, *ONE, ask("3")], ["1", "one", "3"]),
    ("no turn is skipped for an older one that fits", 3, [ask("0"), *TWO, ask("3")], ["3"]),
    ("row 285: a turn of three steps goes whole", 4, [*TWO, answer("and"), *ONE], ["1", "one"]),
    ("row 283: the system message comes first", 9, [ask("1"), S1, answer("one")], ["s1", "1", "one"]),
    ("row 283: one that is first stays there", 9, [S1, *ONE], ["s1", "1", "one"]),
    ("row 288: a new system message replaces older ones", 9, [S1, *ONE, S2, ask("2")], ["s2", "1", "one", "2"]),
    ("instructions that stand together are one", 9, [S1, S2, *ONE], ["s1", "s2", "1", "one"]),
    ("instructions count", 3, [S1, *ONE, ask("2")], ["s1", "2"]),
    # Row 287 keeps the instructions alone; here the last turn stays, as there would be nothing to answer.
    ("row 287: the last turn stays", 3, [S1, S2, *ONE, *TWO], ["s1", "s2", "2", ">a", "<a", "two"]),
    # Row 282 keeps the last result alone, without its call; here the running turn is whole, however long it is.
    ("row 282: a running turn is never cut", 3, [*ONE, *TWO[:3], *called("b")], ["2", ">a", "<a", ">b", "<b"]),
    # Row 289: the question of a tool loop never leaves, so a dynamic source sees it.
    ("row 289: its question stays", 1, [*ONE, *THREE], ["3", ">b>c", "<b", "<c"]),
    ("two questions in a row are one", 2, [answer("0"), ask("1"), ask("2"), answer("x")], ["1", "2", "x"]),
    ("a greeting is a turn of its own", 2, [answer("hi"), *ONE], ["1", "one"]),
    ("a call without its result is mended", 9, [ask("1"), called("a")[0]], ["1", ">a", "<a"]),
    ("a result without its call is left out", 9, [called("a")[1], ask("1")], ["1"]),
]


@pytest.mark.parametrize(("bound", "messages", "kept"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_message_window_keeps(bound: int, messages: list[ChatMessage], kept: list[str]) -> None:
    """As the table says; and what was given is not changed."""
    before = list(messages)
    assert texts(MessageWindow(bound).fit(messages)) == kept
    assert messages == before


@pytest.mark.parametrize(
    ("running", "kept"), [(0, ["3"]), (1, ["3"]), (2, ["2", "3"]), (3, ["2", "3"]), (9, list("123"))]
)
def test_a_running_turn_of_several_questions_is_kept(running: int, kept: list[str]) -> None:
    """A reprompt puts a second question into a turn: both belong to what is at work. A turn is kept whole."""
    messages = [ask("1"), answer("x"), ask("2"), answer("x"), ask("3")]
    assert [text for text in texts(MessageWindow(1).fit(messages, running=running)) if text != "x"] == kept


def test_everything_keeps_everything() -> None:
    """But for older system messages; the last one goes to the front."""
    assert texts(Everything().fit([S1, *ONE, S2, *THREE])) == ["s2", "1", "one", "3", ">b>c", "<b", "<c"]


def test_messages_are_kept_and_not_copied() -> None:
    """What encodes messages by their identity need not do it again."""
    for window in (Everything(), MessageWindow(9), TokenWindow(900)):
        kept = window.fit(ONE)
        assert type(kept) is History
        assert all(a is b for a, b in zip(kept, ONE, strict=True))


_windows = st.one_of(
    st.integers(1, 12).map(MessageWindow),
    st.integers(1, 60).map(TokenWindow),
    st.integers(1, 40).map(lambda bound: TokenWindow(bound, count=lambda message: len(message.contents))),
    st.builds(Everything),
)


@settings(deadline=None, max_examples=100)
@given(_windows, st.one_of(histories, lists), st.integers(0, 15))
def test_what_is_kept_is_a_valid_history(window: Window, messages: list[ChatMessage], running: int) -> None:
    """Of any list whatever: nothing is left to mend, by our own eye and by the library's; fitting again keeps all."""
    kept = window.fit(messages, running=running)
    assert is_valid(kept)
    assert mend_history(kept) == (kept, ())
    assert window.fit(kept, running=len(kept) if running else 0) == kept


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 12), st.sampled_from(["messages", "tokens"]), histories, st.data())
def test_it_is_never_longer_than_the_bound_unless_a_running_turn_is(
    bound: int, measure: str, messages: list[ChatMessage], data: st.DataObject
) -> None:
    """The kept are the instructions and a tail of the conversation, the longest that fits and is whole turns."""
    running = data.draw(st.integers(0, len(messages)))
    window: Window = MessageWindow(bound) if measure == "messages" else TokenWindow(bound * 5)

    def cost(some: list[ChatMessage]) -> int:
        return len(some) if measure == "messages" else sum(map(estimate_tokens, some))

    kept = list(window.fit(messages, running=running))
    instructions = [message for message in kept if isinstance(message, SystemMessage)]
    tail = kept[len(instructions) :]
    said = [message for message in messages if not isinstance(message, SystemMessage)]
    at_work = [m for m in messages[len(messages) - running :] if not isinstance(m, SystemMessage)]

    assert kept[: len(instructions)] == instructions
    assert [*said[len(said) - len(tail) :]] == tail
    assert len(tail) >= len(at_work)
    assert bool(tail) == bool(said)
    # Where turns begin, said apart from the code: a question that follows something else than a question.
    begins = [at for at in range(len(said)) if at == 0 or _begins_a_turn(said, at)]
    cut = len(said) - len(tail)
    assert not said or cut in begins
    limit = bound if measure == "messages" else bound * 5
    needed = max((at for at in begins if at <= len(said) - max(len(at_work), 1)), default=0)
    assert cut == needed or cost(kept) <= limit
    older = [at for at in begins if at < cut]
    assert not older or cost([*instructions, *said[older[-1] :]]) > limit


def _begins_a_turn(said: list[ChatMessage], at: int) -> bool:
    return isinstance(said[at], UserMessage) and not isinstance(said[at - 1], UserMessage)


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (ask(""), 4),
        (ask("abcd"), 5),
        (ask("abcde"), 6),
        (ask("杭州"), 6),
        (ask("a杭州"), 7),
        (UserMessage(["abcd", ImageContent(data="aGk=")]), 1_005),
        (AiMessage([ThinkingContent("abcdefgh")]), 6),
        (called("abcd")[0], 7),
        (ToolExecutionResultMessage("abcd", "now", "noon"), 7),
        (AiMessage("", provider_state=ProviderState("p", {"k": "v" * 92})), 4 + 26),
        (AiMessage([ThinkingContent("", ProviderState("p", {"k": "v" * 92}))]), 4 + 26),
    ],
)
def test_the_estimate_of_tokens(message: ChatMessage, tokens: int) -> None:
    """4 a message, a token for four ASCII characters or one other, 1,000 for what is no text; nothing is free."""
    assert estimate_tokens(message) == tokens


def test_a_counter_of_ones_own_is_asked() -> None:
    """With each message, and only it counts."""
    window = TokenWindow(10, count=lambda message: 100 if message.text == "dear" else 1)
    assert texts(window.fit([ask("dear"), answer("x"), *ONE, ask("2")])) == ["1", "one", "2"]


@pytest.mark.parametrize("bound", [0, -3, 2.5, True, "9", None])
def test_a_bound_that_is_none_is_refused(bound: object) -> None:
    """When the window is made."""
    with pytest.raises(ConfigurationError, match="max_messages"):
        MessageWindow(bound)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="max_tokens"):
        TokenWindow(bound)  # type: ignore[arg-type]
