"""Changes of the files that a configuration was read from are noticed, each once."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from agentforge.config import ConfigurationFaults
from agentforge.container import AgentForge, FileWatch, reload_on_change
from tests.unit.container.kit import Kit


def _write(kit: Kit, text: str) -> None:
    kit.write("app.yaml", f"beans:\n  {text}\n")


def _touch(path: Path, number: int) -> None:
    os.utime(path, ns=(number * 10**9, number * 10**9))


async def test_a_watch_tells_each_change_of_each_file_once(kit: Kit) -> None:
    """Of the root, what it includes, profiles and ``.env``, which may come and go."""
    kit.write("common.yaml", "beans: {}\n")
    kit.write("app-prod.yaml", "beans: {}\n")
    path = kit.write("app.yaml", "include: [common.yaml]\nbeans:\n  a: {type: t.thing}\n")
    async with AgentForge.load(path, environment={}, profiles=["prod"], plugins=kit.plugins()) as app:
        watch = FileWatch(app)
        assert watch.changed() == ()
        for number, name in enumerate(("app.yaml", "common.yaml", "app-prod.yaml"), 1):
            _touch(kit.folder / name, number)
            assert watch.changed() == (kit.folder / name,)
            assert watch.changed() == ()
        kit.write(".env", "A=1\n")
        assert watch.changed() == (kit.folder / ".env",)
        (kit.folder / ".env").unlink()
        assert watch.changed() == (kit.folder / ".env",)
        kit.write("other.yaml", "beans: {}\n")
        assert watch.changed() == ()


async def test_a_watch_knows_the_files_of_the_configuration_as_it_is_now(kit: Kit) -> None:
    path = kit.write("app.yaml", "beans:\n  a: {type: t.thing}\n")
    async with AgentForge.load(path, environment={}, plugins=kit.plugins()) as app:
        watch = FileWatch(app)
        kit.write("more.yaml", "beans: {}\n")
        kit.write("app.yaml", "include: [more.yaml]\nbeans:\n  a: {type: t.thing}\n")
        await app.reload()
        watch.renew()
        _touch(kit.folder / "more.yaml", 1)
        assert watch.changed() == (kit.folder / "more.yaml",)


async def test_a_program_may_reload_whenever_a_file_changes(kit: Kit) -> None:
    """A file with faults is told once, and the next change is tried again."""
    app = kit.beans("a: {type: t.thing, label: '1'}")
    failed: list[Exception] = []
    texts = ["a: {type: t.thing, label: '22'}", None, "a: {type: t.thng}", None, "a: {type: t.thing, label: '333'}"]
    labels: list[str] = []

    async def sleep(seconds: float) -> None:
        assert seconds == 0.5
        labels.append(app.get("a").settings.label)
        if not texts:
            raise asyncio.CancelledError
        text = texts.pop(0)
        if text is not None:
            _write(kit, text)
            _touch(kit.folder / "app.yaml", len(texts) + 1)

    async with app:
        with pytest.raises(asyncio.CancelledError):
            await reload_on_change(app, every=0.5, failed=failed.append, sleep=sleep)

    assert labels == ["1", "22", "22", "22", "22", "333"]
    assert [type(each) for each in failed] == [ConfigurationFaults]


async def test_a_reload_that_fails_is_logged_where_nobody_asked(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    async with kit.beans("a: {type: t.thing}") as app:
        rounds = iter([True, False])

        async def sleep(seconds: float) -> None:
            if not next(rounds):
                raise asyncio.CancelledError
            _write(kit, "a: {type: t.thng}")
            _touch(kit.folder / "app.yaml", 1)

        with caplog.at_level(logging.WARNING, "agentforge"), pytest.raises(asyncio.CancelledError):
            await reload_on_change(app, sleep=sleep)

    assert ["was not reloaded: [AF211]" in each.message for each in caplog.records] == [True]


async def test_a_change_while_it_is_reloaded_is_not_lost(kit: Kit) -> None:
    """What counts is what the beans were made from, and not what is there when the watch is renewed or made."""
    app = kit.beans("a: {type: t.thing, label: one}")
    async with app:
        watch = FileWatch(app)
        _write(kit, "a: {type: t.thing, label: two}")
        assert watch.changed()
        await app.reload()
        _write(kit, "a: {type: t.thing, label: six}")
        kit.write(".env", "A=1")
        watch.renew()
        assert watch.changed() == (kit.folder / "app.yaml", kit.folder / ".env")
        assert watch.changed() == ()
        assert FileWatch(app).changed() == (kit.folder / "app.yaml", kit.folder / ".env")
        await app.reload()
        assert FileWatch(app).changed() == ()
        assert app.as_read(kit.folder / ".env")
        (kit.folder / "app.yaml").unlink()
        assert not app.as_read(kit.folder / "app.yaml")


@pytest.mark.parametrize("text", ["beans: [", "beans:\n  b: {type: t.thng}\n"], ids=["no YAML", "a fault"])
async def test_a_file_that_a_reload_which_failed_has_read_is_watched_too(kit: Kit, text: str) -> None:
    """A change of that file may be the cure."""
    app = kit.beans("a: {type: t.thing, label: old}")
    labels: list[str] = []
    failed: list[Exception] = []

    def break_it() -> None:
        kit.write("more.yaml", text)
        kit.write("app.yaml", "include: [more.yaml]\nbeans:\n  a: {type: t.thing, label: new}\n")

    steps = [break_it, lambda: None, lambda: kit.write("more.yaml", "beans: {}\n"), lambda: None]

    async def sleep(seconds: float) -> None:
        labels.append(app.get("a").settings.label)
        if not steps:
            raise asyncio.CancelledError
        steps.pop(0)()

    async with app:
        with pytest.raises(asyncio.CancelledError):
            await reload_on_change(app, failed=failed.append, sleep=sleep)
        assert set(app.files) == {kit.folder / name for name in ("app.yaml", "more.yaml", ".env")}

    assert labels == ["old", "old", "old", "new", "new"]
    assert len(failed) == 1


def test_a_file_of_a_stranger_is_data(kit: Kit) -> None:
    """It may name nothing that is imported."""
    path = kit.write("app.yaml", "scan: [os]\nbeans:\n  a: {type: t.thing}\n")
    app = AgentForge.load(path, environment={}, plugins=kit.plugins(), trust="data")
    with pytest.raises(ConfigurationFaults, match="is read as data"):
        app.check()
