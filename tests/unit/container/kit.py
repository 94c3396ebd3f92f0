"""Bean types for the tests of the container: beans that note what becomes of them, and can fail at every step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest

from agentforge.config import ConfigurationFaults, Diagnostic
from agentforge.container import AgentForge
from agentforge.plugin import BeanContext, BeanSettings, BeanType, Field, Found, Plugins, Ref, SecretStr, hookimpl

__all__ = ("Kit", "Other", "Plain", "Thing", "faults_of", "marked")

Trouble = Literal["", "raises", "raises ours", "cancelled", "ends", "hangs", "late"]


class Other:
    """A contract that no `Thing` fulfils."""


class Thing:
    """A bean that is started and closed asynchronously, and notes both."""

    def __init__(self, bean_id: str, log: list[str], settings: ThingSettings | None = None) -> None:
        self.id = bean_id
        self.log = log
        self.settings = settings or ThingSettings()
        self.note("make")
        _fail(self.settings.make, self)

    def note(self, what: str) -> None:
        """Note a step."""
        self.log.append(f"{what} {self.id}")

    async def start(self) -> None:
        """Note the start; fail as the settings say."""
        self.note("start")
        await _trouble(self.settings.start, self)

    async def aclose(self) -> None:
        """Note the end; fail as the settings say."""
        self.note("close")
        await _trouble(self.settings.close, self)

    @property
    def shape(self) -> str:
        """The bean with those it holds."""
        found = self.settings
        parts = [
            *([f"needs=[{', '.join(each.shape for each in found.needs)}]"] if found.needs else []),
            *([f"one={found.one.shape}"] if found.one else []),
            *([f"either={found.either.shape}"] if found.either else []),
            *([f"inner.one={found.inner.one.shape}"] if found.inner.one else []),
            *([f"inner.many=[{', '.join(each.shape for each in found.inner.many)}]"] if found.inner.many else []),
        ]
        return self.id + (f"({', '.join(parts)})" if parts else "")


class Plain(Thing):
    """A bean that is started and closed by plain methods; ``warm`` and ``cool`` are two more."""

    def start(self) -> None:  # type: ignore[override]
        """Note the start; fail if the settings say so."""
        self.note("start")
        _fail(self.settings.start, self)

    aclose = None  # type: ignore[assignment]

    def close(self) -> None:
        """Note the end; fail if the settings say so."""
        self.note("close")
        _fail(self.settings.close, self)

    def warm(self) -> None:
        """Another start."""
        self.note("warm")

    async def cool(self) -> None:
        """Another end."""
        self.note("cool")


class InnerSettings(BeanSettings):
    """Settings inside settings."""

    one: Annotated[Thing, Ref()] | None = None
    many: tuple[Annotated[Thing, Ref()], ...] = ()


class ThingSettings(BeanSettings):
    """References of every form, and when to fail."""

    needs: tuple[Annotated[Thing, Ref()], ...] = ()
    one: Annotated[Thing, Ref()] | None = None
    must: Annotated[Thing, Ref()] | None = None
    either: Annotated[Thing, Ref(or_type=True)] | None = None
    inner: InnerSettings = InnerSettings()
    named: dict[str, Annotated[Thing, Ref()]] = Field(default_factory=dict)
    later: Annotated[Callable[[], Thing], Ref()] | None = None
    anything: Annotated[object, Ref()] | None = None
    label: str = ""
    number: int = 0
    key: SecretStr | None = None
    pin: SecretStr | None = None
    make: Trouble = ""
    start: Trouble = ""
    close: Trouble = ""


class NeedySettings(BeanSettings):
    """A reference that must be given."""

    one: Annotated[Thing, Ref()]


class NoSettings(BeanSettings):
    """Nothing to set."""


class OtherSettings(BeanSettings):
    """A bean of another contract, which needs a word."""

    word: str


def _fail(trouble: Trouble, thing: Thing) -> None:
    from agentforge.errors import ModelError

    if trouble == "raises":
        key = thing.settings.key.get_secret_value() if thing.settings.key else ""
        raise ValueError(f"{thing.id} fails {key}".strip())
    if trouble == "raises ours":
        raise ModelError(f"{thing.id} fails") from KeyError("the root of it")
    if trouble == "cancelled":
        raise asyncio.CancelledError(thing.id)
    if trouble == "ends":
        raise SystemExit(thing.id)
    if trouble == "late":
        raise TimeoutError(f"{thing.id} heard nothing")


async def _trouble(trouble: Trouble, thing: Thing) -> None:
    _fail(trouble, thing)
    if trouble == "hangs":
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class _Ready(Found):
    """A plugin that needs no import."""

    plugin: Any = None

    def load(self) -> Any:
        if isinstance(self.plugin, Exception):
            raise self.plugin
        return self.plugin


@dataclass
class Kit:
    """The plugin ``t`` and what its beans noted.

    ``makers`` are the factories of beans of the type ``t.own``, by the bean's id.
    """

    folder: Path
    log: list[str] = field(default_factory=list)
    makers: dict[str, Callable[[], object]] = field(default_factory=dict)
    more: list[Found] = field(default_factory=list)

    def plugins(self) -> Plugins:
        """A fresh set with the plugin ``t`` and those in ``more``."""
        module = ModuleType("plugin_of_the_container_tests")

        @hookimpl
        def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
            for item in self._types():
                register(item)

        module.agentforge_bean_types = agentforge_bean_types  # type: ignore[attr-defined]
        return Plugins(entry_points=[_Ready("t", "t", "fake-t", "1", module), *self.more])

    def add_plugin(self, name: str, plugin: object) -> None:
        """Know one more plugin, whose module is ``plugin``; importing it raises that where it is an exception."""
        self.more.append(_Ready(name, name, f"fake-{name}", "1", plugin))

    def _types(self) -> list[BeanType]:
        def thing(settings: ThingSettings, context: BeanContext) -> Thing:
            return Thing(context.bean_id, self.log, settings)

        def plain(settings: ThingSettings, context: BeanContext) -> Plain:
            return Plain(context.bean_id, self.log, settings)

        def needy(settings: NeedySettings, context: BeanContext) -> Thing:
            return Thing(context.bean_id, self.log, ThingSettings(one=settings.one))

        def alone(settings: NoSettings, context: BeanContext) -> Thing:
            return Thing(context.bean_id, self.log)

        def own(settings: ThingSettings, context: BeanContext) -> object:
            return self.makers[context.bean_id]()

        return [
            BeanType("t.thing", ThingSettings, thing, Thing, "Starts and ends asynchronously."),
            BeanType("t.plain", ThingSettings, plain, Thing, "Starts and ends by plain methods."),
            BeanType("t.needy", NeedySettings, needy, Thing, "Needs another."),
            BeanType("t.alone", NoSettings, alone, Thing, "Needs no settings."),
            BeanType("t.other", OtherSettings, lambda settings: Other(), Other, "Is no thing."),
            BeanType("t.own", ThingSettings, own, Thing, "Made by the test."),
        ]

    async def until(self, entry: str) -> None:
        """Let the other tasks run until this is noted."""
        for _ in range(1000):
            if entry in self.log:
                return
            await asyncio.sleep(0)
        raise AssertionError(f"{entry!r} never came: {self.log}")

    # -- applications ----------------------------------------------------------------------------

    def write(self, name: str, text: str) -> Path:
        """A file of the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
        return path

    def load(self, text: str, environment: Mapping[str, str] | None = None, **options: Any) -> AgentForge:
        """The application of a file with this text."""
        path = self.write("app.yaml", text)
        return AgentForge.load(path, environment=environment or {}, plugins=self.plugins(), **options)

    def beans(self, text: str, environment: Mapping[str, str] | None = None, **options: Any) -> AgentForge:
        """The application of a file with these beans."""
        return self.load("beans:\n" + indent(dedent(text), "  "), environment, **options)

    def mapping(self, beans: Mapping[str, Any], **options: Any) -> AgentForge:
        """The application of a mapping of beans."""
        return AgentForge.from_mapping({"beans": beans}, environment={}, plugins=self.plugins(), **options)


def marked(text: str) -> tuple[str, list[str]]:
    """The text without its ``«``, and the ``line:column`` of each."""
    places = []
    while (at := text.find("«")) >= 0:
        text = text[:at] + text[at + 1 :]
        before = text[:at]
        places.append(f"{before.count(chr(10)) + 1}:{at - before.rfind(chr(10))}")
    return text, places


def faults_of(app: AgentForge) -> tuple[Diagnostic, ...]:
    """All that is wrong with a configuration."""
    with pytest.raises(ConfigurationFaults) as raised:
        app.check()
    return raised.value.diagnostics
