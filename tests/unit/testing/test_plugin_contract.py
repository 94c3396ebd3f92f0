"""Every test of the suite for plugins catches a plugin that is wrong in just that."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentforge.plugin import Found
from agentforge.testing import PluginContract
from tests.unit.testing.wrong import caught, names_of

GOOD = '''
AGENTFORGE_API = (1, 0)

from agentforge.model import ChatModel
from agentforge.model.scripted import ScriptedChatModel
from agentforge.plugin import BeanSettings, BeanType, Command, hookimpl
from agentforge.tool import ToolSource


class Inner(BeanSettings):
    text: str = ""
    """A text."""


class Settings(BeanSettings):
    text: str = ""
    """A text."""
    inner: Inner = Inner()
    """More of it."""
    count: int = 1
    """A number."""


def make(settings):
    return ScriptedChatModel([settings.text])


@hookimpl
def agentforge_bean_types(register):
    register(BeanType("good.model", Settings, make, ChatModel, "A model."))


@hookimpl
def agentforge_commands(register):
    register(Command("run", "Runs.", len))


@hookimpl
def agentforge_secret(name):
    return None


@hookimpl
def agentforge_tool_called(execution):
    execution.request.name.lower()
'''
Install = Callable[[str], Found]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Writes the plugin and gives its entry."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(source: str) -> Found:
        (tmp_path / "fake_good.py").write_text(source, "utf-8")
        return Found("good", "fake_good", "fake-good", "1")

    yield write
    sys.modules.pop("fake_good", None)


#: The test, what is replaced in the good plugin and by what, and a part of what the test says.
WRONG = [
    ("test_it_loads", "AGENTFORGE_API = (1, 0)", "import no_such_module", "the plugin has failed: ModuleNotFoundError"),
    ("test_it_loads", "AGENTFORGE_API = (1, 0)", "AGENTFORGE_API = (9, 0)", "the plugin is incompatible"),
    ("test_it_loads", "@hookimpl", "", "it implements no hook"),
    ("test_it_says_for_which_version_it_was_written", "AGENTFORGE_API = (1, 0)", "", "does not say AGENTFORGE_API"),
    ("test_its_types_are_described", '"A model."', '"A model"', "the summary of good.model is no sentence"),
    ("test_its_types_are_described", '    """More of it."""', "", "without a text below them: Settings.inner"),
    (
        "test_its_types_are_described",
        'class Inner(BeanSettings):\n    text: str = ""\n    """A text."""',
        'class Inner(BeanSettings):\n    text: str = ""',
        "without a text below them: Inner.text",
    ),
    (
        "test_unknown_settings_are_refused",
        "class Settings(BeanSettings):",
        'class Settings(BeanSettings, extra="ignore"):',
        "take unknown keys (extra='ignore')",
    ),
    (
        "test_each_type_makes_what_it_promises",
        "ScriptedChatModel([settings.text])",
        "object()",
        "which is no ChatModel",
    ),
    ("test_each_type_makes_what_it_promises", "count: int = 1", "count: int", "the beans of beans() have faults"),
    ("test_its_commands_have_names_and_summaries", 'Command("run"', 'Command("run it"', "is no name of a command"),
    ("test_its_commands_have_names_and_summaries", '"Runs."', '" "', "has no summary"),
    ("test_it_has_no_secret_that_nobody_gave_it", "    return None", "    return 'x'", "a secret that does not exist"),
    ("test_its_observers_take_every_event", "request.name", "nothing", "failed in its hook agentforge_tool_called"),
]


@pytest.mark.parametrize(("test", "old", "new", "words"), WRONG)
def test_a_wrong_plugin_is_caught(install: Install, test: str, old: str, new: str, words: str) -> None:
    """With a sentence that says what is wrong."""
    assert old in GOOD
    entry = install(GOOD.replace(old, new))

    assert words in caught(PluginContract, test, patience=20.0, plugin=lambda self: entry)


@pytest.mark.parametrize("test", sorted(names_of(PluginContract)))
def test_a_right_plugin_passes(install: Install, test: str) -> None:
    """So that it is the fault that is caught, and nothing else."""
    entry = install(GOOD)
    made = type("Right", (PluginContract,), {"plugin": lambda self: entry})()

    getattr(made, test)()


def test_every_test_of_the_suite_is_shown_to_fail() -> None:
    """None of them is there only for show."""
    assert {test for test, *_ in WRONG} == names_of(PluginContract)


def test_a_type_that_no_bean_uses_is_named(install: Install) -> None:
    """Where `beans` is overridden, it must not leave one out."""
    entry = install(GOOD)
    methods: dict[str, Any] = {"plugin": lambda self: entry, "beans": lambda self: {}}

    words = caught(PluginContract, "test_each_type_makes_what_it_promises", **methods)
    assert words == "no bean of beans() has the type good.model"


def test_a_plugin_that_is_not_installed_says_so() -> None:
    """By its name alone it is looked for among the distributions."""
    assert "no plugin 'gone' is installed" in caught(PluginContract, "test_it_loads", plugin=lambda self: "gone")


def test_what_a_plugin_does_not_bring_is_skipped(install: Install) -> None:
    """It need have neither types nor secrets."""
    entry = install("from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_bean_created(bean_id): ...\n")
    made = type("Small", (PluginContract,), {"plugin": lambda self: entry})()

    for test in ("test_each_type_makes_what_it_promises", "test_it_has_no_secret_that_nobody_gave_it"):
        with pytest.raises(unittest.SkipTest):
            getattr(made, test)()
