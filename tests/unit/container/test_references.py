"""What a setting that is a bean may be, and what is refused, each fault at the place where it is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from agentforge.config import ConfigurationFaults
from agentforge.container import AgentForge
from tests.unit.container.kit import Kit, Other, Thing, faults_of, marked

PASSES = {
    "an id": ("store: {type: t.thing}\nclient: {type: t.thing, one: store}", "client(one=store)"),
    "an id further down": ("client: {type: t.thing, one: store}\nstore: {type: t.thing}", "client(one=store)"),
    "an alias": (
        "store: {type: t.thing, bean: {aliases: [shop]}}\nclient: {type: t.thing, one: shop}",
        "client(one=store)",
    ),
    "a list of ids": (
        "a: {type: t.thing}\nb: {type: t.thing}\nclient: {type: t.thing, needs: [b, a, b]}",
        "client(needs=[b, a, b])",
    ),
    "a list of one": ("a: {type: t.thing}\nclient: {type: t.thing, needs: [a]}", "client(needs=[a])"),
    "a type in a list": ("client: {type: t.thing, needs: [t.alone]}", "client(needs=[client.needs.0])"),
    "a type where a type may stand": ("client: {type: t.thing, either: t.alone}", "client(either=client.either)"),
    "a type with defaults only": ("client: {type: t.thing, needs: [t.thing]}", "client(needs=[client.needs.0])"),
    "a definition in place": ("client: {type: t.thing, one: {type: t.alone}}", "client(one=client.one)"),
    "a definition in a definition": (
        "client: {type: t.thing, one: {type: t.thing, needs: [{type: t.needy, one: t}]}}\nt: {type: t.alone}",
        "client(one=client.one(needs=[client.one.needs.0(one=t)]))",
    ),
    "an id in settings inside": (
        "a: {type: t.thing}\nclient: {type: t.thing, inner: {one: a, many: [a, t.alone, {type: t.alone}]}}",
        "client(inner.one=a, inner.many=[a, client.inner.many.1, client.inner.many.2])",
    ),
    "nothing where nothing is allowed": ("client: {type: t.thing, one: null, either: ~}", "client"),
    "an empty list": ("client: {type: t.thing, needs: []}", "client"),
    "a placeholder": ("a: {type: t.thing}\nclient: {type: t.thing, one: '${WHICH:a}'}", "client(one=a)"),
}


@pytest.mark.parametrize(("beans", "shape"), PASSES.values(), ids=PASSES.keys())
async def test_a_reference_becomes_the_bean(kit: Kit, beans: str, shape: str) -> None:
    async with kit.beans(beans) as app:
        assert app.get("client").shape == shape


async def test_beans_of_one_name_are_one_object_and_those_in_place_are_each_their_own(kit: Kit) -> None:
    beans = "store: {type: t.thing}\nclient: {type: t.thing, one: store, needs: [store, t.alone, t.alone]}"
    async with kit.beans(beans) as app:
        client = app.get("client").settings
        assert client.one is client.needs[0] is app.get("store")
        assert client.needs[1] is not client.needs[2]


async def test_objects_of_the_program_stand_for_beans_anywhere(kit: Kit) -> None:
    """As a bean of its own, in a field, and in a list; they stay what they are."""
    store, other = Thing("given", []), Thing("other", [])
    beans = {
        "store": store,
        "client": {"type": "t.thing", "one": "store", "needs": [other, "store"], "inner": {"one": other}},
    }
    async with kit.mapping(beans) as app:
        assert app.get("client").shape == "client(needs=[other, given], one=given, inner.one=other)"
        assert app.get("client").settings.one is store
        assert app.get("store") is store
    assert store.log == ["make given"]


REFUSED = {
    "an unknown name": (
        "store: {type: t.thing}\nclient: {type: t.thing, one: «stroe}",
        "AF212",
        "no bean is called 'stroe'",
        "Did you mean 'store'?",
    ),
    "an unknown name like an alias": (
        "store: {type: t.thing, bean: {aliases: [warehouse]}}\nclient: {type: t.thing, one: «warehose}",
        "AF212",
        "no bean is called 'warehose'",
        "Did you mean 'warehouse'?",
    ),
    "an unknown name like nothing": (
        "store: {type: t.thing}\nword: {type: t.other, word: w}\nclient: {type: t.thing, one: «qqq}",
        "AF212",
        "no bean is called 'qqq'",
        "Known here: store.",
    ),
    "a name in a list": (
        "store: {type: t.thing}\nclient:\n  type: t.thing\n  needs:\n    - store\n    - «stor",
        "AF212",
        "no bean is called 'stor', and no type that needs no settings",
        "Did you mean 'store'?",
    ),
    "a name in settings inside": (
        "store: {type: t.thing}\nclient:\n  type: t.thing\n  inner:\n    one: «stor",
        "AF212",
        "no bean is called 'stor'",
        "Did you mean 'store'?",
    ),
    "a type where only a bean may stand": (
        "client: {type: t.thing, one: «t.alone}",
        "AF212",
        "no bean is called 't.alone'",
        "Nothing is known here.",
    ),
    "a type that needs settings": (
        "client: {type: t.thing, either: «t.needy}",
        "AF212",
        "the type 't.needy' needs settings and cannot be named alone",
        "Write {type: t.needy, one: …}.",
    ),
    "a type of a plugin that is not there": (
        "client: {type: t.thing, needs: [«local.llama]}",
        "AF201",
        "the bean type 'local.llama' needs a plugin 'local', and none of that name is installed",
        "Install agentforge-plugin-local.",
    ),
    "a bean of another contract": (
        "word: {type: t.other, word: w}\nstore: {type: t.thing}\nclient: {type: t.thing, one: «word}",
        "AF213",
        "'one' needs a Thing, and 'word' is an Other",
        "Beans that fit: store.",
    ),
    "a definition of another contract": (
        "client: {type: t.thing, needs: [«{type: t.other, word: w}]}",
        "AF213",
        "'needs.0' needs a Thing, and 'client.needs.0' is an Other",
        "No bean here fits; declare one.",
    ),
    "a type of another contract": (
        "client: {type: t.thing, either: «mask}",
        "AF213",
        "'either' needs a Thing, and 'client.either' is a ToolErrorHandler",
        "No bean here fits; declare one.",
    ),
    "nothing where a bean must be": (
        "client: {type: t.needy, one: «null}",
        "AF108",
        "'one' is a bean and not nothing",
        "Give the name of a bean, or a mapping with a 'type'.",
    ),
    "nothing in a list": (
        "client: {type: t.thing, needs: [«null]}",
        "AF212",
        "no bean is called 'null', and no type that needs no settings",
        "Nothing is known here.",
    ),
    "a reference that is missing": (
        "«client: {type: t.needy}",
        "AF109",
        "the setting 'one' is missing",
        "Add 'one: …'.",
    ),
    "a list for one bean": (
        "client: {type: t.thing, one: «[store]}",
        "AF108",
        "'one' is a bean: the name of one, or a mapping with a 'type'",
        None,
    ),
    "a definition without a type": (
        "client: {type: t.thing, one: «{label: x}}",
        "AF109",
        "'client.one' is a bean, and its definition in place has no 'type'",
        "Say what it is, such as 'type: t.thing'.",
    ),
    "a definition of an unknown type": (
        "client: {type: t.thing, one: {type: «t.thign}}",
        "AF211",
        "the plugin 't' has no bean type 't.thign'",
        "Did you mean 't.thing'?",
    ),
    "a setting inside a definition": (
        "client:\n  type: t.thing\n  one:\n    type: t.thing\n    «lable: x",
        "AF107",
        "unknown setting 'lable'",
        "Did you mean 'label'?",
    ),
    "a value inside a definition": (
        "client:\n  type: t.thing\n  needs:\n  - type: t.thing\n    number: «ten",
        "AF108",
        "'number' is a whole number, not a text",
        "Write digits, such as 8.",
    ),
    "an unknown type of the core": (
        "client: {type: «chat_cleint}",
        "AF211",
        "there is no bean type 'chat_cleint'",
        "Did you mean 'chat_client'?",
    ),
    "a bean with a type's name": (
        "«scripted: {type: t.alone}",
        "AF217",
        "the bean 'scripted' has the name of a bean type",
        "Give it another name, such as 'my_scripted'.",
    ),
    "an alias with a type's name": (
        "store: {type: t.alone, bean: {aliases: [«mask]}}",
        "AF217",
        "the alias 'mask' has the name of a bean type",
        "Choose another.",
    ),
    "an alias with a bean's name": (
        "store: {type: t.alone, bean: {aliases: [shop, «client]}}\nclient: {type: t.alone}",
        "AF217",
        "the alias 'client' is a name of the bean 'client' already",
        "Choose another.",
    ),
    "an alias of two beans": (
        "store: {type: t.alone, bean: {aliases: [shop]}}\nclient: {type: t.alone, bean: {aliases: [«shop]}}",
        "AF217",
        "the alias 'shop' is a name of the bean 'store' already",
        "Choose another.",
    ),
    "an unknown bean to depend on": (
        "store: {type: t.alone}\nclient: {type: t.alone, bean: {depends_on: [«stor]}}",
        "AF212",
        "no bean is called 'stor'",
        "Did you mean 'store'?",
    ),
    "itself to depend on": (
        "client: {type: t.alone, bean: {depends_on: [«client]}}",
        "AF216",
        "a bean needs itself: client -> client",
        "Take one of these references away; no bean can be built before itself.",
    ),
}


@pytest.mark.parametrize(("beans", "code", "message", "step"), REFUSED.values(), ids=REFUSED.keys())
def test_a_fault_is_told_once_and_where_it_is_written(
    kit: Kit, beans: str, code: str, message: str, step: str | None
) -> None:
    """File, line and column are those of the text."""
    text, [place] = marked("beans:\n" + indent(beans, "  "))

    [fault] = faults_of(kit.load(text))

    assert (fault.code, fault.message, fault.next_step) == (code, message, step)
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:{place}"
    assert kit.log == []


CIRCLES = {
    "one that needs itself": ("a: {type: t.thing, one: «a}", "a -> a"),
    "two": ("a: {type: t.thing, one: b}\nb: {type: t.thing, needs: [«a]}", "a -> b -> a"),
    "three": (
        "a: {type: t.thing, one: b}\nb: {type: t.thing, inner: {one: c}}\nc: {type: t.thing, inner: {many: [«a]}}",
        "a -> b -> c -> a",
    ),
    "behind one that is in none": ("z: {type: t.thing, one: a}\na: {type: t.thing, one: «a}", "a -> a"),
    "through a definition in place": ("a: {type: t.thing, one: {type: t.thing, one: «a}}", "a -> a.one -> a"),
    "through an alias": ("a: {type: t.thing, one: «self, bean: {aliases: [self]}}", "a -> a"),
    "through depends_on": (
        "a: {type: t.thing, bean: {depends_on: [b]}}\nb: {type: t.thing, one: «a}",
        "a -> b -> a",
    ),
    "of depends_on alone": (
        "a: {type: t.alone, bean: {depends_on: [b]}}\nb: {type: t.alone, bean: {aliases: [c], depends_on: [«a]}}",
        "a -> b -> a",
    ),
    "of lazy beans": (
        "a: {type: t.thing, one: b, bean: {lazy: true}}\nb: {type: t.thing, one: «a, bean: {lazy: true}}",
        "a -> b -> a",
    ),
    "of prototypes": (
        "a: {type: t.thing, one: b, bean: {scope: prototype}}\nb: {type: t.thing, one: «a, bean: {scope: prototype}}",
        "a -> b -> a",
    ),
}


@pytest.mark.parametrize(("beans", "way"), CIRCLES.values(), ids=CIRCLES.keys())
def test_a_circle_is_refused_with_its_way(kit: Kit, beans: str, way: str) -> None:
    """Before any bean exists, at the reference that closes it."""
    text, [place] = marked("beans:\n" + indent(beans, "  "))

    [fault] = faults_of(kit.load(text))

    what = "a bean needs itself" if way.count("->") == 1 else "beans need each other"
    assert (fault.code, fault.message) == ("AF216", f"{what}: {way}")
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:{place}"
    assert kit.log == []


def test_two_circles_are_two_faults(kit: Kit) -> None:
    faults = faults_of(
        kit.beans("""
            a: {type: t.thing, one: b}
            b: {type: t.thing, one: a}
            c: {type: t.thing, one: c}
        """)
    )

    assert [fault.message for fault in faults] == [
        "beans need each other: a -> b -> a",
        "a bean needs itself: c -> c",
    ]


def test_a_circle_ends_a_program_with_an_error_and_no_crash(tmp_path: Path) -> None:
    """The provider library would end the interpreter."""
    program = """
        from agentforge.container import AgentForge

        beans = {
            "one": {"type": "tool_service", "bean": {"depends_on": ["two"]}},
            "two": {"type": "tool_service", "bean": {"depends_on": ["one"]}},
        }
        with AgentForge.from_mapping({"beans": beans}):
            print("started")
    """
    (tmp_path / "program.py").write_text(dedent(program), "utf-8")

    ended = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "[AF216]" in ended.stderr
    assert "beans need each other: one -> two -> one" in ended.stderr


def test_all_faults_are_told_at_once_in_the_order_of_the_file(kit: Kit) -> None:
    """One run shows every fault, of whatever kind, and none that only follows from another."""
    text, places = marked(
        dedent("""\
        plugins: [«otel]
        beens: {}
        beans:
          «Client: {type: t.thing}
          a: {type: «t.thign, one: whatever}
          b: {type: t.thing, one: a, number: «x, «lable: y, needs: [«c]}
          «d: {type: t.needy}
          e: {type: t.thing, label: «"${UNSET}"}
          f: {type: t.thing, one: g}
          g: {type: t.thing, one: «f}
          h: {type: t.other, word: w}
          i: {type: t.thing, one: «h}
        """).replace("beens", "«beens")
    )

    faults = faults_of(kit.load(text))

    assert [f"{fault.mark.line}:{fault.mark.column}" for fault in faults] == places
    assert [fault.code for fault in faults] == [
        "AF201",
        "AF107",
        "AF114",
        "AF211",
        "AF108",
        "AF107",
        "AF212",
        "AF109",
        "AF111",
        "AF216",
        "AF213",
    ]
    assert {fault.mark.file for fault in faults} == {str(kit.folder / "app.yaml")}


def test_a_fault_in_another_file_is_at_its_own_place(kit: Kit) -> None:
    """Included and profile files count their own lines; what stands in no file names its origin."""
    kit.write("more.yaml", "\n\nbeans:\n  store: {type: t.thing, one: nobody}\n")
    kit.write("app-test.yaml", "beans:\n  client: {one: no_one}\n")

    faults = faults_of(
        kit.load(
            "include: [more.yaml]\nbeans: {client: {type: t.thing}}",
            {"AGENTFORGE_BEANS__CLIENT__NUMBER": "ten"},
            profiles=["test"],
            sets=["beans.client.lable=x"],
        )
    )

    assert [str(fault.mark) for fault in faults] == [
        f"{kit.folder / 'app-test.yaml'}:2:17",
        f"{kit.folder / 'more.yaml'}:4:31",
        "command line --set beans.client.lable",
        "environment AGENTFORGE_BEANS__CLIENT__NUMBER",
    ]


SECRETS = {
    "a literal that fits, beside a fault": ("a: {type: t.thing, key: sk-12345678, number: x}", {}),
    "a literal of a bean that is right, on the line of one that is not": (
        "{b: {type: t.thing, number: x}, a: {type: t.thing, pin: sk-12345678}}",
        {},
    ),
    "a literal that does not fit": ("a: {type: t.thing, key: [sk-12345678]}", {}),
    "a secret that fits, beside a fault": (
        'a: {type: t.thing, key: "${secret:KEY}", lable: 1}',
        {"KEY": "sk-12345678"},
    ),
    "a secret where a number belongs": ('a: {type: t.thing, number: "${secret:KEY}"}', {"KEY": "sk-12345678"}),
    "a secret where a bean belongs": ('a: {type: t.thing, one: "${secret:KEY}"}', {"KEY": "sk-12345678"}),
    "a secret as the environment gives it": (
        "a: {type: t.thing, number: x}",
        {"AGENTFORGE_BEANS__A__KEY": "sk-12345678"},
    ),
}


@pytest.mark.parametrize(("beans", "environment"), SECRETS.values(), ids=SECRETS.keys())
def test_a_fault_shows_no_secret(kit: Kit, beans: str, environment: dict[str, str]) -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        kit.beans(beans, environment).check()

    error = raised.value
    shown = f"{error} {error!r} {error.diagnostics} {error.sources} {error.__cause__} {error.__context__}"
    assert "12345678" not in shown


GIVEN: dict[str, tuple[Any, str]] = {
    "an object of another contract": (Other(), "'one' needs a Thing, and 'client.one' is an Other"),
    "a number": (5, "no bean is called '5'"),
}


@pytest.mark.parametrize(("value", "message"), GIVEN.values(), ids=GIVEN.keys())
def test_an_object_that_does_not_fit_is_refused_as_a_file_s_bean_is(kit: Kit, value: Any, message: str) -> None:
    [fault] = faults_of(kit.mapping({"client": {"type": "t.thing", "one": value}}))

    assert (fault.message, str(fault.mark)) == (message, "python beans.client.one")


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    """A context of a file that is not there can be made, and says what is wrong when it is used."""
    app = AgentForge.load(tmp_path / "none.yaml", environment={})

    assert repr(app) == f"AgentForge({tmp_path / 'none.yaml'}, not started)"
    [fault] = faults_of(app)
    assert (fault.code, fault.message) == ("AF101", f"the file '{tmp_path / 'none.yaml'}' does not exist")
