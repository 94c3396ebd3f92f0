"""What ``{ref: NAME}``, callables and qualifiers cannot mean: each is one fault at its place, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

import pytest

from tests.unit.container.kit import Kit, faults_of, marked
from tests.unit.container.written import TWO, with_parts


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """With a module of components beside the file, which is forgotten afterwards."""
    with with_parts(kit):
        yield kit


REFUSED = {
    "an unknown name": (
        "store: {type: t.thing}\nit: {type: t.thing, one: {ref: «stroe}}",
        "AF212",
        "no bean is called 'stroe'",
        "Did you mean 'store'?",
    ),
    "the name of a type": (
        "store: {type: t.thing}\nit: {type: t.thing, needs: [{ref: «t.alone}]}",
        "AF212",
        "no bean is called 't.alone'",
        "Known here: store.",
    ),
    "no name": ("it: {type: t.thing, one: {ref: «}}", "AF108", "'ref' is the name of a bean", "Such as {ref: store}."),
    "a list of names": ("it: {type: t.thing, one: {ref: «[a]}}", "AF108", "'ref' is the name of a bean", None),
    "another key": (
        "a: {type: t.thing}\nit: {type: t.thing, one: {ref: a, «povider: true}}",
        "AF107",
        "unknown key 'povider' of a reference",
        "Did you mean 'provider'?",
    ),
    "neither true nor false": (
        "a: {type: t.thing}\nit: {type: t.thing, one: {ref: a, provider: «2}}",
        "AF108",
        "'provider' of a reference is true or false",
        "Write {ref: a, provider: true} for a callable that gives the bean.",
    ),
    "a callable for a bean": (
        "a: {type: t.thing}\nit: {type: t.thing, one: «{ref: a, provider: true}}",
        "AF213",
        "'one' needs a Thing, and a reference with 'provider: true' gives a callable",
        "Write {ref: a}; only a field or parameter that is a Callable[[], …] takes a callable.",
    ),
    "a callable in a list": (
        "a: {type: t.thing}\nit: {type: t.thing, needs: [«{ref: a, provider: true}]}",
        "AF213",
        "'needs.0' needs a Thing, and a reference with 'provider: true' gives a callable",
        None,
    ),
    "a bean that gives callables": (
        "a: {type: t.thing, bean: {provider: true}}\nit: {type: t.thing, one: «a}",
        "AF213",
        "'one' needs a Thing, and 'a' gives its users a callable",
        "Take 'provider: true' from the bean 'a', or have a Callable[[], Thing] here.",
    ),
    "a callable for an error handler, which is one": (
        "a: {type: mask}\nit: {type: tool_service, error_handlers: {execution: «{ref: a, provider: true}}}",
        "AF213",
        "'error_handlers.execution' needs a ToolErrorHandler, and a reference with 'provider: true' gives a callable",
        None,
    ),
    "a field's callable of another contract": (
        "a: {type: t.other, word: w}\nit: {type: t.thing, later: «a}",
        "AF213",
        "'later' needs a Thing, and 'a' is an Other",
        "No bean here fits; declare one.",
    ),
    "a bean where a mapping is": (
        "a: {type: t.thing}\nit: {type: t.thing, named: «a}",
        "AF108",
        "'named' is a mapping of names to beans",
        "Write named: {one: a}.",
    ),
    "a circle, though one may ask later elsewhere": (
        "a: {type: t.thing, one: b, later: b}\nb: {type: t.thing, one: «a}",
        "AF216",
        "beans need each other: a -> b -> a",
        "Take one of these references away; no bean can be built before itself. A component can ask for a bean later, "
        "with {ref: a, provider: true} or a parameter that is a Callable[[], …].",
    ),
    "a circle through arguments": (
        "a: {type: component, component: Holder, arguments: {what: [{ref: b}]}}\n"
        "b: {type: component, component: Holder, arguments: {what: «{ref: a}}}",
        "AF216",
        "beans need each other: a -> b -> a",
        "Let 'a' ask for 'b' when it needs it: write {ref: b, provider: true} in its arguments, for a callable that "
        "gives the bean.",
    ),
    "a name in arguments": (
        TWO + "it: {type: component, component: Holder, arguments: {what: [1, {deep: {ref: «clok}}]}}",
        "AF212",
        "no bean is called 'clok'",
        "Did you mean 'clock'?",
    ),
    "a name for a parameter": (
        TWO + "it: {type: component, component: Plain, arguments: {clock: {ref: «clok}}}",
        "AF212",
        "no bean is called 'clok'",
        "Did you mean 'clock'?",
    ),
    "a name where text is taken": (
        TWO + "it: {type: component, component: Plain, arguments: {clock: clock, text: {ref: «clok}}}",
        "AF212",
        "no bean is called 'clok'",
        None,
    ),
    "a callable where text is taken": (
        TWO + "it: {type: component, component: Plain, arguments: {clock: clock, text: «{ref: clock, provider: true}}}",
        "AF213",
        "'text' takes no bean, and 'clock' is a callable",
        None,
    ),
    "a callable for a parameter that is a bean": (
        TWO + "it: {type: component, component: Plain, arguments: {clock: «{ref: clock, provider: true}}}",
        "AF213",
        "'clock' needs a Clock, and 'clock' comes as a callable that gives it",
        "Take 'provider: true' away, or declare the parameter as Callable[[], Clock].",
    ),
    "a bean of another kind for a callable": (
        TWO + "x: {type: component, component: Stranger}\n"
        "it: {type: component, component: Later, arguments: {clock: «x}}",
        "AF213",
        "'clock' needs a Clock, and 'x' is a Stranger",
        "Beans that fit: clock, second.",
    ),
    "a callable of which there is none": (
        TWO + "«it: {type: component, component: LaterStranger}",
        "AF215",
        "'stranger' of LaterStranger needs a Stranger, and no bean is one",
        "Declare a bean that is a Stranger.",
    ),
    "none but one that gives callables": (
        "clock: {type: component, component: Clock, bean: {provider: true}}\n«it: {type: component, component: Plain}",
        "AF215",
        "'clock' of Plain needs a Clock, and no bean is one",
        "'clock' gives its users a callable: declare the parameter as Callable[[], Clock].",
    ),
    "a qualifier that no bean has": (
        TWO + "«it: {type: component, component: PicksGone}",
        "AF212",
        "'clock' of PicksGone needs the bean 'secnd': no bean is called 'secnd'",
        "Did you mean 'second'?",
    ),
    "a qualifier for another kind": (
        TWO + "«it: {type: component, component: PicksWrong}",
        "AF213",
        "'clock' needs a Stranger, and 'second' is a Clock",
        "No bean here fits; declare one.",
    ),
    "a qualifier for several": (
        TWO + "it: {type: component, component: «PicksSeveral}",
        "AF203",
        "the parameter 'clocks' of 'PicksSeveral' takes several beans, and a Qualifier picks one",
        "Leave out the Qualifier; name the beans in 'arguments'.",
    ),
    "a bean where text is taken": (
        TWO + "it: {type: component, component: Plain, arguments: {clock: clock, text: «{ref: second}}}",
        "AF213",
        "'text' takes no bean, and 'second' is a Clock",
        "Give a plain value.",
    ),
    "a bean of another kind for one of two": (
        TWO + "x: {type: component, component: Stranger}\n"
        "it: {type: component, component: Takes, arguments: {settled: {}, either: «{ref: x}}}",
        "AF213",
        "'either' needs a Clock, and 'x' is a Stranger",
        "Name a bean of that kind.",
    ),
    "a bean where a number is taken": (
        TWO + "it: {type: component, component: Plain, arguments: {clock: clock, ages: {a: 1, b: «{ref: second}}}}",
        "AF213",
        "'ages.b' takes no bean, and 'second' is a Clock",
        None,
    ),
    "a bean of another kind inside a value": (
        TWO + "x: {type: component, component: Stranger}\n"
        "it: {type: component, component: Plain, arguments: {clock: clock, shelf: {clock: «{ref: x}}}}",
        "AF213",
        "'shelf.clock' needs a Clock, and 'x' is a Stranger",
        "Name a bean of that kind.",
    ),
    "a plain value beside a bean": (
        TWO + "it: {type: component, component: Plain,\n"
        "  arguments: {clock: clock, shelf: {clock: {ref: second}, height: «tall}}}",
        "AF108",
        "'height' is a whole number, not a text",
        None,
    ),
}


@pytest.mark.parametrize(("beans", "code", "message", "step"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_one_fault_at_its_place(
    kit: Kit, beans: str, code: str, message: str, step: str | None
) -> None:
    text, [place] = marked("scan: [container_written]\nbeans:\n" + indent(beans, "  "))

    [fault] = faults_of(kit.load(text))

    assert (fault.code, fault.message) == (code, message)
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:{place}"
    assert step in (None, fault.next_step)


def test_a_tool_that_uses_the_client_that_has_it_is_a_circle_with_a_way_out(kit: Kit) -> None:
    """The client needs its tools, these need the object, and that needs the client."""
    kit.write(
        "container_pets.py",
        """
        from collections.abc import Callable
        from agentforge import tool
        from agentforge.client import ChatClient

        class PetTools:
            def __init__(self, chat: ChatClient) -> None:
                self.chat = lambda: chat

            @tool
            def name_pet(self) -> str:
                "A name."
                return type(self.chat()).__name__

        class LatePetTools(PetTools):
            def __init__(self, chat: Callable[[], ChatClient]) -> None:
                self.chat = chat
        """,
    )
    text = (
        "scan: [container_pets]\nbeans:\n"
        "  chat: {type: chat_client, model: {type: scripted, turns: [Hi.]}, tools: [pets]}\n"
        "  pets: {type: python_tools, component: PetTools}\n"
    )

    [fault] = faults_of(kit.load(text))

    assert (fault.code, fault.message) == ("AF216", "beans need each other: chat -> pets -> chat")
    assert fault.next_step == (
        "Let 'pets' ask for 'chat' when it needs it: declare its parameter as 'chat: Callable[[], ChatClient]' and "
        "call it there; where the parameter takes anything, write {ref: chat, provider: true}."
    )
    kit.load(text.replace("PetTools", "LatePetTools")).check()
