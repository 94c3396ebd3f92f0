"""Keys that belong into another mapping, and faults of the whole whose value stands somewhere in it."""

from __future__ import annotations

import pytest

from agentforge.config import MappingNode, read_yaml
from agentforge.config.anew import Anew, beans_begun_anew
from agentforge.config.elsewhere import blamed_mark, keys_from_outside, meant_key
from agentforge.config.faults import Reporter
from agentforge.config.overrides import apply_sets

KNOWN = ["model", "vendor", "max_connections", "defaults", "retry"]
INSIDE = {"max_output_tokens": ["defaults"], "seed": ["defaults", "retry", "third"], "first_wait": ["retry"]}


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("modle", "Did you mean 'model'?"),
        ("max_tokens", "Did you mean 'max_output_tokens'? Write 'defaults: {max_output_tokens: …}'."),
        ("max_conections", "Did you mean 'max_connections'?"),
        ("first_wait", "Write it inside of 'retry': 'retry: {first_wait: …}'."),
        ("seed", "Write it inside of 'defaults' or 'retry': 'defaults: {seed: …}' or 'retry: {seed: …}'."),
        ("zzz", "Known here: model, vendor, max_connections, defaults, retry."),
    ],
)
def test_a_key_is_looked_for_in_the_mappings_that_stand_beside_it(name: str, step: str) -> None:
    """The nearest of all keys is offered, with the mapping that it belongs into."""
    assert meant_key(name, KNOWN, INSIDE) == step


TEXT = "vendor: opnai\nmodel: gpt\nname: gpt\nkey: opnai\noverrides: {imges: true, form: jsno}\n"


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("there is no vendor row 'opnai'", "a.yaml:1:9"),
        ("overrides has no field 'imges'", "a.yaml:5:13"),
        ("'jsno' is no form for overrides", "a.yaml:5:32"),
        ("give either vendor or model", None),
        ("there is no row 'opnai'", None),
        ("the vendors 'opnai'", None),
        ("the model or name 'gpt' is not known", None),
        ("the key 'opnai' is refused", None),
    ],
)
def test_a_fault_of_the_whole_is_put_to_the_one_value_that_it_names(message: str, place: str | None) -> None:
    """Name and value both have to be there, and of one setting alone; what is private is not looked at."""
    node = read_yaml(TEXT, "a.yaml", layer="file")
    assert node is not None
    mark = blamed_mark(node, message, ["key"])
    assert (None if mark is None else str(mark)) == place


def tree(text: str) -> MappingNode:
    node = read_yaml(text, "a.yaml", layer="file")
    assert node is not None
    return node


def test_only_beans_whose_type_changed_began_anew() -> None:
    """With the settings of every type that they had; the options of the container stay and are none of them."""
    first = tree("beans: {a: {type: x, p: 1, bean: {primary: true}}, b: {type: x, p: 1}, c: 3}")
    second = apply_sets(first, ["beans.a.type=y", "beans.a.q=1", "beans.b.p=2", "beans.d.type=x"], Reporter())
    third = apply_sets(second, ["beans.a.type=z"], Reporter())

    assert beans_begun_anew([first, second, third]) == {"a": Anew("a", "y", frozenset({"p", "q"}), "command line")}
    assert beans_begun_anew([first, first]) == {} == beans_begun_anew([first])
    assert beans_begun_anew([tree("beans: 3"), first]) == {} == beans_begun_anew([first, tree("scan: [a]")])


def test_what_came_from_outside_is_told_with_its_place() -> None:
    """Also where only a part of a mapping came from there."""
    whole = apply_sets(tree("beans: {a: {type: x, p: 1, q: {r: 1}}}"), ["beans.a.q.s=2", "beans.a.t=3"], Reporter())
    beans = whole.get("beans")
    node = beans.get("a") if isinstance(beans, MappingNode) else None
    assert isinstance(node, MappingNode)

    assert [(key, str(mark)) for key, mark in keys_from_outside(node)] == [
        ("q", "command line --set beans.a.q.s"),
        ("t", "command line --set beans.a.t"),
    ]
