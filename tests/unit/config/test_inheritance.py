"""``extends``: which values a bean takes over, whose they stay, and what cannot be extended."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.config import MappingNode, Reporter, from_mapping, inherit, read_root, read_yaml, to_value

TEXT = """\
beans:
  reader: {bean: {extends: base, order: 2, scope: prototype}, tags: [c], limits: {rounds: 9}}
  base:
    type: scripted
    repeat: true
    tags: [a, b]
    limits: {rounds: 3, calls: 8}
    bean: {lazy: true, scope: singleton, init: warm, destroy: cool, primary: true, order: 1, aliases: [b],
           depends_on: [other], abstract: true, provider: true, when: {profile: x}}
  other: {type: scripted}
"""


def whole(text: str) -> MappingNode:
    """The beans of a text, each over its base."""
    node = read_yaml(text, "app.yaml", layer="file")
    assert node is not None
    reporter = Reporter()
    beans = inherit(node, reporter).get("beans")
    assert reporter.diagnostics == ()
    assert isinstance(beans, MappingNode)
    return beans


def test_settings_are_merged_and_of_the_options_four_are_taken_over() -> None:
    """Lists are replaced; what the bean says itself wins; the base stays as it was."""
    beans = to_value(whole(TEXT))

    assert beans["reader"] == {
        "type": "scripted",
        "repeat": True,
        "tags": ["c"],
        "limits": {"rounds": 9, "calls": 8},
        "bean": {"lazy": True, "scope": "prototype", "init": "warm", "destroy": "cool", "extends": "base", "order": 2},
    }
    assert beans["base"]["tags"] == ["a", "b"]
    assert list(beans) == ["reader", "base", "other"]


def test_every_value_keeps_its_own_place() -> None:
    found: Any = whole(TEXT).get("reader")

    assert str(found.mark) == "app.yaml:2:11"
    assert {key: str(entry.node.mark) for key, entry in found.entries.items()} == {
        "type": "app.yaml:4:11",
        "repeat": "app.yaml:5:13",
        "tags": "app.yaml:2:69",
        "limits": "app.yaml:7:13",
        "bean": "app.yaml:8:11",
    }
    assert str(found.get("limits").get("rounds").mark) == "app.yaml:2:91"


def test_every_value_keeps_its_own_layer() -> None:
    below = read_yaml("beans: {base: {type: scripted, name: x}}", "common.yaml", layer="include common.yaml")
    above = read_yaml("beans: {one: {bean: {extends: base}, repeat: true}}", "app.yaml", layer="file")
    assert below is not None
    assert above is not None
    from agentforge.config import merge

    found: Any = inherit(merge(below, above), Reporter()).get("beans")

    one = found.get("one")
    assert {key: entry.node.layer for key, entry in one.entries.items()} == {
        "type": "include common.yaml",
        "name": "include common.yaml",
        "bean": "file",
        "repeat": "file",
    }
    assert one.layer == "file"


def test_a_bean_of_another_type_takes_over_the_options_alone() -> None:
    """The settings of one type mean nothing to another; to say the same type again changes nothing."""
    text = """\
beans:
  base: {type: scripted, repeat: true, bean: {lazy: true}}
  other: {type: chat_client, bean: {extends: base}}
  same: {type: scripted, bean: {extends: base}}
"""
    beans = to_value(whole(text))

    assert beans["other"] == {"type": "chat_client", "bean": {"lazy": True, "extends": "base"}}
    assert beans["same"] == {"type": "scripted", "repeat": True, "bean": {"lazy": True, "extends": "base"}}


def test_a_base_without_a_type_lends_its_settings_to_any() -> None:
    """If it is abstract; and a chain is taken over whole."""
    text = """\
beans:
  last: {bean: {extends: middle}, c: 3}
  middle: {type: scripted, b: 2, bean: {extends: base}}
  base: {a: 1, bean: {abstract: true, lazy: true}}
"""
    beans = to_value(whole(text))
    reporter = Reporter()
    root = read_root(inherit(from_mapping({"beans": beans}), reporter), reporter)

    assert beans["last"] == {"a": 1, "type": "scripted", "b": 2, "c": 3, "bean": {"lazy": True, "extends": "middle"}}
    assert reporter.diagnostics == ()
    assert (root.beans["base"].type, root.beans["base"].options.abstract) == ("", True)
    assert not root.beans["last"].options.abstract


@pytest.mark.parametrize(
    ("beans", "code", "message", "step"),
    [
        (
            {"one": {"bean": {"extends": "bse"}}, "base": {"type": "scripted"}},
            "AF120",
            "'one' extends 'bse', and no bean is called that",
            "Did you mean 'base'?",
        ),
        (
            {"one": {"bean": {"extends": "base"}}, "base": object()},
            "AF120",
            "'one' extends 'base', which is no definition",
            "Extend a bean that is a mapping with a 'type'.",
        ),
        (
            {"one": {"bean": {"extends": "one"}}},
            "AF121",
            "beans extend one another: one -> one",
            "Take one 'extends' away.",
        ),
        (
            {"one": {"bean": {"extends": "b"}}, "b": {"bean": {"extends": "c"}}, "c": {"bean": {"extends": "b"}}},
            "AF121",
            "beans extend one another: b -> c -> b",
            "Take one 'extends' away.",
        ),
        (
            {"one": {"bean": {"extends": "${BASE}"}}, "base": {"type": "scripted"}},
            "AF112",
            "'extends' takes no placeholder: definitions are merged before placeholders are filled",
            "Write the name itself, or choose with a profile.",
        ),
    ],
)
def test_what_cannot_be_extended_is_one_fault(beans: Any, code: str, message: str, step: str) -> None:
    """The type that the base would have given is not missed as well."""
    reporter = Reporter()

    root = inherit(from_mapping({"beans": beans}), reporter)
    found = [(fault.code, fault.message, fault.next_step) for fault in reporter.diagnostics]
    read_root(root, reporter)

    assert found == [(code, message, step)]
    assert [fault for fault in reporter.diagnostics if fault.code == "AF109"] == []


def test_a_type_that_nobody_gives_is_missed() -> None:
    reporter = Reporter()
    beans = {"one": {"bean": {"extends": "base"}}, "base": {"bean": {"abstract": True}}}

    read_root(inherit(from_mapping({"beans": beans}), reporter), reporter)

    assert [fault.message for fault in reporter.diagnostics] == ["the bean 'one' has no 'type', nor has 'base'"]


@pytest.mark.parametrize("data", [{}, {"beans": None}, {"beans": []}, {"beans": {"a": {"bean": {"extends": [1]}}}}])
def test_a_tree_without_heirs_stays_itself(data: Any) -> None:
    """What has a wrong form is told by those who read it."""
    root = from_mapping(data)
    reporter = Reporter()

    assert inherit(root, reporter) is root
    assert reporter.diagnostics == ()


def test_a_long_chain_is_no_recursion() -> None:
    beans: dict[str, Any] = {f"b{n}": {f"k{n % 9}": n, "bean": {"extends": f"b{n + 1}"}} for n in range(2_000)}
    beans["b2000"] = {"type": "scripted"}

    found = to_value(inherit(from_mapping({"beans": beans}), Reporter()))["beans"]

    assert (found["b0"]["type"], found["b0"]["k0"], found["b0"]["k8"], len(found["b0"])) == ("scripted", 0, 8, 11)


_IDS = st.sampled_from("abcd")


@given(st.dictionaries(_IDS, st.tuples(st.none() | _IDS, st.dictionaries(st.sampled_from("xyz"), st.integers()))))
def test_any_beans_are_whole_or_a_fault(drawn: dict[str, tuple[str | None, dict[str, int]]]) -> None:
    """A bean's own settings always win; without a fault it has all those of its bases."""
    beans = {
        name: {"type": "t", **own, "bean": {"extends": base} if base else {}} for name, (base, own) in drawn.items()
    }
    reporter = Reporter()
    found = to_value(inherit(from_mapping({"beans": beans}), reporter)).get("beans", {})

    for name, (base, own) in drawn.items():
        assert own.items() <= found[name].items()
        if base and not reporter.diagnostics:
            assert found[base].keys() <= found[name].keys()
    unknown = any(base and base not in drawn for base, _ in drawn.values())
    assert not unknown or reporter.diagnostics


def test_what_heirs_take_over_stays_within_bounds() -> None:
    """A short line can take over a long list: of a hundred such lines all but the first few are refused, once."""
    base = {"type": "scripted", "turns": ["a"] * 60_000}
    beans = {"base": base, **{f"b{number}": {"bean": {"extends": "base"}} for number in range(100)}}
    reporter = Reporter()

    found = to_value(inherit(from_mapping({"beans": beans}), reporter))["beans"]

    assert [(fault.code, fault.path) for fault in reporter.diagnostics] == [("AF104", "beans.b3.bean.extends")]
    assert [name for name in beans if "type" in found[name]] == ["base", "b0", "b1", "b2"]
