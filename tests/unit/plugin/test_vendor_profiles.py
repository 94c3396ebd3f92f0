"""Vendors as data: rows that one plugin brings for the wires of another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentforge.plugin import Found, Plugins, VendorProfile

SOURCE = """
from agentforge.plugin import hookimpl

@hookimpl
def agentforge_vendor_profiles(register):
    {lines}
"""
Install = Callable[[str, str], Found]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Writes a plugin that registers what is said, and gives its entry."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def write(name: str, lines: str) -> Found:
        made.append(f"fake_vendor_{name}")
        (tmp_path / f"{made[-1]}.py").write_text(SOURCE.format(lines=lines), "utf-8")
        return Found(name, made[-1], f"fake-{name}", "1")

    yield write
    for module in made:
        sys.modules.pop(module, None)


def test_rows_are_found_by_family_and_name_and_know_their_plugin(install: Install) -> None:
    """Once the plugin is loaded; before that there are none."""
    lines = "register('wires', 'one', {'a': 1}); register('wires', 'two', {}); register('other', 'one', {'b': 2})"
    plugins = Plugins(entry_points=[install("acme", lines), install("more", "register('wires', 'three', {})")])
    assert plugins.vendor_profiles("wires") == {}
    plugins.load_all()

    found = plugins.vendor_profiles("wires")
    assert {name: (dict(row), row.plugin) for name, row in found.items()} == {
        "one": ({"a": 1}, "acme"),
        "two": ({}, "acme"),
        "three": ({}, "more"),
    }
    assert dict(plugins.vendor_profiles("other")["one"]) == {"b": 2}
    assert plugins.vendor_profiles("nobody's") == {}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("register('wires', 'One', {})", "the name of a vendor profile must be lower-case letters and digits"),
        ("register('', 'one', {})", "the family of a vendor profile must be"),
        ("register('wires', 1, {})", "the name of a vendor profile must be"),
        ("register('wires', 'one', 'x')", "the vendor profile 'one' must be a mapping"),
        ("register('wires', 'one', {1: 2})", "the vendor profile 'one' must be a mapping"),
        ("register('wires', 'one', {}); register('wires', 'one', {})", "vendor profile 'one' of 'wires' twice"),
        ("register('one', {})", "TypeError"),
    ],
)
def test_a_row_that_is_none_sets_its_plugin_aside(install: Install, lines: str, reason: str) -> None:
    """Whole: a good row before it is not kept either."""
    plugins = Plugins(entry_points=[install("bad", f"register('wires', 'good', {{}}); {lines}")])
    plugins.load("bad")

    state = plugins.state("bad")
    assert state is not None and state.state == "failed" and reason in (state.reason or "")
    assert plugins.vendor_profiles("wires") == {}


def test_a_name_of_two_plugins_is_the_firsts_and_names_both(install: Install) -> None:
    """Which of them would win is chance, so the second is set aside and says whose name it took."""
    row = "register('wires', 'one', {'from': __name__})"
    plugins = Plugins(entry_points=[install("first", row), install("second", row)])
    plugins.load_all()

    state = plugins.state("second")
    assert state is not None and state.state == "failed"
    assert state.reason == "its vendor profile 'one' of 'wires' is there already, from the plugin 'first'"
    assert plugins.vendor_profiles("wires")["one"]["from"] == "fake_vendor_first"


def test_a_row_cannot_be_changed_by_who_registered_it() -> None:
    """It is a copy."""
    given: dict[str, object] = {"a": 1}
    row = VendorProfile("wires", "one", given, plugin="acme")
    given["a"] = 2

    assert dict(row) == {"a": 1} and len(row) == 1
    assert repr(row) == "VendorProfile('wires', 'one', plugin='acme')"
