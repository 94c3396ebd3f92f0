"""What the tests of the core and of all plugins share: coroutine tests, each on a loop of its own, and recordings."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Programs that tests start inherit what this one does with Ctrl-C; run in the background of a shell it ignores it,
    and a test that interrupts a program would wait for ever."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


#: Where lines of the core are not counted, which takes twice the time: what runs there is not the core, or runs in
#: processes of its own.
UNCOUNTED = ("benchmarks", "docs", "editor", "program", "shape")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say of which tests no lines are counted: those of `UNCOUNTED`, of plugins, and of properties, each of which runs
    a hundred examples."""
    here = Path(__file__).parent
    folders = tuple(f"{each}{os.sep}" for each in (here / "plugins", *(here / "tests" / name for name in UNCOUNTED)))
    for item in items:
        if str(item.path).startswith(folders) or hasattr(getattr(item, "obj", None), "hypothesis"):
            item.add_marker(pytest.mark.no_cover)


def pytest_collection_finish() -> None:
    """What is there before the first test stays: a collection of garbage need not look at all tests again and again."""
    gc.collect()
    gc.freeze()


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
