"""A broken plugin is set aside by name and cause, and everything that does not need it works."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from agentforge.plugin import Catalogue, Found, NotFound, Plugins

GOOD = """
from agentforge.model import ChatModel
from agentforge.plugin import BeanSettings, BeanType, hookimpl

class Settings(BeanSettings):
    "Of the test."

@hookimpl
def agentforge_bean_types(register):
    register(BeanType("{name}.model", Settings, lambda settings: object(), ChatModel, "A model."))
"""

BROKEN = {
    "a module that is missing": ("import no_such_module_anywhere", "failed", "ModuleNotFoundError: No module named"),
    "a module that ends the program": ("raise SystemExit('go away')", "failed", "SystemExit: go away"),
    "an exception without words": ("raise ValueError", "failed", "ValueError"),
    "an exception whose own words fail": (
        "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
        "failed",
        "Mute",
    ),
    "a syntax error": ("def (", "failed", "SyntaxError"),
    "a later version": (f"AGENTFORGE_API = (2, 0)\n{GOOD}", "incompatible", "version 2.0 of the plugin interface"),
    "a later minor version": ("AGENTFORGE_API = (1, 9)", "incompatible", "version 1.9"),
    "a version that is none": ("AGENTFORGE_API = '1'", "incompatible", "AGENTFORGE_API must be two numbers"),
    "a wrong argument of a hook": (
        "from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_bean_types(registry): ...",
        "failed",
        "registry",
    ),
    "a good hook before a wrong one": (
        f"{GOOD}\n@hookimpl\ndef agentforge_tool_called(call): ...",
        "failed",
        "call",
    ),
    "a hook that there is not": (
        "from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_bean_type(register): ...",
        "failed",
        "did you mean 'agentforge_bean_types'",
    ),
    "a hook that wraps": (
        "from agentforge.plugin import hookimpl\n@hookimpl(wrapper=True)\n"
        "def agentforge_tool_called(execution):\n    yield",
        "failed",
        "is a wrapper",
    ),
    "a hook that is async": (
        "from agentforge.plugin import hookimpl\n@hookimpl\nasync def agentforge_tool_called(execution): ...",
        "failed",
        "its hook 'agentforge_tool_called' is async or yields, and would never run",
    ),
    "a hook that yields": (
        "from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_secret(name):\n    yield name",
        "failed",
        "is async or yields",
    ),
    "what no except clause catches": ("class Sly(BaseException): ...\nraise Sly('out')", "failed", "Sly: out"),
    "a cancellation of its own": ("import asyncio\nraise asyncio.CancelledError", "failed", "CancelledError"),
    "a registration that ends the program": (
        GOOD.replace("    register(", "    raise GeneratorExit\n    register("),
        "failed",
        "GeneratorExit",
    ),
    "a registration that fails half-way": (
        GOOD.replace("    register(", "    register(") + "    raise RuntimeError('half')\n",
        "failed",
        "RuntimeError: half",
    ),
    "a type of a foreign prefix": (GOOD.replace("{name}.model", "other.model"), "failed", "does not begin with 'bad.'"),
    "a type twice": (GOOD + GOOD.split("def agentforge_bean_types(register):\n")[1], "failed", "twice"),
    "something that is no type": (
        "from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_bean_types(register):\n    register('x')",
        "failed",
        "registered str as a bean type",
    ),
    "something that is no command": (
        "from agentforge.plugin import hookimpl\n@hookimpl\ndef agentforge_commands(register):\n    register('x')",
        "failed",
        "registered str as a command",
    ),
    "a command twice": (
        "from agentforge.plugin import Command, hookimpl\n@hookimpl\ndef agentforge_commands(register):\n"
        "    for _ in range(2):\n        register(Command('x', 'Does.', lambda words: 0))",
        "failed",
        "the command 'x' twice",
    ),
    "a declaration that cannot work": (
        GOOD.replace("lambda settings: object()", "None"),
        "failed",
        "factory must be callable",
    ),
}

Install = Callable[..., Found]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Writes a plugin's module and gives its entry; what was imported is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def write(name: str, source: str = GOOD, *, distribution: str = "", module: str = "") -> Found:
        module = module or f"fake_plugin_{name}"
        made.append(module)
        (tmp_path / f"{module}.py").write_text(dedent(source).replace("{name}", name), "utf-8")
        return Found(name, module, distribution or f"fake-{name}", "1.2")

    yield write
    for module in made:
        sys.modules.pop(module, None)


@pytest.mark.parametrize(("source", "state", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_plugin_harms_only_itself(install: Install, source: str, state: str, reason: str) -> None:
    """It is set aside with its cause, and another plugin and the core's types are found as if it were not there."""
    plugins = Plugins(entry_points=[install("bad", source), install("good")])
    catalogue = Catalogue(plugins)

    wanted = catalogue.find("bad.model")
    assert isinstance(wanted, NotFound) and wanted.reason == "plugin failed"
    assert "fake-bad 1.2" in wanted.detail and reason in wanted.detail
    assert wanted.next_step and wanted.cause is not None

    bad = plugins.state("bad")
    assert bad is not None and bad.state == state and reason in (bad.reason or "") and bad.types == ()
    assert not isinstance(catalogue.find("good.model"), NotFound)
    assert not isinstance(catalogue.find("chat_client"), NotFound)
    assert "bad.model" not in catalogue.known_types()


@pytest.mark.parametrize(("source", "state", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_nothing_of_a_broken_plugin_stays_registered(install: Install, source: str, state: str, reason: str) -> None:
    """Its hooks are not called, whatever it had registered before it failed."""
    plugins = Plugins(entry_points=[install("bad", source)])
    plugins.load("bad")

    assert not any(plugins.observes(hook) for hook in ("agentforge_bean_types", "agentforge_tool_called"))
    assert plugins.types_of("bad") == {} and plugins.commands_of("bad") == ()


def test_a_hook_of_a_later_core_can_be_optional(install: Install) -> None:
    """Marked so, it is left alone where there is no such hook."""
    source = GOOD + "\n@hookimpl(optionalhook=True)\ndef agentforge_of_tomorrow(anything): ..."
    plugins = Plugins(entry_points=[install("good", source)])
    plugins.load("good")

    state = plugins.state("good")
    assert state is not None and state.usable
    assert str(state) == "plugin 'good' (fake-good 1.2) is active"


def test_a_plugin_brings_commands(install: Install) -> None:
    """By its prefix, known once it is loaded."""
    source = """
    from agentforge.plugin import Command, hookimpl

    @hookimpl
    def agentforge_commands(register):
        register(Command("count", "Counts its words.", len))
    """
    plugins = Plugins(entry_points=[install("tell", source)])
    assert plugins.commands_of("tell") == ()
    plugins.load("tell")

    assert [(item.name, item.run(["a", "b"])) for item in plugins.commands_of("tell")] == [("count", 2)]


def test_many_threads_load_a_plugin_once(install: Install) -> None:
    """All of them see the whole plugin."""
    from concurrent.futures import ThreadPoolExecutor

    plugins = Plugins(entry_points=[install("good", "import time; time.sleep(0)\n" + GOOD)])
    catalogue = Catalogue(plugins)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: catalogue.find("good.model"), range(32)))

    assert len(found) == 1 and not isinstance(found.pop(), NotFound)


def test_an_interruption_is_no_fault_of_the_plugin(install: Install) -> None:
    """Ctrl-C while a plugin loads reaches the program."""
    plugins = Plugins(entry_points=[install("bad", "raise KeyboardInterrupt")])

    with pytest.raises(KeyboardInterrupt):
        plugins.load("bad")


def test_two_plugins_of_one_name_are_an_error_that_names_both(install: Install) -> None:
    """Neither is imported: which of them would win is chance."""
    first = install("twin", "raise AssertionError('imported')", distribution="fake-one", module="fake_plugin_one")
    second = install("twin", "raise AssertionError('imported')", distribution="fake-two", module="fake_plugin_two")
    plugins = Plugins(entry_points=[first, second, install("good")])

    wanted = Catalogue(plugins).find("twin.model")

    assert isinstance(wanted, NotFound) and wanted.reason == "plugin failed"
    assert "fake-one 1.2" in wanted.detail and "fake-two 1.2" in wanted.detail
    assert [(s.name, s.state) for s in plugins.states()] == [
        ("good", "found"),
        ("twin", "duplicate"),
        ("twin", "duplicate"),
    ]


def test_two_distributions_that_bring_one_module_are_an_error_too(install: Install) -> None:
    """One has written over the other's files, so which version is there is not known."""
    entry = install("twin", "raise AssertionError('imported')", distribution="fake-one")
    other = Found("twin", entry.value, "fake-two", "3.4")
    plugins = Plugins(entry_points=[entry, other])

    assert [state.state for state in plugins.states()] == ["duplicate", "duplicate"]
    state = plugins.state("twin")
    assert state is not None and "fake-one 1.2" in str(state.reason) and "fake-two 3.4" in str(state.reason)
    plugins.load("twin")
    assert entry.value not in sys.modules


def test_an_interruption_leaves_nothing_half_registered(install: Install) -> None:
    """Asked again, the plugin is loaded as if it had not been tried before."""
    source = GOOD + "    if not tried:\n        tried.append(1)\n        raise KeyboardInterrupt\n\ntried = []\n"
    source += "\n@hookimpl\ndef agentforge_bean_created(bean_id): ...\n"
    plugins = Plugins(entry_points=[install("late", source)])
    with pytest.raises(KeyboardInterrupt):
        plugins.load("late")
    assert not plugins.observes("agentforge_bean_created") and plugins.types_of("late") == {}

    plugins.load("late")
    state = plugins.state("late")
    assert state is not None and state.state == "active" and state.types == ("late.model",)


def test_a_reason_says_where_in_the_plugin_it_was_raised(install: Install) -> None:
    """Its own file and line, also where it is we who refuse what it said."""
    raised = install("bad", "import os\n\nraise ValueError('broken')")
    refused = install("worse", GOOD.replace("lambda settings: object()", "None"))
    plugins = Plugins(entry_points=[raised, refused])
    plugins.load_all()

    reasons = {state.name: state.reason for state in plugins.states()}
    assert re.search(r"ValueError: broken \(.*fake_plugin_bad\.py:3\)$", str(reasons["bad"]))
    assert re.search(r"factory must be callable \(.*fake_plugin_worse\.py:10\)$", str(reasons["worse"]))


def test_a_plugin_seen_twice_is_one_plugin(install: Install) -> None:
    """An editable installation beside a built one has the same name and target."""
    entry = install("good")
    plugins = Plugins(entry_points=[entry, entry])

    assert [state.state for state in plugins.states()] == ["found"]
    assert not isinstance(Catalogue(plugins).find("good.model"), NotFound)


def test_one_module_under_two_names_serves_the_first(install: Install) -> None:
    """The second is set aside, the first keeps what it registered."""
    first = install("good")
    plugins = Plugins(entry_points=[first, Found("again", first.value, "fake-again", "1")])
    plugins.load_all()

    states = {state.name: state.state for state in plugins.states()}
    assert sorted(states.values()) == ["active", "failed"]


def test_a_slow_plugin_is_told_by_its_seconds(install: Install) -> None:
    """How long each took to load is in its state; the clock is read around its loading alone."""
    ticks = iter([10.0, 17.5])
    plugins = Plugins(entry_points=[install("slow"), install("good")], clock=lambda: next(ticks))
    plugins.load("slow")

    assert {state.name: state.seconds for state in plugins.states()} == {"good": 0.0, "slow": 7.5}


@pytest.mark.parametrize(
    "settings",
    [{"block": ["good"]}, {"allow": []}, {"allow": ["other"]}, {"allow": ["good"], "block": ["good"]}],
)
def test_a_plugin_that_is_switched_off_is_never_imported(install: Install, settings: dict[str, list[str]]) -> None:
    """By the list of the blocked, or by not being on the list of the allowed."""
    entry = install("good", "raise AssertionError('imported')")
    plugins = Plugins(entry_points=[entry], **settings)

    wanted = Catalogue(plugins).find("good.model")

    assert isinstance(wanted, NotFound) and wanted.reason == "blocked"
    assert entry.value not in sys.modules


def test_only_the_plugin_that_a_type_names_is_imported(install: Install) -> None:
    """Looking at the states imports none, and a type of one plugin leaves the others alone."""
    used, idle = install("used"), install("idle")
    plugins = Plugins(entry_points=[used, idle])
    plugins.states()
    assert used.value not in sys.modules

    Catalogue(plugins).find("used.model")

    assert used.value in sys.modules and idle.value not in sys.modules
    assert {state.name: (state.state, state.types) for state in plugins.states()} == {
        "idle": ("found", ()),
        "used": ("active", ("used.model",)),
    }


def test_a_failure_is_logged_once_and_kept(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    """A plugin that failed is not tried again; the log names it and its distribution."""
    caplog.set_level(logging.WARNING, "agentforge.plugin")
    plugins = Plugins(entry_points=[install("bad", "raise ValueError('broken')")])
    for _ in range(3):
        plugins.load("bad")

    [record] = caplog.records
    words = r"plugin 'bad' \(fake-bad 1\.2\) was set aside: ValueError: broken \(.*\.py:1\)"
    assert re.fullmatch(words, record.getMessage())
