"""Mistakes that show between settings and classes are found when the file is checked, not when the application
starts: values for constructors, tools, and what the check of a bean type finds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from textwrap import indent
from types import ModuleType
from typing import Any

import pytest

from agentforge.config import ConfigurationFaults
from agentforge.container import AgentForge
from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanSettings, BeanType, CheckContext, Finding, hookimpl
from tests.unit.container.kit import Kit, Thing, faults_of, marked

PARTS = """
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentforge import tool
from agentforge.plugin import SecretStr

MADE = []

class Options:
    def __init__(
        self,
        zone: str = "UTC",
        offset: int = 0,
        ratio: float | None = None,
        tags: tuple[str, ...] = (),
        mode: Literal["slow", "fast"] = "slow",
        folder: Path = Path(),
        key: SecretStr | None = None,
        ages: dict[str, int] | None = None,
        text: str | int = "",
    ) -> None:
        MADE.append(self)
        self.got = (zone, offset, ratio, tags, mode, folder, ages)

class Clock: ...

@dataclass
class Odd:
    size: int

    def __post_init__(self) -> None:
        raise KeyError("no such size")

class TakesOdd:
    def __init__(self, odd: Odd) -> None: ...

class Desk:
    def __init__(self, clock: Clock) -> None: ...

class Weather:
    def __init__(self) -> None:
        MADE.append(self)

    @tool
    def now(self) -> str:
        "The weather now."
        return "fine"

    @tool
    async def later(self, days: int) -> str:
        "The weather later."
        return "fine"

class MoreWeather(Weather):
    @tool(name="much_later")
    def _much(self) -> str:
        "In a year."
        return "fine"

class Toolless: ...

class Twice:
    @tool(name="same")
    def one(self) -> str: ...
    @tool(name="same")
    def two(self) -> str: ...

class Strange:
    @tool
    def look(self, at: Desk, *, what: object) -> str: ...

@tool
def shout(text: str) -> str:
    "Louder."
    return text.upper()
"""


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """With a module of components beside the file, which is forgotten afterwards."""
    kit.write("container_checked.py", PARTS)
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


def scanned(kit: Kit, beans: str, **options: Any) -> AgentForge:
    return kit.load("scan: [container_checked]\nbeans:\n" + indent(beans, "  "), **options)


MODEL = "model: {type: scripted, turns: [Hi.]}\n"
CLOCK = "clock: {type: component, component: Clock}\n"
SOURCES = "a: {type: python_tools, component: Weather}\nb: {type: python_tools, component: MoreWeather}\n"

WRONG = {
    "a text for a number": (
        "it: {type: component, component: Options, arguments: {offset: «ten}}",
        ("AF108", "'offset' is a whole number, not a text", "Write digits, such as 8."),
    ),
    "a list for a number": (
        "it: {type: component, component: Options, arguments: {offset: «[1]}}",
        ("AF108", "'offset' is a whole number, not a list", None),
    ),
    "a mapping for a text": (
        "it: {type: component, component: Options, arguments: {zone: «{}}}",
        ("AF108", "'zone' is a text, not a mapping", None),
    ),
    "a word that is none of those": (
        "it: {type: component, component: Options, arguments: {mode: «quick}}",
        ("AF108", "'mode' is 'slow' or 'fast'", "Write 'slow' or 'fast'."),
    ),
    "a value inside a mapping": (
        "it: {type: component, component: Options, arguments: {ages: {anna: 3, ben: «old}}}",
        ("AF108", "'ben' is a whole number, not a text", None),
    ),
    "a value inside a list": (
        "it: {type: component, component: Options, arguments: {tags: [a, «{}]}}",
        ("AF108", "'tags.1' is a text, not a mapping", None),
    ),
    "a value that is no bean": (
        CLOCK + "it: {type: component, component: Desk, arguments: {clock: «5}}",
        ("AF108", "'clock' is an instance of Clock, not a whole number", None),
    ),
    "a value that its class cannot read": (
        "it: {type: component, component: TakesOdd, arguments: {odd: «{size: 3}}}",
        ("AF108", "'odd' of TakesOdd could not be read: KeyError: 'no such size'", None),
    ),
    "a value for another parameter of a source": (
        "it: {type: python_tools, component: Weather, arguments: {zone: «x}}",
        ("AF203", "the constructor of Weather has no parameter 'zone'", None),
    ),
    "a secret for a text": (
        "it: {type: component, component: Options, arguments: {zone: «'${secret:ZONE}'}}",
        ("AF108", "'zone' of Options takes no secret", "Declare it so: zone: SecretStr, from agentforge.plugin."),
    ),
    "a pattern that fits no tool": (
        "it: {type: python_tools, component: Weather, only: [now, «lat]}",
        ("AF108", "no tool of the component 'Weather' is named 'lat'", "It has now, later."),
    ),
    "one that leaves out none": (
        "it: {type: python_tools, component: MoreWeather, without: [«'very_*']}",
        ("AF108", "no tool of the component 'MoreWeather' is named 'very_*'", "It has much_later, now, later."),
    ),
    "a component without tools": (
        "it: {type: python_tools, component: «Toolless}",
        ("AF108", "class 'Toolless' has no method that is decorated with @tool", None),
    ),
    "two tools of one name in one component": (
        "it: {type: python_tools, component: «Twice}",
        ("AF108", "class 'Twice' has two tools named 'same'", None),
    ),
    "a tool that cannot be one": (
        "it: {type: python_tools, component: «Strange}",
        ("AF108", "parameter 'at' of tool 'look' has type Desk, which has no JSON form", None),
    ),
    "two sources with a tool of one name": (
        SOURCES.replace("MoreWeather", "Weather, only: [now]")
        + MODEL
        + "bot: {type: chat_client, model: model, tools: [a, «b]}",
        (
            "AF108",
            "two tools are named 'now': of 'a' and of 'b'",
            "Give one of the sources a 'prefix', or leave the tool out with 'without'.",
        ),
    ),
    "one source twice": (
        "a: {type: python_tools, component: shout}\nservice: {type: tool_service, tools: [a, «a]}",
        ("AF108", "two tools are named 'shout': of 'a' and of 'a'", None),
    ),
    "a tool_choice that names no tool": (
        SOURCES.replace("MoreWeather", "MoreWeather, prefix: b_")
        + MODEL
        + "bot: {type: chat_client, model: model, tools: [a, b], tool_choice: «noww}",
        ("AF108", "'tool_choice' names 'noww', and no tool of this client has that name", "Did you mean 'now'?"),
    ),
    "a tool_choice that names one that is left out": (
        "a: {type: python_tools, component: Weather, without: [now]}\n"
        + MODEL
        + "bot: {type: chat_client, model: model, tools: [a], tool_choice: «now}",
        ("AF108", "'tool_choice' names 'now', and no tool of this client has that name", "Known here: later."),
    ),
    "a tool_choice without tools": (
        MODEL + "bot: {type: chat_client, model: model, tool_choice: «required}",
        ("AF108", "'tool_choice' asks for a call, and this client has no tools", None),
    ),
}


@pytest.mark.parametrize(("beans", "fault"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_one_fault_at_its_place_and_nothing_is_made(
    kit: Kit, beans: str, fault: tuple[str, str, str | None]
) -> None:
    text, [place] = marked("scan: [container_checked]\nbeans:\n" + indent(beans, "  "))

    [found] = faults_of(kit.load(text, {"ZONE": "a secret zone"}))

    code, message, step = fault
    assert (found.code, str(found.mark)) == (code, f"{kit.folder / 'app.yaml'}:{place}")
    assert message in found.message
    assert step in (None, found.next_step)
    assert "a secret zone" not in found.message
    assert sys.modules["container_checked"].MADE == []


RIGHT = {
    "values of every kind": (
        "it: {type: component, component: Options, arguments: {zone: 0123, offset: '8', ratio: 1, tags: [a, 1.10],"
        " mode: fast, folder: data, ages: {anna: '3'}, text: no}}"
    ),
    "nothing where it may be": "it: {type: component, component: Options, arguments: {ratio: null, key: ~, ages: }}",
    "a secret for a secret": "it: {type: component, component: Options, arguments: {key: '${secret:ZONE}'}}",
    "patterns that fit": "it: {type: python_tools, component: MoreWeather, only: ['*later', now], without: [later]}",
    "a function": "it: {type: python_tools, component: shout, only: [sh*]}",
    "sources with other names": SOURCES.replace("MoreWeather", "MoreWeather, prefix: b_")
    + MODEL
    + "bot: {type: chat_client, model: model, tools: [a, b], tool_choice: b_much_later}",
    "a tool_choice that is none's name": SOURCES.replace("MoreWeather", "MoreWeather, only: [much_later]")
    + MODEL
    + "bot: {type: chat_client, model: model, tools: [a, b], tool_choice: required}",
    "auto without tools": MODEL + "bot: {type: chat_client, model: model, tool_choice: auto}",
    "none without tools": MODEL + "bot: {type: chat_client, model: model, tool_choice: none}",
}


@pytest.mark.parametrize("beans", RIGHT.values(), ids=RIGHT.keys())
async def test_what_is_right_passes_and_starts(kit: Kit, beans: str) -> None:
    async with scanned(kit, beans, environment={"ZONE": "a secret zone"}):
        pass


async def test_text_stays_as_it_was_written_where_text_is_declared(kit: Kit) -> None:
    """A number is one where a number is; elsewhere YAML's rules hold."""
    async with scanned(kit, RIGHT["values of every kind"]) as app:
        zone, offset, ratio, tags, *_, ages = app.get("it").got

    assert (zone, offset, ratio, tags, ages) == ("0123", 8, 1.0, ("a", "1.10"), {"anna": 3})


def test_a_literal_secret_for_a_constructor_is_in_no_excerpt_and_masked(kit: Kit) -> None:
    beans = "it: {type: component, component: Options, arguments: {key: sk-literal-1, offset: ten}}"
    with pytest.raises(ConfigurationFaults) as raised:
        scanned(kit, beans).check()
    app = scanned(kit, beans.replace("ten", "10"))

    assert "sk-literal-1" not in str(raised.value)
    assert app.plan.secrets.mask("sk-literal-1") == "***"


async def test_a_choice_of_a_tool_is_not_judged_where_a_source_may_offer_any(kit: Kit) -> None:
    """Only two tools of one name are."""
    kit.write(
        "container_sources.py",
        "class Remote:\n    async def tools(self, run: object) -> list[object]:\n        return []\n",
    )
    text = (
        "scan: [container_checked, container_sources]\nbeans:\n  remote: {type: component, component: Remote}\n"
        + indent(SOURCES.replace("MoreWeather", "Weather") + MODEL, "  ")
        + "  bot: {type: chat_client, model: model, tools: [remote, a], tool_choice: anything}\n"
    )
    kit.load(text).check()

    [fault] = faults_of(kit.load(text.replace("[remote, a]", "[remote, a, b, b]").replace("b, b", "b")))[:1]

    assert fault.message == "two tools are named 'now': of 'a' and of 'b'"


def test_objects_of_the_program_are_known_by_their_tools(kit: Kit) -> None:
    from agentforge import ScriptedChatModel, tool

    @tool
    def now() -> str:
        "The time."
        return "noon"

    beans = {"bot": {"type": "chat_client", "model": ScriptedChatModel(["Hi."]), "tools": [now], "tool_choice": "new"}}

    [fault] = faults_of(kit.mapping(beans))

    assert fault.next_step == "Did you mean 'now'?"


# -- the checks of plugins -----------------------------------------------------------------------


class PairSettings(BeanSettings):
    """Two words that must not be the same."""

    first: str = "a"
    second: str = "b"


def with_check(kit: Kit, check: Callable[[PairSettings, CheckContext], Iterable[Finding]]) -> Kit:
    module = ModuleType("a plugin with a check")

    @hookimpl
    def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
        register(BeanType("c.pair", PairSettings, lambda settings: settings, Thing, "A pair.", check=check))

    module.agentforge_bean_types = agentforge_bean_types  # type: ignore[attr-defined]
    kit.add_plugin("c", module)
    return kit


def test_a_plugin_s_check_reports_at_the_settings_that_it_names(kit: Kit) -> None:
    """With the environment and the folder before it, and after the settings were found good."""
    seen: list[CheckContext] = []

    def check(settings: PairSettings, context: CheckContext) -> Iterator[Finding]:
        seen.append(context)
        if settings.first == settings.second:
            yield Finding("both are the same", "second", "Take another.")
            yield Finding("such a pair is none")

    text, places = marked("beans:\n  «it: {type: c.pair, first: b, second: «b}\n  other: {type: c.pair}\n")

    faults = faults_of(with_check(kit, check).load(text, {"A": "b"}))

    assert [(each.code, each.message, each.next_step) for each in faults] == [
        ("AF108", "such a pair is none", None),
        ("AF108", "both are the same", "Take another."),
    ]
    assert [str(each.mark) for each in faults] == [f"{kit.folder / 'app.yaml'}:{place}" for place in places]
    assert [(each.bean_id, each.folder, dict(each.environment)) for each in seen] == [
        ("it", kit.folder, {"A": "b"}),
        ("other", kit.folder, {"A": "b"}),
    ]


def test_a_check_is_not_asked_about_settings_with_faults(kit: Kit) -> None:
    def check(settings: PairSettings, context: CheckContext) -> Iterator[Finding]:
        raise AssertionError("asked")
        yield

    faults = faults_of(with_check(kit, check).beans("it: {type: c.pair, thrid: b}"))

    assert [each.code for each in faults] == ["AF107"]


def test_an_error_of_ours_in_a_check_is_a_finding(kit: Kit) -> None:
    def check(settings: PairSettings, context: CheckContext) -> Iterable[Finding]:
        raise ConfigurationError("the pair is odd", next_step="Even it out.")

    [fault] = faults_of(with_check(kit, check).beans("it: {type: c.pair}"))

    assert (fault.code, fault.message, fault.next_step) == ("AF108", "the pair is odd", "Even it out.")


def test_a_check_that_fails_names_its_type_and_hides_secrets(kit: Kit) -> None:
    def check(settings: PairSettings, context: CheckContext) -> Iterable[Finding]:
        raise KeyError(f"no entry for {context.environment['KEY']}")

    beans = "it: {type: c.pair}\nother: {type: t.thing, key: '${secret:KEY}'}"
    [fault] = faults_of(with_check(kit, check).beans(beans, {"KEY": "sk-123456"}))

    assert fault.code == "AF201"
    assert fault.message == "the check of the bean type 'c.pair' failed: KeyError: 'no entry for ***'"
    assert fault.next_step == "It is a mistake of the type's own; tell its author."


def test_a_check_that_has_nothing_to_say_may_return_nothing(kit: Kit) -> None:
    def check(settings: PairSettings, context: CheckContext) -> Any:
        return None

    with_check(kit, check).beans("it: {type: c.pair}").check()


@pytest.mark.parametrize("check", ["a text", 5])
def test_a_check_that_cannot_be_called_is_a_fault_of_the_type(check: Any) -> None:
    from agentforge.plugin import BeanTypeError

    with pytest.raises(BeanTypeError, match="check must be a plain function"):
        BeanType("c.pair", PairSettings, lambda settings: settings, Thing, "A pair.", check=check)
