"""The ``bean:`` block and ``plugins:``: what is read, and what each wrong form is told."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.config import Condition, PluginSwitches, Reporter, from_mapping, read_bean, read_root


def options(block: Any, **given: Any) -> tuple[Any, list[tuple[str, str, str, str | None]]]:
    """The options of a bean with this block; code, path, message and advice of each fault."""
    reporter = Reporter()
    bean = read_bean("x", from_mapping({"type": "scripted", "bean": block}), reporter, **given)
    assert bean is not None
    return bean.options, [
        (fault.code, fault.path.removeprefix("beans.x."), fault.message, fault.next_step)
        for fault in reporter.diagnostics
    ]


def test_every_option_is_read() -> None:
    found, faults = options(
        {"extends": "base", "abstract": True, "provider": True, "scope": "invocation", "when": {"profile": "local"}}
    )

    assert faults == []
    assert (found.extends[0], found.abstract, found.provider, found.scope) == ("base", True, True, "invocation")
    assert [(condition.kind, condition.values) for condition in found.when] == [("profile", ("local",))]


def test_conditions_stand_in_the_order_of_the_file() -> None:
    """A single text is a list of one; negations and values stay as they are written."""
    found, faults = options(
        {
            "when": {
                "missing_bean": ["ChatModel", "!memory"],
                "profile": ["!local", "ci"],
                "property": ["REGION=eu west", "!DEBUG", "beans.model.type=scripted", "!agentforge.x"],
                "plugin": "otel",
            }
        }
    )

    assert faults == []
    assert [(str(each.mark), each.kind, each.values) for each in found.when] == [
        ("python bean.when.missing_bean", "missing_bean", ("ChatModel", "!memory")),
        ("python bean.when.profile", "profile", ("!local", "ci")),
        (
            "python bean.when.property",
            "property",
            ("REGION=eu west", "!DEBUG", "beans.model.type=scripted", "!agentforge.x"),
        ),
        ("python bean.when.plugin", "plugin", ("otel",)),
    ]
    assert all(isinstance(each, Condition) for each in found.when)


_NAMES = "'property' names a variable or a place of the file"
_FORM = "Write NAME, NAME=value, or a place such as beans.model.type=scripted."


@pytest.mark.parametrize(
    ("when", "path", "message", "step"),
    [
        ("local", "bean.when", "'when' is a mapping of conditions, not a single value", None),
        ({}, "bean.when", "'when' is a mapping of conditions, not an empty mapping", None),
        (None, "bean.when", "'when' is a mapping of conditions, not nothing", None),
        ({"profil": "x"}, "bean.when.profil", "unknown condition 'profil'", "Did you mean 'profile'?"),
        ({"profile": {}}, "bean.when.profile", "'profile' is a text or a list of texts, not a mapping", None),
        ({"profile": []}, "bean.when.profile", "'profile' is a text or a list of texts, not an empty list", None),
        ({"plugin": None}, "bean.when.plugin", "'plugin' is a text or a list of texts, not nothing", None),
        ({"plugin": "!"}, "bean.when.plugin", "'plugin' is a text or a list of texts, not '!'", None),
        ({"plugin": [[1]]}, "bean.when.plugin.0", "'plugin' is a text or a list of texts, not a list", None),
        ({"property": "a-b"}, "bean.when.property", f"{_NAMES}, not 'a-b'", _FORM),
        ({"property": ["=x"]}, "bean.when.property.0", f"{_NAMES}, not '=x'", _FORM),
        ({"property": "beans..x"}, "bean.when.property", f"{_NAMES}, not 'beans..x'", _FORM),
        ({"property": "bean.x=1"}, "bean.when.property", f"{_NAMES}, not 'bean.x=1'", "Did you mean 'beans.x'?"),
        (
            {"property": "!q.x"},
            "bean.when.property",
            f"{_NAMES}, not '!q.x'",
            "Begin with one of agentforge, scan, include, plugins, beans.",
        ),
    ],
)
def test_a_condition_of_a_wrong_form_is_told_the_right_one(when: Any, path: str, message: str, step: str) -> None:
    found, [(code, where, said, advice)] = options({"when": when, "lazy": True})

    assert (code, where, said) == ("AF107" if "unknown" in message else "AF108", path, message)
    assert advice == step if step else advice
    assert (found.when, found.lazy) == ((), True)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"extends": None}, "'extends' is the name of a bean, not nothing"),
        ({"extends": ["a", "b"]}, "'extends' is the name of a bean, not a list"),
        ({"abstract": "yes"}, "'abstract' is true or false, not 'yes'"),
        ({"provider": {}}, "'provider' is true or false, not a mapping"),
        ({"scope": "invocations"}, "'scope' is 'singleton', 'prototype' or 'invocation', not 'invocations'"),
        ({"depends_on": [None]}, "'beans.x.bean.depends_on' is a list of names, and this one is nothing"),
    ],
)
def test_an_option_of_a_wrong_form_is_told_the_right_one(block: Any, message: str) -> None:
    _, [(code, _, said, step)] = options(block)

    assert (code, said) == ("AF108", message)
    assert step


@pytest.mark.parametrize("key", ["abstract", "aliases", "extends", "when"])
def test_a_bean_in_place_has_no_option_that_needs_a_name(key: str) -> None:
    value = {"abstract": True, "aliases": ["a"], "extends": "b", "when": {"profile": "x"}}[key]

    _, faults = options({key: value, "lazy": True}, anonymous=True)

    step = "Declare the bean under 'beans', and name it here."
    assert faults == [("AF107", f"bean.{key}", f"'{key}' has no meaning for a bean that is written in place", step)]
    assert options({key: value})[1] == []


def switches(plugins: Any) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """The names of each switch, and the faults."""
    reporter = Reporter()
    found = read_root(from_mapping({"plugins": plugins}), reporter).plugins
    assert isinstance(found, PluginSwitches)
    names = {
        key: None if (given := getattr(found, key)) is None else [name for name, _ in given]
        for key in ("required", "optional", "disabled", "only")
    }
    given_names = {key: value for key, value in names.items() if value or (key == "only" and value is not None)}
    return given_names, [(fault.code, fault.path, fault.message) for fault in reporter.diagnostics]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (None, {}),
        ([], {}),
        (["a", "b"], {"required": ["a", "b"]}),
        ({}, {}),
        ({"required": None, "optional": ["a"], "disabled": ["b"]}, {"optional": ["a"], "disabled": ["b"]}),
        ({"only": []}, {"only": []}),
        ({"required": ["a"], "only": ["a", "b"]}, {"required": ["a"], "only": ["a", "b"]}),
        ({"disabled": ["b"], "only": ["a", "b"]}, {"disabled": ["b"], "only": ["a", "b"]}),
    ],
)
def test_plugins_are_a_list_or_switches(written: Any, meant: dict[str, Any]) -> None:
    """A list is what must be there; without ``only`` any plugin may be loaded, with an empty one none."""
    assert switches(written) == (meant, [])


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("otel", ("AF108", "plugins", "'plugins' is a list of names, or a mapping of such lists, not a single value")),
        ({"requires": ["a"]}, ("AF107", "plugins.requires", "unknown key 'requires' of 'plugins'")),
        ({"only": None}, ("AF108", "plugins.only", "'plugins.only' is a list of names, not nothing")),
        ({"optional": "a"}, ("AF108", "plugins.optional", "'plugins.optional' is a list of names, not a single value")),
        (
            {"required": ["a"], "disabled": ["a"]},
            ("AF108", "plugins.required", "the plugin 'a' is required and disabled"),
        ),
        (
            {"optional": ["a"], "only": ["b"]},
            ("AF108", "plugins.optional", "the plugin 'a' is optional, and not one of those that 'only' allows"),
        ),
    ],
)
def test_switches_that_mean_nothing_are_a_fault(written: Any, fault: tuple[str, str, str]) -> None:
    assert switches(written)[1] == [fault]
