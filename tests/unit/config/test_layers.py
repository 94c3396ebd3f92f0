"""The layers: which one wins, what it leaves alone, and that every value says who set it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.config import (
    ConfigurationFaults,
    Layers,
    MappingNode,
    folder_of,
    from_mapping,
    load_layers,
    load_mapping,
    merge,
    to_value,
)

FILES = {
    "agentforge.yaml": ("include: [common.yaml]\nbeans:\n  model: {type: scripted, a: file, b: file, tags: [x, y]}\n"),
    "common.yaml": "include: [deep.yaml]\nbeans:\n  model: {a: include, c: include, d: include}\n",
    "deep.yaml": "beans:\n  model: {c: deep, e: deep}\n",
    "agentforge-local.yaml": "beans:\n  model: {b: local, d: local, tags: [z]}\n",
    "agentforge-more.yaml": "beans:\n  model: {d: more, g: more}\n",
    ".env": (
        "AGENTFORGE_BEANS__MODEL__D=dotenv\nexport AGENTFORGE_BEANS__MODEL__H='dot env'\nPLAIN=dotenv\nSHARED=dotenv\n"
    ),
}
ENVIRONMENT = {"AGENTFORGE_BEANS__MODEL__H": "environment", "SHARED": "environment", "USER": "someone"}


def load(folder: Path, files: Mapping[str, str] = FILES, **options: Any) -> Layers:
    """The layers of these files."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return load_layers(folder / "agentforge.yaml", **{"environment": {}, **options})


def model(layers: Layers) -> MappingNode:
    """The node of the bean ``model``."""
    beans = layers.root.get("beans")
    assert isinstance(beans, MappingNode)
    found = beans.get("model")
    assert isinstance(found, MappingNode)
    return found


def test_each_layer_lies_over_the_ones_before_and_every_value_says_who_set_it(tmp_path: Path) -> None:
    """Command line, environment, .env, profiles (the last first), file, includes."""
    layers = load(
        tmp_path, profiles=["local", "more"], environment=ENVIRONMENT, sets=["beans.model.g=set", "beans.model.i=8"]
    )

    found = model(layers)
    assert {key: (to_value(entry.node), entry.node.layer) for key, entry in found.entries.items()} == {
        "type": ("scripted", "file"),
        "a": ("file", "file"),
        "b": ("local", "profile local"),
        "c": ("include", "include common.yaml"),
        "d": ("dotenv", ".env"),
        "e": ("deep", "include deep.yaml"),
        "g": ("set", "command line"),
        "h": ("environment", "environment"),
        "i": (8, "command line"),
        "tags": (["z"], "profile local"),
    }
    assert layers.warnings == ()


@pytest.mark.parametrize(
    "above",
    [
        {"profiles": ["remote"]},
        {"environment": {"AGENTFORGE_BEANS__MODEL__TYPE": "openai.chat", "AGENTFORGE_BEANS__MODEL__MODEL": "m"}},
        {"environment": {"AGENTFORGE_BEANS__MODEL": "{type: openai.chat, model: m}"}},
        {"sets": ["beans.model.model=m", "beans.model.type=openai.chat"]},
    ],
)
def test_a_bean_that_gets_another_type_begins_anew(tmp_path: Path, above: Mapping[str, Any]) -> None:
    """The settings of its former type go, whatever the order of the values; the container's options stay."""
    files = {
        "agentforge.yaml": "beans:\n  model: {type: local.llama, weights: smollm2, bean: {primary: true}}\n",
        "agentforge-remote.yaml": "beans:\n  model: {type: openai.chat, model: m}\n",
    }
    found = model(load(tmp_path, files, **above))

    assert to_value(found) == {"type": "openai.chat", "model": "m", "bean": {"primary": True}}


def test_a_key_type_inside_a_bean_is_anybodys(tmp_path: Path) -> None:
    """Only a bean begins anew: its settings merge, whatever their keys are called."""
    files = {"agentforge.yaml": "beans:\n  model: {type: scripted, arguments: {type: a, other: b}}\n"}
    found = model(load(tmp_path, files, sets=["beans.model.arguments.type=z"]))

    assert to_value(found)["arguments"] == {"type": "z", "other": "b"}


def test_a_bean_that_keeps_its_type_keeps_its_settings(tmp_path: Path) -> None:
    """A type that is said again changes nothing."""
    found = model(load(tmp_path, sets=["beans.model.type=scripted", "beans.model.g=1"]))

    assert to_value(found)["a"] == "file"


def test_a_mapping_lies_over_what_it_includes(tmp_path: Path) -> None:
    """From its folder; a file that is not there, or that chooses code, is a fault."""
    (tmp_path / "common.yaml").write_text("beans:\n  model: {type: scripted, a: include, b: include}\n", "utf-8")
    (tmp_path / "chooses.yaml").write_text("scan: [os]\n", "utf-8")
    mapping = {"include": ["common.yaml"], "beans": {"model": {"b": "python"}}}
    found = model(load_mapping(mapping, folder=tmp_path, environment={}))

    assert to_value(found) == {"type": "scripted", "a": "include", "b": "python"}
    with pytest.raises(ConfigurationFaults) as caught:
        load_mapping({"include": ["gone.yaml", "chooses.yaml"]}, folder=tmp_path, environment={})
    assert [fault.code for fault in caught.value.diagnostics] == ["AF115", "AF101"]


def test_marks_are_those_of_the_winner(tmp_path: Path) -> None:
    found = model(load(tmp_path, profiles=["local"], environment=ENVIRONMENT, sets=["beans.model.i=8"]))

    assert {key: str(entry.node.mark) for key, entry in found.entries.items() if key in "abdhi"} == {
        "a": f"{tmp_path}/agentforge.yaml:3:30",
        "b": f"{tmp_path}/agentforge-local.yaml:2:14",
        "d": f"{tmp_path}/.env:1:1",
        "h": "environment AGENTFORGE_BEANS__MODEL__H",
        "i": "command line --set beans.model.i",
    }


def test_the_environment_lies_over_the_dotenv_file(tmp_path: Path) -> None:
    """For placeholders as well; and the file can be left out."""
    assert load(tmp_path, environment=ENVIRONMENT).environment == {
        **ENVIRONMENT,
        "PLAIN": "dotenv",
        "AGENTFORGE_BEANS__MODEL__D": "dotenv",
    }
    assert load(tmp_path, dotenv=False).environment == {}


def test_a_variable_of_the_dotenv_file_that_the_environment_sets_does_nothing(tmp_path: Path) -> None:
    """A bean that it would give another type keeps what the file says of it."""
    name = "AGENTFORGE_BEANS__MODEL__TYPE"
    layers = load(tmp_path, {**FILES, ".env": f"{name}=openai.chat\n"}, environment={name: "scripted"})

    assert to_value(model(layers)) == {**to_value(model(load(tmp_path, {**FILES, ".env": ""}))), "type": "scripted"}


def test_nothing_of_the_environment_is_shown(tmp_path: Path) -> None:
    """Neither by the layers nor by a fault in the .env file."""
    files = {**FILES, ".env": "KEY=sk-12345678\nOTHER='sk-12345678\n"}

    with pytest.raises(ConfigurationFaults) as raised:
        load(tmp_path, files)

    assert ".env:2:1" in str(raised.value)
    assert "sk-12345678" not in str(raised.value)
    assert "sk-12345678" not in repr(load(tmp_path, environment={"KEY": "sk-12345678"}))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("word", "word"),
        ("8", 8),
        ("Note: be brief", "Note: be brief"),
        ("[a, 1]", ["a", 1]),
        ("{k: {l: true}}", {"k": {"l": True}}),
        ('"8"', "8"),
        ("'[x]'", "[x]"),
        ("", None),
        ("0123", "0123"),
        ("a=b", "a=b"),
    ],
)
def test_a_value_from_outside_is_yaml_only_where_it_looks_like_it(text: str, meant: object, tmp_path: Path) -> None:
    """The environment and the command line read a value alike."""
    files = {"agentforge.yaml": "beans: {model: {type: scripted}}\n"}
    by_set = load(tmp_path, files, sets=[f"beans.model.x={text}"])
    by_name = load(tmp_path, files, environment={"AGENTFORGE_BEANS__MODEL__X": text})

    assert to_value(model(by_set))["x"] == meant
    assert to_value(model(by_name))["x"] == meant


def test_a_variable_finds_its_key_whatever_the_case(tmp_path: Path) -> None:
    files = {"agentforge.yaml": "beans: {model: {type: scripted, headers: {X-Trace: a}}}\n"}
    name = "AGENTFORGE_BEANS__MODEL__HEADERS__X-TRACE"

    assert to_value(model(load(tmp_path, files, environment={name: "b"})))["headers"] == {"X-Trace": "b"}


def test_settings_of_the_program_are_no_values(tmp_path: Path) -> None:
    layers = load(tmp_path, environment={"AGENTFORGE_LOG_LEVEL": "debug", "AGENTFORGE_PROFILES": "x"})

    assert layers.warnings == ()
    assert set(layers.root.entries) == {"include", "beans"}


@pytest.mark.parametrize("key", ["scan", "include", "plugins"])
def test_what_is_loaded_is_chosen_by_no_value_from_outside(key: str, tmp_path: Path) -> None:
    """Neither by the command line nor by the environment."""
    with pytest.raises(ConfigurationFaults) as raised:
        load(tmp_path, sets=[f"{key}=[os]"], environment={f"AGENTFORGE_{key.upper()}": "[os]"})

    message = f"'{key}' cannot be set from here: it chooses what is loaded"
    assert [(fault.code, fault.message) for fault in raised.value.diagnostics] == [("AF115", message)] * 2


@pytest.mark.parametrize("profile", ["", "..", "a/b", "none"])
def test_a_profile_that_is_no_file_beside_the_root_is_refused(profile: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        load(tmp_path, profiles=[profile])

    assert raised.value.code == "AF116"


def test_a_path_from_outside_cannot_be_deeper_than_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        load(tmp_path, sets=["beans" + ".a" * 64 + "=1"])

    assert raised.value.code == "AF104"


def test_an_include_with_a_zero_byte_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        load(tmp_path, {"agentforge.yaml": 'include: ["a\\0b"]\n'})

    assert [(fault.code, fault.mark.line) for fault in raised.value.diagnostics] == [("AF101", 1)]


def test_what_cannot_be_read_as_a_file_is_a_fault(tmp_path: Path) -> None:
    """A folder, here: as the root, as .env, and as an include."""
    for name in ("agentforge.yaml", ".env"):
        (tmp_path / name).mkdir()

    with pytest.raises(ConfigurationFaults) as raised:
        load_layers(tmp_path / "agentforge.yaml", environment={})

    assert [fault.code for fault in raised.value.diagnostics] == ["AF101", "AF101"]


@pytest.mark.parametrize(
    ("data", "code", "place"), [(b"KEY=caf\xe9\n", "AF102", "1:8"), (b"#" * (1024 * 1024 + 1), "AF104", "1:1")]
)
def test_a_dotenv_file_that_is_no_text_of_ours_is_a_fault(data: bytes, code: str, place: str, tmp_path: Path) -> None:
    """And its variables are not shown."""
    (tmp_path / ".env").write_bytes(data)

    with pytest.raises(ConfigurationFaults) as raised:
        load(tmp_path, {"agentforge.yaml": ""})

    assert [(fault.code, str(fault.mark)) for fault in raised.value.diagnostics] == [(code, f"{tmp_path}/.env:{place}")]


def test_a_relative_path_is_read_from_the_folder_of_its_file(tmp_path: Path) -> None:
    """A value from outside from that of the root file."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.yaml").write_text("beans: {model: {there: x}}\n", "utf-8")
    files = {"agentforge.yaml": "include: [sub/more.yaml]\nbeans: {model: {type: scripted, here: x}}\n"}

    layers = load(tmp_path, files, sets=["beans.model.outside=x"])

    found = {key: folder_of(entry.node.mark, layers) for key, entry in model(layers).entries.items()}
    assert found == {
        "type": tmp_path,
        "here": tmp_path,
        "there": tmp_path / "sub",
        "outside": tmp_path,
    }


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AGENTFORGE_BEANS_MODEL_TYPE", "AGENTFORGE_BEANS__MODEL__TYPE"),
        ("AGENTFORGE_BEANS_MODEL__TYPE", "AGENTFORGE_BEANS__MODEL__TYPE"),
        ("AGENTFORGE_BEANS_MODEL_TWO_BASE_URL", "AGENTFORGE_BEANS__MODEL_TWO__BASE_URL"),
        ("agentforge_beans_model_type", None),
        ("AGENTFORGE_LOG_LEVLE", "AGENTFORGE_LOG_LEVEL"),
    ],
)
def test_a_variable_with_single_underscores_is_told_the_right_one(tmp_path: Path, name: str, meant: str | None) -> None:
    """The bean with the longest name that fits is meant; what does not begin as ours do is nobody's business."""
    files = {"agentforge.yaml": "beans: {model: {type: scripted}, model_two: {type: scripted}}\n"}

    warnings = load(tmp_path, files, environment={name: "x"}).warnings

    assert [warning.partition("; did you mean ")[2] for warning in warnings] == ([f"{meant}?"] if meant else [])


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"environment": {"AGENTFORGE_BEANS__MODLE__TYPE": "scripted"}}, "environment AGENTFORGE_BEANS__MODLE__TYPE"),
        ({"sets": ["beans.modle.type=scripted"]}, "command line --set beans.modle.type"),
        ({"sets": ["beans.model_2.type=scripted"]}, None),
        ({"sets": ["beans.weather.type=scripted"]}, None),
        ({"sets": ["beans.model.type=other"]}, None),
    ],
)
def test_a_bean_that_only_the_outside_declares_is_a_warning_when_its_name_is_near_another(
    tmp_path: Path, options: dict[str, Any], place: str | None
) -> None:
    """Nobody would use it; one of another name, or one more of a kind, is meant."""
    files = {"agentforge.yaml": "beans: {model: {type: scripted}}\n"}

    warnings = load(tmp_path, files, **options).warnings

    said = f"{place} declares a bean 'modle' that no file has; did you mean 'model'?"
    assert warnings == ((said,) if place else ())


def test_a_folder_that_is_not_there_has_no_profiles(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        load_layers(tmp_path / "none" / "agentforge.yaml", profiles=["local"], environment={})

    assert [(fault.code, fault.next_step) for fault in raised.value.diagnostics] == [
        ("AF101", "Check the path, name another file with --config, or begin a project with agentforge init."),
        ("AF116", "Create the file."),
    ]


_TREES = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)
_ROOTS = st.dictionaries(st.sampled_from("abc"), _TREES, max_size=3)


@given(_ROOTS, _ROOTS, _ROOTS)
def test_merging_is_associative_on_disjoint_keys(one: Any, two: Any, three: Any) -> None:
    """Whichever two are merged first; and there the order does not matter."""
    a, b, c = (
        from_mapping({f"{number}{key}": tree for key, tree in root.items()})
        for number, root in enumerate((one, two, three))
    )

    assert to_value(merge(merge(a, b), c)) == to_value(merge(a, merge(b, c)))
    assert to_value(merge(a, b)) == to_value(merge(b, a))


def _leaves(node: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    if not isinstance(node, MappingNode):
        return {path: node.layer}
    return {
        leaf: layer for key, entry in node.entries.items() for leaf, layer in _leaves(entry.node, (*path, key)).items()
    }


@given(_ROOTS, _ROOTS)
def test_every_value_of_the_upper_tree_wins_with_its_layer(below: Any, above: Any) -> None:
    merged = _leaves(merge(from_mapping(below, layer="below"), from_mapping(above, layer="above")))
    upper = _leaves(from_mapping(above, layer="above"))

    assert {path: layer for path, layer in merged.items() if path in upper} == upper
    assert {layer for path, layer in merged.items() if path not in upper} <= {"below"}
