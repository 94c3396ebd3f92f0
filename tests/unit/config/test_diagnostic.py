"""One fault as text: what is shown, and what never is."""

from __future__ import annotations

import pytest

from agentforge.config import (
    ConfigurationFaults,
    Diagnostic,
    Mark,
    Reporter,
    did_you_mean,
    nearest,
    render,
    with_article,
)
from agentforge.errors import ConfigurationError


def block(line: str, column: int = 1, *, private: bool = False) -> str:
    """The block of a fault in a file of one line."""
    return render(Diagnostic("AF108", "wrong", Mark("app.yaml", 1, column), private=private), {"app.yaml": line})


@pytest.mark.parametrize(
    "line",
    [
        "api_key: k-test-789",
        'api_key: "k-test-789"',
        "api_key: 'k-test-789'",
        "{a: 1, client_secret: k-test-789, b: 2}",
        '{"X-Api-Key": "k-test-789"}',
        "headers: {Authorization: Bearer k-test-789}",
        "db_password: k-test-789 # why",
        "access_token = k-test-789",
        "api_key: pre${X}k-test-789",
        "pad: " + "x" * 150 + ", api_key: k-test-789",
    ],
)
def test_a_literal_secret_in_the_line_is_masked(line: str) -> None:
    """Wherever the fault is."""
    for column in range(1, len(line), 3):
        assert "k-test" not in block(line, column)


@pytest.mark.parametrize("line", ["model: k-test-789", 'api_key: "${secret:KEY}"', "keyed: [a]", "beans: {model: x}"])
def test_other_lines_are_shown_whole(line: str) -> None:
    assert line in block(line)


def test_what_follows_from_a_fault_is_not_told() -> None:
    """Whatever else is found at the place of a value that could not be filled; other places are told."""
    here, there = Mark("app.yaml", 1, 4), Mark("app.yaml", 2, 4)
    reporter = Reporter()
    reporter.report("AF111", "not set", here, settles=True)
    reporter.report("AF108", "no number", here)
    reporter.report("AF108", "no number", there)

    assert [(fault.code, fault.mark) for fault in reporter.diagnostics] == [("AF111", here), ("AF108", there)]


def test_a_value_that_several_beans_have_is_one_fault() -> None:
    """By an alias, or from the bean that they extend; the first path stands for all."""
    mark = Mark("app.yaml", 1, 4)
    faults = [Diagnostic("AF107", "unknown", mark, path=path) for path in ("beans.a.x", "beans.b.x")]

    assert ConfigurationFaults([*faults, Diagnostic("AF107", "other", mark)]).diagnostics == (
        faults[0],
        Diagnostic("AF107", "other", mark),
    )


def test_a_private_value_is_not_shown() -> None:
    assert block("pin: 0123", 6, private=True) == "[AF108] app.yaml:1:6: wrong\n  1 | pin: ***\n    |      ^"


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        ("a: b", 4, "  1 | a: b\n    |    ^"),
        ("\ta: b", 2, "  1 |  a: b\n    |  ^"),
        ("a: \x1b[2J", 4, "  1 | a:  [2J\n    |    ^"),
        ("{api_key: k-test-789, x: y}", 23, "  1 | {api_key: ***, x: y}\n    |                ^"),
    ],
)
def test_the_caret_stands_under_the_place(line: str, column: int, shown: str) -> None:
    """Also behind a mask; and nothing of a file steers the terminal."""
    assert block(line, column) == f"[AF108] app.yaml:1:{column}: wrong\n{shown}"


def test_a_long_line_is_cut_around_the_place() -> None:
    line = "a" * 300 + "HERE" + "b" * 300

    shown = block(line, 301).splitlines()

    assert len(shown[1]) < 130
    assert shown[1][shown[2].index("^") :].startswith("HERE")


@pytest.mark.parametrize("line", ["", "   ", "x" * 3000])
def test_a_line_that_shows_nothing_is_left_out(line: str) -> None:
    assert block(line) == "[AF108] app.yaml:1:1: wrong"


def test_names_from_a_file_cannot_break_the_block() -> None:
    text = render(Diagnostic("AF107", "unknown key 'a\n\x1b[0m'", Mark.outside("x"), "y\u2028z"), {})

    assert text == "[AF107] x: unknown key 'a\\u000a\\u001b[0m'\n  next: y\\u2028z"


def test_faults_are_in_the_order_of_the_files_and_once_each() -> None:
    """Those outside a file come last; the first gives the code."""
    reporter = Reporter()
    for code, mark in (
        ("AF103", Mark.outside("environment A")),
        ("AF102", Mark("b.yaml", 1, 1)),
        ("AF101", Mark("a.yaml", 10, 1)),
        ("AF104", Mark("a.yaml", 9, 5)),
        ("AF104", Mark("a.yaml", 9, 5)),
    ):
        reporter.report(code, "wrong", mark)

    with pytest.raises(ConfigurationError) as raised:
        reporter.raise_if_any()

    assert isinstance(raised.value, ConfigurationFaults)
    assert [fault.code for fault in raised.value.diagnostics] == ["AF104", "AF101", "AF102", "AF103"]
    assert (raised.value.code, raised.value.message, raised.value.location) == (
        "AF104",
        "wrong (and 3 more)",
        "a.yaml:9:5",
    )
    assert repr(raised.value).startswith("ConfigurationFaults(AF104 at a.yaml:9:5, AF101")


def test_without_a_fault_there_is_no_error() -> None:
    Reporter().raise_if_any()
    with pytest.raises(ValueError, match="at least one"):
        ConfigurationFaults([])


@pytest.mark.parametrize(
    ("name", "found"),
    [("modle", "model"), ("MODEL", "model"), ("memori", "Memory"), ("zzz", None), ("", None)],
)
def test_the_nearest_name(name: str, found: str | None) -> None:
    assert nearest(name, ["model", "Memory"]) == found


def test_the_advice_for_an_unknown_name() -> None:
    assert did_you_mean("modle", ["model"]) == "Did you mean 'model'?"
    assert did_you_mean("x", ["model", "memory"]) == "Known here: model, memory."
    assert did_you_mean("x", []) == "Nothing is known here."


def test_a_password_in_an_address_is_not_shown() -> None:
    """An excerpt that shows a line shows no user's password in it."""
    fault = Diagnostic("AF108", "credentials", Mark("app.yaml", 1, 1))

    assert "PASSWD99" not in render(fault, {"app.yaml": 'base_url: "http://u:PASSWD99@127.0.0.1:9/v1"'})


def test_a_text_of_very_many_faults_ends() -> None:
    """All are in the data; the text shows a hundred and says how many more there are."""
    faults = ConfigurationFaults([Diagnostic("AF107", f"unknown {n}", Mark("app.yaml", n, 1)) for n in range(1, 301)])

    assert len(faults.diagnostics) == 300
    assert str(faults).count("[AF107]") == 100
    assert str(faults).endswith("... and 200 more faults, which are not shown here")


@pytest.mark.parametrize(
    "line",
    [
        "key" * 660,
        "key" * 600 + ": x",
        "x: {" + "key" * 600 + " : }",
        "a.key-" * 330,
        "key: ${" * 280,
        "://a:" * 390,
    ],
    ids=lambda line: line[:12],
)
def test_no_line_takes_long_to_mask(line: str) -> None:
    """Tried from every letter on, the first of these would take minutes: nobody would wait for this test."""
    assert "wrong" in block(line)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('api_key: "${KEY:k-test-789}"', 'api_key: "${KEY:***}"'),
        ('api_key: "${API_KEY:k-test-789}"', 'api_key: "${API_KEY:***}"'),
        ('api_key: "${secret:API_KEY:k-test-789}"', 'api_key: "${secret:API_KEY:***}"'),
        ('api_key: "${secret:API_KEY}"', 'api_key: "${secret:API_KEY}"'),
    ],
)
def test_the_default_of_a_secret_s_variable_is_one_too(line: str, shown: str) -> None:
    assert block(line).splitlines()[1] == f"  1 | {shown}"


NAMES = [f"bean_{number}" for number in range(1_000)]


@pytest.mark.parametrize(
    ("name", "near"),
    [("bean_77x", "bean_77"), ("baen_999", "bean_999"), ("ean_12", "bean_12"), ("BEAN_5", "bean_5"), ("other", None)],
)
def test_of_very_many_names_one_is_meant_that_is_a_letter_away(name: str, near: str | None) -> None:
    """All of them cannot be compared for each of very many faults."""
    assert nearest(name, NAMES) == near


def test_a_name_that_nobody_could_have_typed_has_no_near_miss() -> None:
    """Comparing such names takes as long as both together, squared."""
    assert nearest("a" * 300_000, ["a" * 299_999]) is None


def test_of_very_many_names_the_first_are_listed() -> None:
    assert did_you_mean("zzz", NAMES).startswith("Known here: bean_0, bean_1, ")
    assert did_you_mean("zzz", NAMES).endswith(", bean_19 and 980 more.")
    assert did_you_mean("zzz", NAMES[:21]).endswith(", bean_20.")


def test_what_nobody_reads_is_cut_short() -> None:
    """A name of many thousand letters, a text of many thousand words."""
    reporter = Reporter()
    reporter.report("AF107", f"unknown key '{'a' * 5_000}!'", Mark("app.yaml", 1, 1), next_step="word " * 5_000)
    [fault] = reporter.diagnostics

    assert fault.message == f"unknown key '{'a' * 99}…{'a' * 18}!'"
    assert len(fault.next_step or "") == 2_001


@pytest.mark.parametrize(
    ("noun", "words"), [("Advisor", "an Advisor"), ("ChatModel", "a ChatModel"), ("int", "an int")]
)
def test_a_word_has_its_article(noun: str, words: str) -> None:
    assert with_article(noun) == words
