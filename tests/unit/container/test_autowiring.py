"""Components of the scanned modules get what their constructors need: by type, by name, and never by guessing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import pytest

from agentforge.container import AgentForge
from tests.unit.container.kit import Kit, Thing, faults_of, marked

PARTS = '''
from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from agentforge import tool
from agentforge.model import ChatModel
from agentforge.tool.execution import ToolService


class Clock:
    """A bean of the user's own."""

    def __init__(self, zone: str = "UTC", offset: int = 0) -> None:
        self.zone, self.offset = zone, offset
        self.log = []

    async def start(self) -> None:
        self.log.append("start")

    def close(self) -> None:
        self.log.append("close")

    def now(self) -> str:
        return self.zone


class LocalClock(Clock):
    """Also a clock."""


class Tells(Protocol):
    """What a clock can do."""

    def now(self) -> str: ...


class Stranger:
    """Of which there is no bean."""


class Desk:
    def __init__(self, clock: Clock) -> None:
        self.got = clock

class ByProtocol:
    def __init__(self, tells: Tells) -> None:
        self.got = tells

class ByList:
    def __init__(self, clocks: list[Clock]) -> None:
        self.got = clocks

class BySequence:
    def __init__(self, clocks: Annotated[Sequence[Clock], "all of them"]) -> None:
        self.got = clocks

class ByTuple:
    def __init__(self, clocks: tuple[Clock, ...] = ()) -> None:
        self.got = clocks

class Optional:
    def __init__(self, clock: Clock | None) -> None:
        self.got = clock

class Defaulted:
    def __init__(self, clock: Clock = None) -> None:
        self.got = clock

class WithModel:
    def __init__(self, model: ChatModel, city: str, days: int = 1) -> None:
        self.got = model
        self.city, self.days = city, days

class NeedsStranger:
    def __init__(self, stranger: Stranger) -> None: ...

class MayHaveStranger:
    def __init__(self, stranger: Stranger | None = None) -> None:
        self.got = stranger

class Left:
    def __init__(self, right: Right) -> None: ...

class Right:
    def __init__(self, left: Left) -> None: ...

class Unreadable:
    def __init__(self, what: NoSuchName) -> None: ...

class Weather:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @tool
    def now(self) -> str:
        "The time."
        return self.clock.now()

@tool
def shout(text: str) -> str:
    "Louder."
    return text.upper()
'''


@pytest.fixture
def kit(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kit]:
    """With a module of components beside the file, which is forgotten afterwards."""
    kit.write("container_parts.py", PARTS)
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


def scanned(kit: Kit, beans: str, **options: Any) -> AgentForge:
    return kit.load("scan: [container_parts]\nbeans:\n" + indent(beans, "  "), **options)


CLOCK = "clock: {type: component, component: Clock}\n"
TWO = CLOCK + "local: {type: component, component: LocalClock}\n"
MODEL = "model: {type: scripted, turns: [Hi.]}\n"

FILLED = {
    "a class": (CLOCK, "Desk", "", "clock"),
    "a bean further down in the file": ("", "Desk", "", "clock"),
    "a protocol of the user's": (CLOCK, "ByProtocol", "", "clock"),
    "a contract of the core": (MODEL + CLOCK, "WithModel", "arguments: {city: Hangzhou}", "model"),
    "the primary one": (
        CLOCK + "local: {type: component, component: LocalClock, bean: {primary: true}}\n",
        "Desk",
        "",
        "local",
    ),
    "the one that is named": (TWO, "Desk", "arguments: {clock: local}", "local"),
    "the one that an alias names": (
        CLOCK + "local: {type: component, component: LocalClock, bean: {aliases: [here]}}\n",
        "Desk",
        "arguments: {clock: here}",
        "local",
    ),
    "all in a list": (TWO, "ByList", "", ["clock", "local"]),
    "all by their order": (
        "late: {type: component, component: Clock, bean: {order: 5}}\n"
        + CLOCK
        + "soon: {type: component, component: Clock, bean: {order: -1}}\n",
        "ByList",
        "",
        ["soon", "late", "clock"],
    ),
    "all though one is primary": (
        CLOCK + "local: {type: component, component: LocalClock, bean: {primary: true}}\n",
        "BySequence",
        "",
        ["clock", "local"],
    ),
    "a list of one": (CLOCK, "BySequence", "", ["clock"]),
    "the named ones in a list": (TWO, "ByList", "arguments: {clocks: [local, clock]}", ["local", "clock"]),
    "one that is named for a list": (TWO, "ByList", "arguments: {clocks: local}", ["local"]),
    "a list of none": (MODEL, "ByList", "", []),
    "the default for a list of none": (MODEL, "ByTuple", "", ()),
    "an optional one that is there": (CLOCK, "Optional", "", "clock"),
    "a default, though one is there": (CLOCK, "Defaulted", "", "clock"),
    "a default, and none is there": (MODEL, "MayHaveStranger", "", None),
}


@pytest.mark.parametrize(("before", "component", "settings", "got"), FILLED.values(), ids=FILLED.keys())
async def test_a_constructor_gets_the_beans_of_its_types(
    kit: Kit, before: str, component: str, settings: str, got: Any
) -> None:
    beans = f"{before}it: {{type: component, component: {component}{', ' if settings else ''}{settings}}}\n"
    async with scanned(kit, beans if before else beans + CLOCK) as app:
        wanted = [app.get(name) for name in got] if isinstance(got, list) else got and app.get(got)
        found = app.get("it").got
        assert found == wanted
        assert type(found) is type(wanted)


async def test_an_object_of_the_program_is_given_by_its_type_too(kit: Kit) -> None:
    from agentforge import ScriptedChatModel

    model = ScriptedChatModel(["Hi."])
    beans = {
        "model": model,
        "it": {"type": "component", "component": "WithModel", "arguments": {"city": "x", "days": 3}},
    }
    app = AgentForge.from_mapping(
        {"scan": ["container_parts"], "beans": beans}, folder=kit.folder, environment={}, plugins=kit.plugins()
    )
    async with app:
        assert app.get("it").got is model
        assert (app.get("it").city, app.get("it").days) == ("x", 3)


async def test_components_are_beans_like_all_others(kit: Kit) -> None:
    """They are found by their classes, started before and closed after those that hold them."""
    async with scanned(kit, "desk: {type: component, component: Desk}\n" + CLOCK) as app:
        clock, desk = app.get("clock"), app.get("desk")
        assert desk.got is clock
        assert app.get(type(desk)) is desk
        assert app.get(type(clock)) is clock
        assert clock.log == ["start"]

    assert clock.log == ["start", "close"]


async def test_a_tool_of_a_component_answers_the_model(kit: Kit) -> None:
    beans = (
        "clock: {type: component, component: Clock, arguments: {zone: '${ZONE}'}}\n"
        "weather: {type: python_tools, component: Weather}\n"
        "loud: {type: python_tools, component: shout, prefix: my_}\n"
        "bot:\n  type: chat_client\n  tools: [weather, loud]\n"
        "  model: {type: scripted, turns: [{calls: [{name: now}, {name: my_shout, args: {text: hi}}]}, Done.]}\n"
    )
    async with scanned(kit, beans, environment={"ZONE": "Asia/Shanghai"}) as app:
        answer = await app.get("bot").chat("What time is it?")

    assert [each.result.text for each in answer.tool_executions] == ["Asia/Shanghai", "HI"]
    assert answer.text == "Done."


REFUSED = {
    "several that fit": (
        TWO + "«it: {type: component, component: Desk}",
        "AF214",
        "'clock' of Desk needs one Clock, and several fit: clock, local",
        "Mark one with 'bean: {primary: true}', or write 'arguments: {clock: clock}'.",
    ),
    "two primary ones that fit": (
        CLOCK.replace("Clock}", "Clock, bean: {primary: true}}")
        + "local: {type: component, component: LocalClock, bean: {primary: true}}\n"
        + "«it: {type: component, component: Desk}",
        "AF214",
        "'clock' of Desk needs one Clock, and several fit: clock, local",
        "Mark one with 'bean: {primary: true}', or write 'arguments: {clock: clock}'.",
    ),
    "none that fits": (
        CLOCK + "«it: {type: component, component: NeedsStranger}",
        "AF215",
        "'stranger' of NeedsStranger needs a Stranger, and no bean is one",
        "Declare a bean that is a Stranger.",
    ),
    "a name that no bean has": (
        TWO + "it: {type: component, component: Desk, arguments: {clock: «lokal}}",
        "AF212",
        "no bean is called 'lokal'",
        "Did you mean 'local'?",
    ),
    "the name of another kind of bean": (
        CLOCK + MODEL + "it: {type: component, component: Desk, arguments: {clock: «model}}",
        "AF213",
        "'clock' needs a Clock, and 'model' is a ChatModel",
        "Beans that fit: clock.",
    ),
    "a plain value that is missing": (
        MODEL + "«it: {type: component, component: WithModel}",
        "AF203",
        "the constructor of WithModel needs 'city'",
        "Write 'arguments: {city: …}'.",
    ),
    "a value that it does not take": (
        CLOCK + "it: {type: component, component: Desk, arguments: {clok: «x}}",
        "AF203",
        "the constructor of Desk has no parameter 'clok'",
        "Did you mean 'clock'?",
    ),
    "a component that there is not": (
        "it: {type: component, component: «Desc}",
        "AF203",
        "no component 'Desc' is defined in container_parts",
        "Did you mean Desk?",
    ),
    "a private component": ("it: {type: component, component: «_Desk}", "AF203", "'_Desk' is private", None),
    "a dotted component": ("it: {type: component, component: «os.system}", "AF203", "'os.system' is no name", None),
    "hints that cannot be read": (
        "it: {type: component, component: «Unreadable}",
        "AF203",
        "the constructor of 'Unreadable' cannot be read",
        None,
    ),
    "components that need each other": (
        "left: {type: component, component: Left}\n«right: {type: component, component: Right}",
        "AF216",
        "beans need each other: left -> right -> left",
        "Let 'left' ask for 'right' when it needs it: declare its parameter as 'right: Callable[[], Right]' and "
        "call it there; where the parameter takes anything, write {ref: right, provider: true}.",
    ),
    "a component that needs itself": (
        "left: {type: component, component: Left, arguments: {right: right}}\n"
        "right: {type: component, component: Right, arguments: {left: «left}}",
        "AF216",
        "beans need each other: left -> right -> left",
        "Let 'left' ask for 'right' when it needs it: declare its parameter as 'right: Callable[[], Right]' and "
        "call it there; where the parameter takes anything, write {ref: right, provider: true}.",
    ),
    "a component of another contract": (
        CLOCK + "it: {type: chat_client, model: «clock}",
        "AF213",
        "'model' needs a ChatModel, and 'clock' is a Clock",
        "No bean here fits; declare one.",
    ),
}


@pytest.mark.parametrize(("beans", "code", "message", "step"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_filled_is_one_fault_at_its_place(
    kit: Kit, beans: str, code: str, message: str, step: str | None
) -> None:
    text, [place] = marked("scan: [container_parts]\nbeans:\n" + indent(beans, "  "))

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == (code, f"{kit.folder / 'app.yaml'}:{place}")
    assert message in fault.message
    assert step in (None, fault.next_step)


BROKEN = {
    "a module that raises": ("container_broken", "raise ValueError('bad day')", "ValueError: bad day"),
    "a module that ends the program": ("container_broken", "raise SystemExit(3)", "SystemExit: 3"),
    "a syntax error": ("container_broken", "def (", "SyntaxError"),
    "a module that imports what is not there": ("container_broken", "import no_such_module", "No module named"),
    "a module below a package": ("container_package", None, "ValueError: deep"),
    "a module that is not there": ("container_none", None, "'container_none' of 'scan' is no module"),
}


@pytest.mark.parametrize(("name", "source", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_module_is_one_fault_where_it_is_scanned(
    kit: Kit, name: str, source: str | None, message: str
) -> None:
    """However many beans need it, and nothing that follows from it is told."""
    if source is not None:
        kit.write(f"{name}.py", source)
    kit.write("container_package/__init__.py", "")
    kit.write("container_package/deep.py", "raise ValueError('deep')")
    text, [place] = marked(
        f"scan: [container_parts, «{name}]\n"
        "beans:\n"
        "  desk: {type: component, component: Desk}\n"
        "  gate: {type: component, component: Clock}\n"
        "  tools: {type: python_tools, component: Nothing}\n"
        "  service: {type: tool_service, gates: [gate], tools: [tools]}\n"
    )

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == ("AF203", f"{kit.folder / 'app.yaml'}:{place}")
    assert message in fault.message


def test_faults_of_components_do_not_follow_from_other_faults(kit: Kit) -> None:
    """A component whose settings are wrong may be what another needs; that one says nothing."""
    faults = faults_of(
        scanned(
            kit,
            "clock: {type: component, component: Clock, argument: {}}\n"
            "it: {type: component, component: Desk}\n"
            "service: {type: tool_service, gates: [clock]}\n",
        )
    )

    assert [fault.message for fault in faults] == ["unknown setting 'argument'"]


def test_without_scan_no_component_can_be_named(kit: Kit) -> None:
    [fault] = faults_of(kit.beans("it: {type: component, component: Desk}"))

    assert fault.message == "the component 'Desk' cannot be looked up: 'scan' names no packages"


async def test_a_plugin_s_bean_is_given_by_its_contract(kit: Kit) -> None:
    source = """
        from tests.unit.container.kit import Thing

        class Holder:
            def __init__(self, thing: Thing):
                self.got = thing
    """
    kit.write("container_holder.py", source)
    async with kit.load(
        "scan: [container_holder]\nbeans:\n  it: {type: component, component: Holder}\n  a: {type: t.thing}\n"
    ) as app:
        assert app.get("it").got is app.get(Thing)
