"""Which conditional beans are there: each kind of condition, its negation, and what is told of a bean that is out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import indent
from types import ModuleType
from typing import Any

import pytest

from agentforge.container import AgentForge
from agentforge.plugin import Found, Plugins
from tests.unit.container.kit import Kit, Thing, faults_of, marked


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """The modules of a test are forgotten afterwards."""
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


ENVIRONMENT = {"SET": "yes", "SIZE": "8", "OFF": "off", "ZERO": "0", "EMPTY": "", "NO": "No"}

# The condition, whether the bean is in, and the sentence that says why.
DECIDED: dict[str, tuple[str, bool, str]] = {
    "a profile that is active": ("profile: local", True, "the profile 'local' is active"),
    "one that is not": ("profile: prod", False, "the profile 'prod' is not active"),
    "one of several": ("profile: [prod, local]", True, "the profile 'local' is active"),
    "none of several": (
        "profile: [prod, test]",
        False,
        "the profile 'prod' is not active and the profile 'test' is not active",
    ),
    "a profile that must not be active": ('profile: "!prod"', True, "the profile 'prod' is not active"),
    "and is": ('profile: "!local"', False, "the profile 'local' is active"),
    "a variable that is set": ("property: SET", True, "the variable SET is set"),
    "one that is not set": ("property: GONE", False, "the variable GONE is not set"),
    "one that must not be": ('property: "!GONE"', True, "the variable GONE is not set"),
    "one that is empty": ("property: EMPTY", False, "the variable EMPTY is empty or says no"),
    "one that says off": ("property: OFF", False, "the variable OFF is empty or says no"),
    "one that says 0": ("property: ZERO", False, "the variable ZERO is empty or says no"),
    "one that says No": ("property: NO", False, "the variable NO is empty or says no"),
    "each of several": ("property: [SET, SIZE]", True, "the variable SET is set and the variable SIZE is set"),
    "not each": ("property: [SET, GONE]", False, "the variable GONE is not set"),
    "a variable of a value": ("property: SIZE=8", True, "the variable SIZE is '8'"),
    "of another": ("property: SIZE=9", False, "the variable SIZE is not '9'"),
    "of none": ("property: GONE=8", False, "the variable GONE is not '8'"),
    "not of a value": ('property: "!SIZE=9"', True, "the variable SIZE is not '9'"),
    "a value of the file": ("property: beans.other.label=x", True, "'beans.other.label' of the file is 'x'"),
    "another value of the file": ("property: beans.other.label=y", False, "'beans.other.label' of the file is not 'y'"),
    "a placeholder of the file": ("property: beans.other.number=8", True, "'beans.other.number' of the file is '8'"),
    "a place of the file": ("property: beans.other", True, "'beans.other' of the file is set"),
    "an empty place of the file": (
        "property: beans.other.inner",
        False,
        "'beans.other.inner' of the file is empty or says no",
    ),
    "a secret of the file": ("property: beans.other.key", True, "'beans.other.key' of the file is set"),
    "a place that there is not": ("property: beans.gone", False, "'beans.gone' of the file is not set"),
    "a plugin that is installed": ("plugin: t", True, "the plugin 't' is installed"),
    "one that is not installed": ("plugin: redis", False, "the plugin 'redis' is not installed"),
    "one that is not and need not be": ('plugin: "!redis"', True, "the plugin 'redis' is not installed"),
    "one that the file switches off": (
        "plugin: barred",
        False,
        "the plugin 'barred' is blocked: the configuration switches it off",
    ),
    "a bean that there is not": ("missing_bean: spare", True, "no other bean is 'spare'"),
    "a bean that there is": ("missing_bean: other", False, "there is a bean 'other'"),
    "a bean of this alias": ("missing_bean: another", False, "there is a bean 'another'"),
    "a bean of this contract": ("missing_bean: Thing", False, "the bean 'other' is a Thing"),
    "a contract that no bean fulfils": ("missing_bean: ChatClient", True, "no other bean is 'ChatClient'"),
    "a protocol of the core that a bean fulfils": ("missing_bean: ChatModel", False, "the bean 'model' is a ChatModel"),
    "a bean that must be there": ('missing_bean: "!other"', True, "there is a bean 'other'"),
}


def application(kit: Kit, text: str, **options: Any) -> AgentForge:
    """The application of these beans beside two that are always there, with the profile ``local``."""
    kit.write("app-local.yaml", "{}")
    kit.add_plugin("barred", ModuleType("barred"))
    beans = (
        "other: {type: t.thing, label: x, number: '${SIZE}', key: '${secret:SET}', inner: {},\n"
        "  bean: {aliases: [another]}}\n"
        "model: {type: scripted, turns: [Hi.]}\n" + text
    )
    file = "plugins: {disabled: [barred]}\nbeans:\n" + indent(beans, "  ")
    return kit.load(file, ENVIRONMENT, profiles=["local"], **options)


@pytest.mark.parametrize(("condition", "included", "reason"), DECIDED.values(), ids=DECIDED.keys())
def test_a_condition_lets_a_bean_in_or_keeps_it_out_and_says_why(
    kit: Kit, condition: str, included: bool, reason: str
) -> None:
    app = application(kit, f"it: {{type: t.thing, bean: {{when: {{{condition}}}}}}}")

    [result] = app.plan.conditions

    assert (result.bean_id, result.included, result.reasons) == ("it", included, (reason,))
    assert ("it" in app.plan.declared) is included


def test_all_conditions_of_a_bean_have_to_hold(kit: Kit) -> None:
    """Each gets its sentence, in the order of the file; a missing bean is not asked for when another has failed."""
    app = application(
        kit,
        "a: {type: t.thing, bean: {when: {missing_bean: x, profile: local, property: SET}}}\n"
        "b: {type: t.thing, bean: {when: {missing_bean: x, profile: prod, property: SET}}}\n",
    )

    assert [(each.bean_id, each.included, each.reasons) for each in app.plan.conditions] == [
        ("a", True, ("no other bean is 'x'", "the profile 'local' is active", "the variable SET is set")),
        ("b", False, ("the profile 'prod' is not active", "the variable SET is set")),
    ]


def test_missing_beans_are_asked_for_last_and_in_the_order_of_the_file(kit: Kit) -> None:
    """The first that such a condition lets in is there for the next; one that is out is there for nobody."""
    app = application(
        kit,
        "late: {type: t.thing, bean: {aliases: [store], when: {missing_bean: store}}}\n"
        "later: {type: t.thing, bean: {aliases: [shop], when: {missing_bean: store}}}\n"
        "last: {type: t.thing, bean: {when: {missing_bean: shop}}}\n"
        "out: {type: t.thing, bean: {aliases: [depot], when: {profile: prod}}}\n"
        "spare: {type: t.thing, bean: {when: {missing_bean: depot}}}\n",
    )

    assert [each.bean_id for each in app.plan.conditions if each.included] == ["late", "last", "spare"]
    assert app.plan.id_of("store") == "late"


def test_two_beans_of_one_name_may_take_turns(kit: Kit) -> None:
    """The alias of the one that is out belongs to the one that is in."""
    text = (
        "near: {type: t.thing, bean: {aliases: [store], when: {profile: local}}}\n"
        "far: {type: t.thing, bean: {aliases: [store], when: {profile: '!local'}}}\n"
        "user: {type: t.thing, one: store}\n"
    )

    assert application(kit, text).plan.beans["user"].uses == {"one": "near"}


OUT = "out: {type: t.nothing, one: nobody, key: '${secret:GONE}', bean: {when: {profile: prod}}}\n"


def test_a_bean_that_is_out_is_not_looked_at(kit: Kit) -> None:
    """Neither its type nor its placeholders nor its references."""
    app = application(kit, OUT)

    assert app.plan.declared == ("other", "model")
    assert app.plan.tree is not None
    assert "out" in app.plan.tree.entries["beans"].node.entries  # type: ignore[union-attr]


REFERRED = {
    "a setting": "user: {type: t.thing, one: «out}",
    "a list": "user: {type: t.thing, needs: [other, «out]}",
    "a written reference": "user: {type: t.thing, one: {ref: «out}}",
    "its alias": "user: {type: t.thing, one: «absent}",
    "depends_on": "user: {type: t.thing, bean: {depends_on: [«out]}}",
}


@pytest.mark.parametrize("user", REFERRED.values(), ids=REFERRED.keys())
def test_a_reference_to_a_bean_that_is_out_says_why_it_is(kit: Kit, user: str) -> None:
    out = "out: {type: t.thing, bean: {aliases: [absent], when: {profile: [prod, test], property: SET}}}\n"
    text, [place] = marked("beans:\n" + indent(out + "other: {type: t.thing}\n" + user, "  "))

    [fault] = faults_of(kit.load(text, ENVIRONMENT))

    name = "absent" if "absent}" in user else "out"
    assert (fault.code, str(fault.mark)) == ("AF212", f"{kit.folder / 'app.yaml'}:{place}")
    assert fault.message == (
        f"the bean '{name}' is not there: the profile 'prod' is not active and the profile 'test' is not active"
    )
    assert fault.next_step == "Name another bean, or give both one condition."


def test_the_options_of_a_bean_that_is_out_are_checked(kit: Kit) -> None:
    """They may be why it is out."""
    text, [place] = marked("beans:\n  it: {type: t.thing, bean: {when: {profile: prod}, «lasy: true}}\n")

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == ("AF107", f"{kit.folder / 'app.yaml'}:{place}")


async def test_an_override_takes_the_place_of_a_bean_that_would_be_out(kit: Kit) -> None:
    """A test may put an object wherever the file has a bean."""
    given = Thing("given", [])
    app = application(kit, OUT + "user: {type: t.thing, one: out}").override("out", given)

    async with app:
        assert app.get("user").settings.one is given


def test_a_plugin_is_asked_for_and_not_imported(kit: Kit) -> None:
    kit.add_plugin("broken", ImportError("no module named 'redis'"))
    plugins: Plugins = kit.plugins()
    path = kit.write("app.yaml", "beans: {it: {type: t.thing, bean: {when: {plugin: broken}}}}")
    app = AgentForge.load(path, environment={}, plugins=plugins)

    assert app.plan.conditions[0].included
    assert [state.state for state in plugins.states() if state.name == "broken"] == ["found"]


def test_two_distributions_of_one_plugin_are_none(kit: Kit) -> None:
    kit.more += [Found("twin", "a", "first", "1"), Found("twin", "b", "second", "1")]

    [result] = kit.beans("it: {type: t.thing, bean: {when: {plugin: twin}}}").plan.conditions

    assert not result.included
    assert "the plugin 'twin' is duplicate: several distributions" in result.reasons[0]


def test_the_class_of_a_component_is_a_contract_too(kit: Kit) -> None:
    """And so is what a factory's function says that it makes."""
    kit.write("container_wares.py", "class Shelf: ...\nclass Box(Shelf): ...\ndef box() -> Box: return Box()\n")
    text = """
        scan: [container_wares]
        beans:
          shelf: {type: factory, function: box}
          spare: {type: component, component: Shelf, bean: {when: {missing_bean: Shelf}}}
          crate: {type: component, component: Box, bean: {when: {missing_bean: Crate}}}
    """

    assert [(each.bean_id, each.included) for each in kit.load(text).plan.conditions] == [
        ("spare", False),
        ("crate", True),
    ]


def test_a_bean_that_cannot_be_what_it_says_fulfils_no_contract(kit: Kit) -> None:
    """Its own faults are told, and nothing that follows from them."""
    kit.write("container_shelves.py", "class Shelf: ...\n")
    text = """
        scan: [container_shelves]
        beans:
          strange: {type: t.thign}
          lost: {type: component, component: Shlef}
          nameless: {type: component}
          typeless: {label: x}
          it: {type: t.thing, bean: {when: {missing_bean: [Shelf, Thing]}}}
    """

    faults = faults_of(kit.load(text))

    assert [fault.code for fault in faults] == ["AF211", "AF203", "AF109", "AF109"]


def test_an_object_of_the_program_fulfils_a_contract(kit: Kit) -> None:
    """By its class, and where it declares tools as their source."""
    from agentforge import tool

    @tool
    def shout(text: str) -> str:
        "Louder."
        return text.upper()

    when = {"when": {"missing_bean": ["ToolSource"]}}
    beans = {"shout": shout, "it": {"type": "t.thing", "bean": when}}

    [result] = kit.mapping(beans).plan.conditions

    assert result.reasons == ("the bean 'shout' is a ToolSource",)
