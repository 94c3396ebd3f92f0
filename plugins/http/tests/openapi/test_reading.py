"""Documents of strangers: JSON and YAML 1.2 as they were written, and nothing that could harm whoever reads it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ConfigurationError
from agentforge_http.openapi.reading import MAX_DEPTH, read_document


def read(text: str | bytes, name: str = "api.yaml", max_bytes: int = 4_000_000) -> Any:
    return read_document(text.encode() if isinstance(text, str) else text, name, max_bytes=max_bytes)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no\nb: on\nc: yes", {"a": "no", "b": "on", "c": "yes"}),
        ("a: 2024-01-02\nb: 12:30:45\nc: 1.10.0", {"a": "2024-01-02", "b": "12:30:45", "c": "1.10.0"}),
        ("a: 0123\nb: 0o17\nc: 0x1F\nd: -7\ne: +1\nf: 1e3", {"a": "0123", "b": 15, "c": 31, "d": -7, "e": 1, "f": 1e3}),
        ("a: ~\nb:\nc: null\nd: 'null'", {"a": None, "b": None, "c": None, "d": "null"}),
        ("200: ok\ntrue: b\n1.5: c\nnull: d\n~: e", {"200": "ok", "true": "b", "1.5": "c", "null": "d", "~": "e"}),
        ("a: !!str 5\nb: !!int '7'", {"a": "5", "b": 7}),
        ("a: .inf\nb: .nan\nc: 1e999", {"a": ".inf", "b": ".nan", "c": "1e999"}),
        ("a: &x {k: 1}\nb: {<<: *x, m: 2}\nc: *x", {"a": {"k": 1}, "b": {"m": 2, "k": 1}, "c": {"k": 1}}),
        ("a: &k key\n*k : 1", {"a": "key", "key": 1}),
        ("&k a: 1\nb: *k", {"a": 1, "b": "a"}),
        ("a: &x {k: 1}\nb: &y {m: 2}\nc: {<<: [*x, *y], k: 3}", {"a": {"k": 1}, "b": {"m": 2}, "c": {"k": 3, "m": 2}}),
        ("{a: 1, b: [x]}", {"a": 1, "b": ["x"]}),
        ('{"a": 1.0, "b": "\\u00e9"}', {"a": 1.0, "b": "é"}),
        ("- a: |\n    one\n    two\n- 'x'", [{"a": "one\ntwo\n"}, "x"]),
        ("", None),
    ],
)
def test_values_are_what_was_written(text: str, value: Any) -> None:
    """YAML 1.2: no dates, no truth values but true and false, and every key is a text."""
    assert read(text) == value


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbfa: \xc3\xa9", "a: é".encode("utf-16"), b"\xfe\xff" + "a: é".encode("utf-16-be")]
)
def test_byte_order_marks_are_understood(content: bytes) -> None:
    """UTF-8 with a mark, and UTF-16."""
    assert read(content) == {"a": "é"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\na: 2", "the key 'a' stands a second time in line 2, column 1"),
        ('{"a": {"b": 1, "b": 2}}', "the key 'b' stands twice in one object"),
        ("a: !!python/object/apply:os.system ['true']", "the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
        ("a: !!binary aGk=", "the tag 'tag:yaml.org,2002:binary'"),
        ("a: !include other.yaml", "the tag '!include'"),
        ("? [a, b]\n: 1", "a key that is no text stands in line 1"),
        ("a: &x {b: 1}\n*x : 1", "a key that is no text stands in line 2"),
        ("\x07", "it is not YAML"),
        ("a: &x " + "[" * 100 + "]" * 100 + "\nb: " + "[" * 100 + "*x" + "]" * 100, "nested deeper than 128 levels"),
        ("a: *nothing", "the alias 'nothing' is not there"),
        ("a: &x [*x]", "the alias 'x' contains itself"),
        ("a: 1\n---\nb: 2", "a second document begins in line 2"),
        ("a: [1, 2", "it is not YAML in line"),
        ("a: 'x\n\tb: 1", "it is not YAML in line"),
        ("a: {<<: 5}", "'<<' takes a mapping"),
        ('{"a": "\\ud800"}', "half of a character"),
        ("[" * 400, f"it is nested deeper than {MAX_DEPTH} levels"),
        ("[" * 400 + "]" * 400, f"it is nested deeper than {MAX_DEPTH} levels"),
        ("\n".join(f"{' ' * depth}a:" for depth in range(400)), f"it is nested deeper than {MAX_DEPTH} levels"),
        ("a: &l1 [x,x]\nb: &l2 [*l1,*l1]\nc: [*l2,*l2,*l9]", "the alias 'l9' is not there"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, fault: str) -> None:
    """One error for a document that cannot be read, never a traceback of a parser."""
    with pytest.raises(ConfigurationError) as caught:
        read(text)
    assert fault in caught.value.message
    assert caught.value.location == "api.yaml"


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1,}', '{"a": 01}', "[" * 100_000])
def test_a_file_that_is_named_json_is_json(text: str) -> None:
    """It is not tried as YAML, and a parser that gives up is an error like any other."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read(text, "api.json")


def test_a_document_that_is_too_large_is_not_read() -> None:
    """By its bytes, before anything is parsed."""
    with pytest.raises(ConfigurationError, match="has 12 bytes, more than 10") as caught:
        read("a: 123456789", max_bytes=10)
    assert "max_document_bytes" in str(caught.value.next_step)


def test_what_is_no_utf_8_is_told_with_its_byte() -> None:
    """A file of another encoding is no puzzle."""
    with pytest.raises(ConfigurationError, match="not UTF-8: byte 4 fits no character"):
        read(b"a: \xe9")


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    """Nine levels of ten (threat S5): before anything grows, and nothing of it is built."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    begun = time.perf_counter()
    with pytest.raises(ConfigurationError, match="aliases expand to more than"):
        read("\n".join(lines))
    assert time.perf_counter() - begun < 5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@settings(deadline=None)
@given(JSON.filter(lambda value: isinstance(value, (dict, list))))
def test_json_is_read_as_json(value: Any) -> None:
    """Whatever Python writes is read back equal, also where the name says YAML."""
    assert read(json.dumps(value)) == value
    assert read(json.dumps(value), "api.json") == value


@settings(deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%@ \n\t,?<~0.\\"), max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    """Garbage is a value, or one kind of error."""
    try:
        found = read(text)
    except ConfigurationError as error:
        found = error
    assert not isinstance(found, ConfigurationError) or found.next_step


@pytest.mark.parametrize("text", ['{"a": 1e999}', "a: 1e999", '{"a": -1e400}'])
def test_a_number_beyond_all_bounds_stays_text(text: str) -> None:
    """No JSON has one that is infinite, and a schema with such a bound could not be checked."""
    value = read_document(text.encode(), "api.json" if text[0] == "{" else "api.yaml", max_bytes=100)
    assert isinstance(value["a"], str)
