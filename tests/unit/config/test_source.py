"""Reading YAML: places, bounds, YAML 1.2's types, and that any bytes end in a tree or in faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentforge.config import (
    ConfigurationFaults,
    Layers,
    MappingNode,
    ObjectNode,
    ScalarNode,
    from_mapping,
    load_layers,
    read_yaml,
    to_value,
)
from agentforge.config.composer import MAX_ALIAS_NODES, MAX_DEPTH
from agentforge.config.source import MAX_BYTES, decode


@pytest.fixture(params=["libyaml", "pure Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers, the second as on a machine without libyaml."""
    if request.param == "pure Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    return str(request.param)


def value(text: str) -> Any:
    """What a text says, as Python values."""
    node = read_yaml(text, "app.yaml", layer="file")
    assert node is not None
    return to_value(node)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark\n", "---\n", "\ufeff"])
def test_an_empty_document_is_nothing(text: str, parser: str) -> None:
    assert read_yaml(text, "app.yaml", layer="file") is None


def test_every_key_and_value_knows_its_place_and_layer(parser: str) -> None:
    """Lines and columns count from 1, columns in characters."""
    node = read_yaml("é:\n  - ü: [x, 'y']\r\n  - 2\n", "app.yaml", layer="profile local")
    assert node is not None

    items: Any = node.entries["é"].node
    inner = items.items[0]
    assert [str(mark) for mark in (node.entries["é"].key_mark, items.mark, inner.entries["ü"].node.items[1].mark)] == [
        "app.yaml:1:1",
        "app.yaml:2:3",
        "app.yaml:2:12",
    ]
    assert str(items.items[1].mark) == "app.yaml:3:5"
    assert {node.layer, inner.layer, items.items[1].layer} == {"profile local"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", True),
        ("False", False),
        ("no", "no"),
        ("on", "on"),
        ("null", None),
        ("~", None),
        ("", None),
        ("8", 8),
        ("-12", -12),
        ("0o17", 15),
        ("0x1F", 31),
        ("0123", "0123"),
        ("-007", "-007"),
        ("00.5", "00.5"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2026-01-02", "2026-01-02"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("9" * 500, "9" * 500),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("'8'", "8"),
        ('"true"', "true"),
        ("'~'", "~"),
        ("|\n  8\n", "8\n"),
        ("=", "="),
    ],
)
def test_a_plain_value_has_the_type_of_yaml_1_2(written: str, meant: object, parser: str) -> None:
    """Nothing that is written as a word, a time or a code turns into another value."""
    found = value(f"key: {written}")["key"]

    assert (found, type(found)) == (meant, type(meant))


def test_merge_keys_are_expanded_and_own_keys_win(parser: str) -> None:
    text = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nall: {c: 3, <<: [*one, *two]}\n"

    assert value(text)["all"] == {"a": 1, "b": 1, "c": 3}


def test_an_alias_gives_the_value_with_the_place_of_its_anchor(parser: str) -> None:
    node = read_yaml("a: &x\n  k: v\nc: 1\nb: *x\n", "app.yaml", layer="file")
    assert node is not None

    assert to_value(node) == {"a": {"k": "v"}, "c": 1, "b": {"k": "v"}}
    assert str(node.entries["b"].node.mark) == "app.yaml:1:4"


def _bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_bomb(9), f"aliases expand to more than {MAX_ALIAS_NODES:,} values"),
        ("a: &a {k: *a}", "the alias '*a' contains itself"),
        ("[" * 9_000, f"nested deeper than {MAX_DEPTH} levels"),
        ("a: " + "{a: " * 70, f"nested deeper than {MAX_DEPTH} levels"),
        ("a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 40 + "*a" + "]" * 40, "nested deeper than 64 levels"),
        ("a: '" + "x" * MAX_BYTES + "'", f"the file is larger than {MAX_BYTES:,} bytes"),
        ("é" * (MAX_BYTES // 2 + 1), f"the file is larger than {MAX_BYTES:,} bytes"),
    ],
)
def test_a_text_beyond_its_bounds_is_refused(text: str, says: str, parser: str) -> None:
    """Before it is expanded: an alias bomb costs nothing."""
    with pytest.raises(ConfigurationFaults) as raised:
        read_yaml(text, "app.yaml", layer="file")

    [fault] = raised.value.diagnostics
    assert (fault.code, fault.message) == ("AF104", says)


@pytest.mark.parametrize("text", ["[" * 1_000_000, "- " * 500_000, "{a: " * 250_000], ids=["[", "-", "{"])
def test_a_megabyte_of_brackets_is_refused_at_once(text: str) -> None:
    """Whoever meets its bound first, the parser or we."""
    with pytest.raises(ConfigurationFaults) as raised:
        read_yaml(text, "app.yaml", layer="file")

    assert raised.value.code == "AF104"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (_bomb(3), 3),
        ("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), 1),
        ("a: '" + "x" * (MAX_BYTES - 5) + "'", 1),
    ],
)
def test_a_text_within_its_bounds_is_read(text: str, meant: int) -> None:
    """The nearest that is allowed."""
    assert len(value(text)) == meant


@pytest.mark.parametrize(
    ("text", "code"),
    [("? [a]\n: 1\n", "AF106"), ("? {a: 1}\n: 1\n", "AF106"), ("x: &k [1]\n*k : 2\n", "AF106"), ("{a: 1}}", "AF103")],
)
def test_what_cannot_be_a_key_is_refused(text: str, code: str, parser: str) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        read_yaml(text, "app.yaml", layer="file")

    assert raised.value.code == code


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("when:\n  profile: !local\n", "AF106", "app.yaml:2:12"),
        ("when: {profile: !local}\n", "AF103", "app.yaml:1:17"),
        ("when: {profile: [!local, ci]}\n", "AF103", "app.yaml:1:18"),
    ],
)
def test_a_negation_without_quotes_is_told_to_have_some(text: str, code: str, place: str, parser: str) -> None:
    """YAML reads a tag there, whose name may take the bracket in as well."""
    with pytest.raises(ConfigurationFaults) as raised:
        read_yaml(text, "app.yaml", layer="file")

    [fault] = raised.value.diagnostics
    assert fault.next_step == 'Put it in quotes: "!local".'
    assert (fault.code, str(fault.mark)) in {(code, place), ("AF106", place)}


def _outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except ConfigurationFaults as faults:
        return faults


@given(st.binary(max_size=200) | st.text(alphabet="ab:-[]{}&*!|>'\"#%?,$ \n\t\\0", max_size=120).map(str.encode))
def test_any_bytes_end_in_a_tree_or_in_faults(data: bytes) -> None:
    """Nothing else is raised, and every fault has a place in the file."""
    found = _outcome(lambda: read_yaml(decode(data, "app.yaml"), "app.yaml", layer="file"))

    if isinstance(found, ConfigurationFaults):
        assert str(found)
        assert all(fault.mark.file == "app.yaml" and fault.mark.in_file for fault in found.diagnostics)
    else:
        assert found is None or (isinstance(found, MappingNode) and isinstance(to_value(found), dict))


@given(st.binary(max_size=100))
def test_any_bytes_as_a_file_end_in_layers_or_in_faults(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "agentforge.yaml"
    file.write_bytes(data)

    found = _outcome(lambda: load_layers(file, environment={}))

    assert isinstance(found, ConfigurationFaults | Layers)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), _JSON, max_size=4))
def test_a_python_mapping_comes_back_as_it_was(data: dict[str, Any]) -> None:
    """Texts stay texts, whatever they look like; numbers stay what they are."""
    assert to_value(from_mapping(data)) == data


def test_a_python_object_stays_itself() -> None:
    """A program may put beans into its mapping."""
    bean = Path("somewhere")
    node = from_mapping({"beans": {"model": bean, "text": "8", "pair": (1, "no")}})

    inner: Any = node.get("beans")
    assert isinstance(inner.get("model"), ObjectNode)
    assert isinstance(inner.get("text"), ScalarNode)
    assert to_value(node) == {"beans": {"model": bean, "text": "8", "pair": [1, "no"]}}
    assert to_value(node)["beans"]["model"] is bean
    assert str(inner.entries["model"].key_mark) == "python beans.model"


def _circle() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["self"] = made
    return made


@pytest.mark.parametrize(("data", "code"), [({"a": {1: 2}}, "AF106"), (_circle(), "AF104")])
def test_a_python_mapping_that_is_no_tree_of_texts_is_refused(data: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        from_mapping(data)

    assert raised.value.code == code
