"""Settings that choose what is run count only where code may be named; what a factory learns of its surroundings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from agentforge.container import AgentForge
from agentforge.plugin import BeanContext, BeanSettings, BeanType, Field, RootFileOnly, hookimpl
from tests.unit.container.kit import Kit, faults_of


class InnerSettings(BeanSettings):
    """Settings inside settings."""

    shell: Annotated[str | None, RootFileOnly()] = None
    label: str = ""


class RunnerSettings(BeanSettings):
    """A command, and what is none."""

    inner: InnerSettings | None = None

    command: Annotated[tuple[str, ...], RootFileOnly()] = ()
    environment: Annotated[dict[str, str], RootFileOnly()] = Field(default_factory=dict)
    label: str = ""


class Runner:
    """What the factory was told."""

    def __init__(self, settings: RunnerSettings, context: BeanContext) -> None:
        self.command = settings.command
        self.lazy, self.trusted = context.lazy, context.trusted


class RunnerPlugin:
    """The plugin ``r``."""

    @hookimpl
    def agentforge_bean_types(self, register: Callable[[BeanType], None]) -> None:
        """One type."""
        register(BeanType("r.run", RunnerSettings, Runner, Runner, "Runs a command."))


@pytest.fixture
def runner(kit: Kit) -> Kit:
    """The kit with the plugin."""
    kit.add_plugin("r", RunnerPlugin())
    return kit


BEANS = "beans: {it: {type: r.run, command: [ls, -l], environment: {A: b}}}"


COUNTS: dict[str, tuple[Callable[[Kit], AgentForge], tuple[str, ...]]] = {
    "the root file": (lambda kit: kit.load(BEANS), ("ls", "-l")),
    "a profile over it": (lambda kit: kit.load(BEANS, profiles=["other"]), ("pwd",)),
    "a mapping of the program": (lambda kit: kit.mapping({"it": {"type": "r.run", "command": ["ls"]}}), ("ls",)),
    "a placeholder of the file": (
        lambda kit: kit.load("beans: {it: {type: r.run, command: ['${BIN}']}}", {"BIN": "ls"}),
        ("ls",),
    ),
}


@pytest.mark.parametrize(("load", "command"), COUNTS.values(), ids=COUNTS)
async def test_where_code_may_be_named_it_counts(runner: Kit, load: Any, command: tuple[str, ...]) -> None:
    """The root file, a profile over it, and a mapping of the program."""
    runner.write("app-other.yaml", "beans: {it: {command: [pwd]}}")
    async with load(runner) as app:
        made = app.get("it")
        assert isinstance(made, Runner)
        assert made.command == command


def included(kit: Kit) -> AgentForge:
    """The command stands in a file that is included."""
    kit.write("common.yaml", BEANS)
    return kit.load("include: [common.yaml]\nbeans: {}")


def extended(kit: Kit) -> AgentForge:
    """The command is inherited from a bean of a file that is included."""
    kit.write("common.yaml", "beans: {base: {type: r.run, command: [ls], bean: {abstract: true}}}")
    return kit.load("include: [common.yaml]\nbeans: {it: {bean: {extends: base}}}")


NOWHERE_ELSE: dict[str, tuple[Callable[[Kit], AgentForge], str, str]] = {
    "an include": (included, "AF115", "'command' cannot be set from here (include common.yaml)"),
    "a bean of an include": (extended, "AF115", "'command' cannot be set from here (include common.yaml)"),
    "the environment": (
        lambda kit: kit.load(BEANS, {"AGENTFORGE_BEANS__IT__COMMAND": "[rm]"}),
        "AF115",
        "'command' cannot be set from here (environment)",
    ),
    "one value of the environment": (
        lambda kit: kit.load(BEANS, {"AGENTFORGE_BEANS__IT__ENVIRONMENT__PATH": "/tmp"}),
        "AF115",
        "'environment' cannot be set from here (environment)",
    ),
    "settings inside settings": (
        lambda kit: kit.load(BEANS, sets=["beans.it.inner.shell=rm"]),
        "AF115",
        "'inner.shell' cannot be set from here",
    ),
    "the command line": (
        lambda kit: kit.load(BEANS, sets=["beans.it.command=[rm]"]),
        "AF115",
        "'command' cannot be set from here",
    ),
    "a file of strangers": (
        lambda kit: kit.load(BEANS, trust="data"),
        "AF123",
        "'command' chooses what is run, and this configuration is read as data",
    ),
}


@pytest.mark.parametrize(("load", "code", "message"), NOWHERE_ELSE.values(), ids=NOWHERE_ELSE)
def test_from_anywhere_else_it_is_a_fault(runner: Kit, load: Any, code: str, message: str) -> None:
    """At its place, with what to do."""
    found = [each for each in faults_of(load(runner)) if message in each.message]

    assert [each.code for each in found] == [code]
    assert found[0].next_step


async def test_other_settings_of_the_bean_can_be_set_from_anywhere(runner: Kit) -> None:
    """Only what is run is fixed."""
    environment = {"AGENTFORGE_BEANS__IT__LABEL": "mine", "AGENTFORGE_BEANS__IT__INNER__LABEL": "mine"}
    async with runner.load(BEANS, environment) as app:
        made = app.get("it")
        assert isinstance(made, Runner)
        assert made.command == ("ls", "-l")


@pytest.mark.parametrize(
    ("beans", "options", "lazy", "trusted"),
    [
        ("{it: {type: r.run}}", {}, False, True),
        ("{it: {type: r.run, bean: {lazy: true}}}", {}, True, True),
        ("{it: {type: r.run}}", {"trust": "data"}, False, False),
    ],
)
async def test_a_factory_learns_of_its_surroundings(
    runner: Kit, beans: str, options: Any, lazy: bool, trusted: bool
) -> None:
    """Whether the bean is lazy, and whether the file is believed."""
    async with runner.load(f"beans: {beans}", **options) as app:
        made = await app.resolve("it")
        assert isinstance(made, Runner)
        assert (made.lazy, made.trusted) == (lazy, trusted)
