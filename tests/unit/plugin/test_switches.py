"""What a configuration allows of the installed plugins, also of those that are loaded already."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentforge.plugin import Catalogue, Found, NotFound, Plugins

SOURCE = """
from agentforge.model import ChatModel
from agentforge.plugin import BeanSettings, BeanType, Command, hookimpl

class Settings(BeanSettings):
    "Of the test."

@hookimpl
def agentforge_bean_types(register):
    register(BeanType("NAME.model", Settings, lambda settings: object(), ChatModel, "A model."))

@hookimpl
def agentforge_commands(register):
    register(Command("run", "Runs.", len))

@hookimpl
def agentforge_vendor_profiles(register):
    register("wires", "NAME", {"key": 1})

@hookimpl
def agentforge_bean_created(bean_id):
    seen.append(bean_id)

seen = []
"""


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Found]]:
    """Three plugins: a, b and c."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []
    for name in "abc":
        (tmp_path / f"fake_switch_{name}.py").write_text(SOURCE.replace("NAME", name), "utf-8")
        made.append(Found(name, f"fake_switch_{name}", f"fake-{name}", "1"))
    yield made
    for entry in made:
        sys.modules.pop(entry.value, None)


def states(plugins: Plugins) -> str:
    """The state of a, b and c, each by its first letter."""
    return "".join(state.state[0] for state in plugins.states())


@pytest.mark.parametrize(
    ("given", "restricted", "expected"),
    [
        ({}, (None, ()), "fff"),
        ({}, (None, ("b",)), "fbf"),
        ({}, (("b",), ()), "bfb"),
        ({}, ((), ()), "bbb"),
        ({}, (("a", "b"), ("b",)), "fbb"),
        ({"allow": ["a"]}, (("a", "b"), ()), "fbb"),
        ({"block": ["a"]}, (("a", "b"), ()), "bfb"),
        ({"block": ["a"]}, (None, ()), "bff"),
    ],
)
def test_a_restriction_narrows_what_may_load(
    entries: list[Found],
    given: dict[str, list[str]],
    restricted: tuple[tuple[str, ...] | None, tuple[str, ...]],
    expected: str,
) -> None:
    """It never allows what the environment or the program has switched off."""
    plugins = Plugins(entry_points=entries, **given)
    plugins.restrict(*restricted)
    assert states(plugins) == expected

    plugins.load_all()
    assert states(plugins) == expected.replace("f", "a")
    imported = {entry.name for entry in entries if entry.value in sys.modules}
    assert imported == {name for name, state in zip("abc", expected, strict=True) if state == "f"}


@pytest.mark.parametrize(
    ("restricted", "reason"),
    [
        ((None, ("a",)), "the configuration switches it off"),
        ((("b",), ()), "it is not among the plugins that the configuration allows"),
    ],
)
def test_a_blocked_plugin_says_who_blocked_it(
    entries: list[Found], restricted: tuple[tuple[str, ...] | None, tuple[str, ...]], reason: str
) -> None:
    """And a bean that needs it says the same, with where to allow it."""
    plugins = Plugins(entry_points=entries)
    plugins.restrict(*restricted)

    wanted = Catalogue(plugins).find("a.model")

    assert isinstance(wanted, NotFound) and wanted.reason == "blocked"
    assert wanted.detail.endswith(reason) and "'plugins' of the file" in (wanted.next_step or "")


def test_a_loaded_plugin_that_is_no_longer_allowed_is_put_out_whole(entries: list[Found]) -> None:
    """Types, commands, vendors and hooks; its neighbours stay as they were."""
    plugins = Plugins(entry_points=entries)
    plugins.load("a")
    plugins.load("b")
    plugins.call_observers("agentforge_bean_created", bean_id="first", bean=None)
    plugins.restrict(None, ("a",))
    plugins.call_observers("agentforge_bean_created", bean_id="second", bean=None)

    assert states(plugins) == "baf"
    assert plugins.types_of("a") == {} and plugins.commands_of("a") == ()
    assert list(plugins.types_of("b")) == ["b.model"] and list(plugins.vendor_profiles("wires")) == ["b"]
    seen = [sys.modules[f"fake_switch_{name}"].seen for name in "ab"]  # type: ignore[attr-defined]
    assert seen == [["first"], ["first", "second"]]


def test_a_later_restriction_takes_the_place_of_the_former(entries: list[Found]) -> None:
    """A file that is read again may allow what it did not: the plugin is loaded when it is next asked for."""
    plugins = Plugins(entry_points=entries)
    plugins.load("a")
    plugins.restrict((), ())
    assert states(plugins) == "bbb"

    plugins.restrict(None, ("b",))
    assert states(plugins) == "fbf"
    plugins.load("a")
    assert states(plugins) == "abf" and list(plugins.types_of("a")) == ["a.model"]


def test_a_restriction_that_changes_nothing_keeps_what_is_loaded(entries: list[Found]) -> None:
    """The same types are there, not others of the same names."""
    plugins = Plugins(entry_points=entries)
    plugins.load("a")
    before = plugins.types_of("a")["a.model"]
    plugins.restrict(("a",), ())

    assert plugins.types_of("a")["a.model"] is before
    assert states(plugins) == "abb"
