"""What the tests of the core and of all plugins share: coroutine tests, each on a loop of its own, and recordings."""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import importlib.metadata
import inspect
import os
import pkgutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How many examples a property runs unless it says so itself; ``--hypothesis-profile thorough`` runs many.
# A busy machine is no fault of an example.
settings.register_profile("suite", max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=1_000, deadline=None)
settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Programs that tests start inherit what this one does with Ctrl-C and with the end of its terminal; run in the
    background of a shell it ignores them, and a test that ends a program so would wait for ever."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


#: Where lines of the core are not counted, which takes twice the time: what runs there is not the core (but for its
#: contract suites), or runs in processes of its own.
UNCOUNTED = tuple(
    f"{Path(__file__).parent / folder}{os.sep}"
    for folder in ("plugins", *(f"tests/{name}" for name in ("benchmarks", "docs", "editor", "program", "shape")))
)


#: Of how many cases of one table lines are counted: the others run the same ones.
COUNTED_CASES = 30


_SEEN = pytest.StashKey[dict[str, int]]()


def is_counted(item: pytest.Item) -> bool:
    """Whether lines are counted while a test runs: not in `UNCOUNTED`, not of properties, each of which runs many
    examples, and of a table only for its first cases."""
    if hasattr(getattr(item, "obj", None), "hypothesis") or item.get_closest_marker("no_cover"):
        return False
    seen, name = item.session.stash.setdefault(_SEEN, {}), item.nodeid.partition("[")[0]
    seen[name] = seen.get(name, 0) + 1
    if seen[name] > COUNTED_CASES:
        return False
    return item.path.name == "test_contract.py" or not str(item.path).startswith(UNCOUNTED)


def count_lines(config: pytest.Config, *, wanted: bool) -> None:
    """Go on or stop counting, if lines are counted at all."""
    controller = getattr(config.pluginmanager.get_plugin("_cov"), "cov_controller", None)
    if controller is not None and controller.started != wanted:
        controller.resume() if wanted else controller.pause()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for tests with nothing else going on: lines are counted of the core being imported, and not of thousands of
    tests being found; and no garbage is looked for among these, then or later."""
    if session.config.pluginmanager.has_plugin("dsession"):  # its workers look for tests
        return (yield)
    if session.config.pluginmanager.has_plugin("_cov"):
        for module in pkgutil.walk_packages(importlib.import_module("agentforge").__path__, "agentforge."):
            importlib.import_module(module.name)
    count_lines(session.config, wanted=False)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)  # what tests leave is little
        read_installed_plugins_once()


def read_installed_plugins_once() -> None:
    """Keep what is installed, which every application reads anew: the metadata of all distributions. A test that
    changes where they are looked for, or by what, has them looked for."""
    manager: Any = importlib.import_module("agentforge.plugin.manager")
    discover, path, reader = manager.discover, list(sys.path), importlib.metadata.entry_points
    known = functools.cache(discover)

    def found() -> Any:
        return known() if sys.path == path and importlib.metadata.entry_points is reader else discover()

    manager.discover = found


def tell_less(worker: Any) -> None:
    """Let a worker of xdist tell no more than what is read: what came of each test, and not that it began, that it
    was set up and torn down in no time and without a word, and that it ended. Four of six messages are not sent."""
    send = worker.sendevent

    def sent(name: str, **kwargs: Any) -> None:
        report = kwargs.get("data", {}) if name == "testreport" else {}
        is_known = report.get("when") in ("setup", "teardown") and report["outcome"] == "passed"
        if name in ("logstart", "logfinish") or (is_known and report["duration"] < 0.005 and not report["sections"]):
            return
        send(name, **kwargs)

    worker.sendevent = sent


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """In a worker, tell less."""
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            tell_less(plugin)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Count lines of this test or not, from its fixtures to its report."""
    count_lines(item.config, wanted=is_counted(item))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run ``async def`` tests with `asyncio.run`, so that no plugin is needed."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded material beside the project (``AGENTFORGE_SHARED``, default ``../shared``).

    It belongs to others and is not part of the project, so a checkout alone goes without it and says so. Where the
    variable names it, as in CI, it has to be there.
    """
    named = os.environ.get("AGENTFORGE_SHARED")
    folder = Path(named) if named else Path(__file__).parents[1] / "shared"
    if not folder.is_dir():
        message = f"recorded material is not at {folder}"
        if named:
            pytest.fail(f"{message}, which AGENTFORGE_SHARED names")
        pytest.skip(f"{message}; set AGENTFORGE_SHARED")
    return folder
