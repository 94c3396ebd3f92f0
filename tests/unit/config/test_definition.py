"""The shape of a configuration: what a root and a bean become, and what is missing when something is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.config import (
    BeanOptions,
    MappingNode,
    Reporter,
    from_mapping,
    merge,
    read_bean,
    read_root,
    read_yaml,
    to_value,
)

TEXT = """\
agentforge: 1
scan: [weather_desk.tools]
include: [common.yaml]
plugins: [otel]
beans:
  model: {type: scripted, turns: [a], bean: {lazy: true, scope: prototype, order: 3}}
  assistant:
    type: chat_client
    model: model
    bean: {depends_on: [model], init: start, destroy: stop, primary: true, aliases: [main]}
"""


def test_a_root_is_read_whole() -> None:
    """Each name with its place, the beans in the order of the file."""
    node = read_yaml(TEXT, "app.yaml", layer="file")
    assert node is not None
    reporter = Reporter()

    root = read_root(node, reporter)

    assert reporter.diagnostics == ()
    lists = (root.scan, root.include, root.plugins.required)
    assert [(name, str(mark)) for names in lists for name, mark in names] == [
        ("weather_desk.tools", "app.yaml:2:8"),
        ("common.yaml", "app.yaml:3:11"),
        ("otel", "app.yaml:4:11"),
    ]
    model, assistant = root.beans.values()
    assert (model.id, model.type, str(model.type_mark), str(model.mark)) == (
        "model",
        "scripted",
        "app.yaml:6:17",
        "app.yaml:6:3",
    )
    assert to_value(model.settings) == {"turns": ["a"]}
    assert model.options == BeanOptions(lazy=True, scope="prototype", order=3)
    options = assistant.options
    assert [name for name, _ in options.depends_on + options.aliases] == ["model", "main"]
    assert (options.init, options.destroy, options.primary, options.lazy) == ("start", "stop", True, False)
    assert not assistant.anonymous


@pytest.mark.parametrize("data", [{}, {"agentforge": 1}, {"beans": None, "scan": None}, {"agentforge": "1"}])
def test_what_is_left_out_is_empty(data: dict[str, Any]) -> None:
    """The version too: it is that of this program."""
    reporter = Reporter()

    root = read_root(from_mapping(data), reporter)

    assert (root.version, root.scan, dict(root.beans), reporter.diagnostics) == (1, (), {}, ())


def test_a_bean_in_place_has_no_name_to_check() -> None:
    reporter = Reporter()

    bean = read_bean("assistant.advisors.0", from_mapping({"type": "logger"}), reporter, path="a.b", anonymous=True)

    assert bean is not None
    assert (bean.type, bean.anonymous, bean.options, reporter.diagnostics) == ("logger", True, BeanOptions(), ())


@pytest.mark.parametrize(
    ("bean", "code", "path", "types"),
    [
        ({"type": ["a"]}, "AF108", "beans.model.type", [""]),
        ({"type": ""}, "AF108", "beans.model.type", [""]),
        ({"type": None}, "AF108", "beans.model.type", [""]),
        ({}, "AF109", "beans.model.type", [""]),
        ([], "AF108", "beans.model", []),
        (None, "AF108", "beans.model", []),
        (object(), "AF108", "beans.model", []),
    ],
)
def test_a_bean_without_a_usable_type_is_a_fault(bean: object, code: str, path: str, types: list[str]) -> None:
    """It is still a bean, so that those who name it are not at fault; what is no mapping is none."""
    reporter = Reporter()

    root = read_root(from_mapping({"beans": {"model": bean}}), reporter)

    assert [each.type for each in root.beans.values()] == types
    assert [(fault.code, fault.path) for fault in reporter.diagnostics] == [(code, path)]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], "AF108"),
        ({"lazy": None}, "AF108"),
        ({"order": 1.5}, "AF108"),
        ({"order": True}, "AF108"),
        ({"init": "a.b"}, "AF108"),
        ({"scope": "singelton"}, "AF108"),
        ({"extends": ["other"]}, "AF108"),
        ({"abstract": "perhaps"}, "AF108"),
        ({"provider": 1}, "AF108"),
        ({"when": "local"}, "AF108"),
        ({"when": {}}, "AF108"),
        ({"lasy": True}, "AF107"),
    ],
)
def test_an_option_that_does_not_fit_keeps_its_default(options: object, code: str) -> None:
    """So that every further fault is still found."""
    reporter = Reporter()

    root = read_root(from_mapping({"beans": {"model": {"type": "scripted", "bean": options}}}), reporter)

    assert root.beans["model"].options == BeanOptions()
    assert [fault.code for fault in reporter.diagnostics] == [code]


def test_definitions_cannot_be_changed() -> None:
    root = read_root(from_mapping({"beans": {"model": {"type": "scripted"}}}), Reporter())
    beans: Any = root.beans
    entries: Any = MappingNode({}, root.mark, "python").entries

    for mapping in (beans, entries):
        with pytest.raises(TypeError):
            mapping["other"] = None


@pytest.mark.parametrize(
    ("beans", "layer", "message", "step"),
    [
        (
            {"modl": {"key": "t0p-secret"}},
            "environment",
            "no bean is called 'modl'",
            "Did you mean 'model'?",
        ),
        (
            {"model_key": "t0p-secret"},
            "environment",
            "no bean is called 'model_key'",
            "Did you mean 'model.key'? Keys are parted by two underscores.",
        ),
        (
            {"model_key": "t0p-secret"},
            "command line",
            "no bean is called 'model_key'",
            "Did you mean 'model.key'? Keys are parted by a dot.",
        ),
        (
            {"other": "t0p-secret"},
            ".env",
            "the bean 'other' is a mapping with a 'type', not a single value",
            "Write 'other: {type: …}'.",
        ),
    ],
)
def test_a_value_from_outside_that_names_no_bean_is_not_repeated(
    beans: dict[str, Any], layer: str, message: str, step: str
) -> None:
    """It may be the key that was meant for another place."""
    reporter = Reporter()
    declared = from_mapping({"beans": {"model": {"type": "scripted"}}}, layer="file")

    read_root(merge(declared, from_mapping({"beans": beans}, layer=layer)), reporter)

    assert [(fault.message, fault.next_step) for fault in reporter.diagnostics] == [(message, step)]
