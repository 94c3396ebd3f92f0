"""Placeholders: what each form means, that nothing is expanded twice, and that a secret is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.config import (
    Reporter,
    ScalarNode,
    SecretNode,
    Variables,
    from_mapping,
    interpolate,
    read_yaml,
    to_value,
)

VARIABLES = {"A": "x", "EMPTY": "", "URL": "http://${HOST}/$1", "NO": "no", "PIN": "0123", "SEVEN": "7"}


def expand(text: str, **variables: str) -> tuple[Any, list[str]]:
    """The value of a quoted text, and the codes of its faults."""
    reporter = Reporter()
    found = interpolate(from_mapping({"key": text}), Variables({**VARIABLES, **variables}), reporter)
    return to_value(found)["key"], [fault.code for fault in reporter.diagnostics]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("${A}", "x"),
        ("<${A}${A}>", "<xx>"),
        ("${B:default}", "default"),
        ("${A:default}", "x"),
        ("${B:}", ""),
        ("${EMPTY:default}", ""),
        ("${URL}", "http://${HOST}/$1"),
        ("${B:http://${C:localhost}/v1}", "http://localhost/v1"),
        ("${B:<${A}>}", "<x>"),
        ("${A:${UNSET}}", "x"),
        ("$${A}", "${A}"),
        ("${B:a $${b} c}", "a ${b} c"),
        ("$5 and $A and a $ b$", "$5 and $A and a $ b$"),
        ("{x} }", "{x} }"),
        ("${B: spaced }", " spaced "),
    ],
)
def test_a_placeholder_means(text: str, meant: str) -> None:
    assert expand(text) == (meant, [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${UNSET}", "AF111"),
        ("${UNSET:${ALSO}}", "AF111"),
        ("${secret:UNSET}", "AF113"),
        ("${}", "AF112"),
        ("${A", "AF112"),
        ("${B:open", "AF112"),
        ("${1A}", "AF112"),
        ("${A-B}", "AF112"),
        ("${A?message}", "AF112"),
        ("${secret:../x}", "AF112"),
        ("${B:${C:${D:deep}}}", "AF112"),
        ("${A:${C:${D:deep}}}", "AF112"),
    ],
)
def test_a_placeholder_that_means_nothing_is_a_fault(text: str, code: str) -> None:
    """The value stays as it was written, and the fault says what to do."""
    assert expand(text) == (text, [code])


def test_keys_are_never_expanded() -> None:
    found = interpolate(from_mapping({"${A}": "${A}"}), Variables(VARIABLES), Reporter())

    assert to_value(found) == {"${A}": "x"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [("${SEVEN}", 7), ('"${SEVEN}"', "7"), ("${NO}", "no"), ("${PIN}", "0123"), ("${B:}", None), ("${B:[1]}", "[1]")],
)
def test_a_plain_value_is_typed_after_it_is_filled(written: str, meant: object) -> None:
    """A quoted one stays text; no value can become a list or a mapping."""
    node = read_yaml(f"key: {written}", "app.yaml", layer="file")
    assert node is not None

    assert to_value(interpolate(node, Variables(VARIABLES), Reporter())) == {"key": meant}


def test_the_filled_value_keeps_its_place_and_layer() -> None:
    node = read_yaml("a: [1, '${A}']", "app.yaml", layer="profile local")
    assert node is not None

    found: Any = interpolate(node, Variables(VARIABLES), Reporter())

    filled = found.entries["a"].node.items[1]
    assert filled == ScalarNode("x", False, filled.mark, "profile local")
    assert str(filled.mark) == "app.yaml:1:8"


@pytest.mark.parametrize("layer", [".env", "environment"])
def test_a_value_from_the_environment_is_taken_as_it_is(layer: str) -> None:
    """A password with a dollar sign stays that password."""
    node = from_mapping({"key": "a${A}b"}, layer=layer)

    assert to_value(interpolate(node, Variables(VARIABLES), Reporter())) == {"key": "a${A}b"}


def test_a_fault_names_the_variable_the_near_miss_and_the_way_to_set_it() -> None:
    reporter = Reporter()
    interpolate(from_mapping({"a": {"b": "${API_KEY}"}}), Variables({"API_KEYS": "v-a-l-u-e"}), reporter)

    [fault] = reporter.diagnostics
    assert (fault.message, fault.path) == ("the variable API_KEY is not set and has no default", "a.b")
    assert fault.next_step == (
        "Did you mean 'API_KEYS'? Otherwise set API_KEY in the environment or in a .env file beside the"
        " configuration, or give a default: ${API_KEY:value}."
    )


def test_a_secret_is_found_and_shown_nowhere(tmp_path: Path) -> None:
    """The environment comes first, then the secrets directory; the last line break of a file is not part of it."""
    (tmp_path / "FILE_KEY").write_text("from-the-file\n", "utf-8")
    variables = Variables({"ENV_KEY": "from-the-env"}, tmp_path)
    node = from_mapping({"a": "Bearer ${secret:ENV_KEY}", "b": "${secret:FILE_KEY}", "c": "${secret:NONE:word}"})

    found: Any = interpolate(node, variables, Reporter())

    assert all(isinstance(entry.node, SecretNode) for entry in found.entries.values())
    values = to_value(found)
    assert {key: secret.get_secret_value() for key, secret in values.items()} == {
        "a": "Bearer from-the-env",
        "b": "from-the-file",
        "c": "word",
    }
    shown = repr(found) + repr(values) + repr(variables) + str(found.entries["a"].node)
    assert "from-the" not in shown
    assert variables.secrets.mask("from-the-env, from-the-file, word") == "***, ***, word"


def test_a_missing_secret_says_where_it_was_looked_for(tmp_path: Path) -> None:
    reporter = Reporter()
    interpolate(from_mapping({"a": "${secret:KEY}"}), Variables({}, tmp_path), reporter)

    [fault] = reporter.diagnostics
    assert fault.next_step == (
        f"Set KEY in the environment or in a .env file beside the configuration, or write it into {tmp_path / 'KEY'}."
    )


_PIECES = st.lists(st.sampled_from(["${A}", "${B:d}", "$${A}", "$", "{", "x", "${secret:S}"]), max_size=6).map("".join)


@given(st.text(alphabet="$ {}:ABsecrt", max_size=20), st.text(alphabet="$ {}:ABsecrt", max_size=20))
def test_what_a_variable_holds_is_never_expanded(first: str, second: str) -> None:
    """Whatever it looks like, it comes out as it went in, beside another as well."""
    assert expand("<${A}|${B}>", A=first, B=second) == (f"<{first}|{second}>", [])


@given(st.text(alphabet="$ {}:ABsecrt?", max_size=30) | _PIECES)
def test_any_text_is_expanded_or_is_a_fault(text: str) -> None:
    """A text without ``${`` is itself; a faulty one stays as it was."""
    found, codes = expand(text, S="a-secret")

    if "${" not in text:
        assert (found, codes) == (text, [])
    if codes:
        assert (found, len(codes)) == (text, 1)
