"""Secrets from plugins: asked in order, one alone where it is named, and a plugin that fails is named itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentforge.plugin import Found, PluginError, Plugins

VAULT = """
from agentforge.plugin import hookimpl
asked = []

@hookimpl
def agentforge_secret(name):
    asked.append(name)
    return {held}.get(name)
"""
RAISING = """
from agentforge.plugin import hookimpl

@hookimpl
def agentforge_secret(name):
    raise {error}
"""
EMPTY = "from agentforge.plugin import hookimpl"

Install = Callable[..., Found]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Writes a plugin's module and gives its entry; what was imported is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def write(name: str, source: str = VAULT, **filled: object) -> Found:
        made.append(f"fake_secret_{name}")
        (tmp_path / f"{made[-1]}.py").write_text(source.format(**filled) if filled else source, "utf-8")
        return Found(name, made[-1], f"fake-{name}", "1")

    yield write
    for module in made:
        sys.modules.pop(module, None)


def test_the_first_active_plugin_that_has_a_secret_gives_it(install: Install) -> None:
    """In the order in which they were loaded; those that are not loaded are not asked."""
    entries = [
        install("one", held={"A": "from one"}),
        install("two", held={"A": "from two", "B": "b"}),
        install("idle", held={"C": "c"}),
    ]
    plugins = Plugins(entry_points=entries)
    plugins.load("two")
    plugins.load("one")

    assert plugins.secret("A") == "from two"
    assert plugins.secret("B") == "b"
    assert plugins.secret("C") is None
    assert sys.modules[entries[0].value].asked == ["C"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("marks", "first"), [("", "one"), ("tryfirst=True", "two"), ("trylast=True", "one")])
def test_a_plugin_may_want_to_be_asked_first_or_last(install: Install, marks: str, first: str) -> None:
    """As pluggy's marks say; without one the plugin that was loaded first is asked first."""
    marked = VAULT.replace("@hookimpl", f"@hookimpl({marks})")
    plugins = Plugins(entry_points=[install("one", held={"A": "one"}), install("two", marked, held={"A": "two"})])
    plugins.load_all()

    assert plugins.secret("A") == first


def test_a_plugin_that_is_named_is_loaded_and_asked_alone(install: Install) -> None:
    """What another has does not matter, and an empty text is a secret as well."""
    plugins = Plugins(entry_points=[install("one", held={"A": "a"}), install("two", held={"B": ""})])

    assert plugins.secret("A", "two") is None
    assert plugins.secret("B", "two") == ""
    assert [state.state for state in plugins.states()] == ["found", "active"]


def test_without_plugins_there_is_no_secret() -> None:
    """And nobody is asked."""
    assert Plugins(entry_points=()).secret("A") is None


@pytest.mark.parametrize(
    "error",
    ["ValueError('token-0815')", "SystemExit('token-0815')", "type('Odd', (Exception,), {})('token-0815')"],
)
def test_a_plugin_that_fails_is_named_with_what_it_raised_and_no_word_of_it(install: Install, error: str) -> None:
    """Its class and place are shown; its words could hold the very thing that is kept."""
    plugins = Plugins(entry_points=[install("bad", RAISING, error=error)])

    with pytest.raises(PluginError) as caught:
        plugins.secret("KEY", "bad")

    assert caught.value.message.startswith("the plugin 'bad' failed to give the secret 'KEY': ")
    assert "fake_secret_bad.py:6" in caught.value.message and "'bad'" in (caught.value.next_step or "")
    assert "token-0815" not in str(caught.value)
    assert caught.value.__cause__ is not None


def test_a_plugin_that_fails_keeps_no_other_from_giving_its_secrets(install: Install) -> None:
    """Only when nobody has the secret is the failure said."""
    plugins = Plugins(entry_points=[install("bad", RAISING, error="OSError"), install("good", held={"A": "a"})])
    plugins.load_all()

    assert plugins.secret("A") == "a"
    with pytest.raises(PluginError, match="'bad' failed to give the secret 'B': OSError"):
        plugins.secret("B")


def test_what_is_no_text_is_no_secret(install: Install) -> None:
    """A number, bytes or a list is the plugin's fault."""
    plugins = Plugins(entry_points=[install("bad", held={"A": 4711})])

    with pytest.raises(PluginError, match="'bad' failed to give the secret 'A': it gave int and not a text") as caught:
        plugins.secret("A", "bad")
    assert "4711" not in str(caught.value)


def test_an_interruption_while_a_secret_is_fetched_reaches_the_program(install: Install) -> None:
    """Ctrl-C is no fault of the plugin."""
    plugins = Plugins(entry_points=[install("slow", RAISING, error="KeyboardInterrupt")])

    with pytest.raises(KeyboardInterrupt):
        plugins.secret("A", "slow")


@pytest.mark.parametrize(
    ("name", "message", "step"),
    [
        ("gone", "no plugin 'gone' is installed", "brings 'gone' in the group agentforge_kit.plugin"),
        ("broken", "plugin 'broken' (fake-broken 1) has failed: NameError", "agentforge plugins"),
        ("empty", "the plugin 'empty' gives no secrets", "agentforge_secret"),
        ("off", "plugin 'off' (fake-off 1) is blocked", "agentforge plugins"),
    ],
)
def test_a_plugin_that_cannot_be_asked_says_why(install: Install, name: str, message: str, step: str) -> None:
    """A secret that names its plugin has no other source."""
    entries = [install("broken", "no_such_name"), install("empty", EMPTY), install("off", held={})]
    plugins = Plugins(block=["off"], entry_points=entries)

    with pytest.raises(PluginError) as caught:
        plugins.secret("A", name)

    assert caught.value.message.startswith(message) and step in (caught.value.next_step or "")


@pytest.mark.parametrize(
    "raised", ["SystemExit('k-test-789')", "asyncio.CancelledError('k-test-789')", "Sly('k-test-789')"]
)
def test_nothing_else_that_a_source_raises_reaches_the_program(install: Install, raised: str) -> None:
    """It is named by its class alone."""
    source = f"import asyncio\nclass Sly(BaseException): ...\n{RAISING}"
    plugins = Plugins(entry_points=[install("bad", source, error=raised)])

    with pytest.raises(PluginError, match="'bad' failed to give the secret 'A': ") as caught:
        plugins.secret("A", "bad")
    assert "k-test" not in str(caught.value)


STUCK = """
import threading
from agentforge.plugin import hookimpl
asked = []
never = threading.Event()

@hookimpl
def agentforge_secret(name):
    asked.append(name)
    never.wait()
"""


def test_a_source_that_does_not_answer_is_not_waited_for(install: Install) -> None:
    """It is named, not asked again, and keeps no other from answering."""
    entries = [install("stuck", STUCK), install("good", held={"A": "a"})]
    plugins = Plugins(entry_points=entries, secret_timeout=0.01)
    plugins.load("stuck")
    plugins.load("good")

    assert plugins.secret("A") == "a"
    for name, plugin in (("B", None), ("C", "stuck")):
        with pytest.raises(
            PluginError, match=f"'stuck' failed to give the secret '{name}': it gave no answer in 0.01 s"
        ):
            plugins.secret(name, plugin)
    module = sys.modules[entries[0].value]
    assert module.asked == ["A"]  # type: ignore[attr-defined]
    module.never.set()  # type: ignore[attr-defined]
