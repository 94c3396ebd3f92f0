"""What a configuration is compiled with: the plugins that it switches on and off, their secrets and vendors, the
variables, and the tree that tells where every value comes from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationInfo, model_validator

from agentforge.config import SecretNode, to_value
from agentforge.config.nodes import node_at
from agentforge.container import AgentForge
from agentforge.plugin import BeanContext, BeanSettings, BeanType, hookimpl
from tests.unit.container.kit import Kit, Thing, faults_of, marked


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """The modules of a test are forgotten afterwards."""
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


MODEL = "beans: {it: {type: t.thing}}\n"


def with_plugins(kit: Kit) -> Kit:
    """Beside ``t`` there are one that works, one that cannot be imported, and one with secrets."""
    vault = ModuleType("vault")

    @hookimpl
    def agentforge_secret(name: str) -> str | None:
        return {"TOKEN": "from the vault", "SHARED": "vault's"}.get(name)

    vault.agentforge_secret = agentforge_secret  # type: ignore[attr-defined]
    kit.add_plugin("quiet", ModuleType("quiet"))
    kit.add_plugin("broken", ImportError("no module named 'redis'"))
    kit.add_plugin("vault", vault)
    return kit


def states(app: AgentForge) -> dict[str, str]:
    return {state.name: state.state for state in app.plugins.states()}


SWITCHED: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "a list is of required ones": ("plugins: [quiet]", {"quiet": "active", "vault": "found"}, []),
    "optional ones that work": ("plugins: {optional: [quiet]}", {"quiet": "active"}, []),
    "optional ones that do not": (
        "plugins: {optional: [«broken, «gone]}",
        {"broken": "failed"},
        [
            "plugin 'broken' (fake-broken 1) has failed: ImportError: no module named 'redis'",
            "no plugin 'gone' is installed",
        ],
    ),
    "those that are switched off": ("plugins: {disabled: [quiet]}", {"quiet": "blocked", "vault": "found"}, []),
    "only those that are allowed": (
        "plugins: {only: [t, quiet], required: [quiet]}",
        {"quiet": "active", "vault": "blocked", "broken": "blocked", "t": "active"},
        [],
    ),
    "a slip in what is switched off": (
        "plugins: {disabled: [«quite]}",
        {"quiet": "found"},
        ["'plugins.disabled' names 'quite', which is not installed. Did you mean 'quiet'?"],
    ),
}


@pytest.mark.parametrize(("plugins", "expected", "warnings"), SWITCHED.values(), ids=SWITCHED.keys())
def test_the_file_says_which_plugins_are_loaded(
    kit: Kit, plugins: str, expected: Mapping[str, str], warnings: list[str]
) -> None:
    text, places = marked(plugins + "\n" + MODEL)
    app = with_plugins(kit).load(text)

    plan = app.plan

    assert {name: states(app)[name] for name in expected} == expected
    for found, place, warning in zip(plan.warnings, places, warnings, strict=True):
        assert found.startswith(f"{kit.folder / 'app.yaml'}:{place}: {warning}")


REFUSED = {
    "a required one that is not installed": (
        "plugins: {required: [«quite]}\n" + MODEL,
        "AF201",
        "no plugin 'quite' is installed",
        "Did you mean 'quiet'?",
    ),
    "a required one that fails": (
        "plugins: [«broken]\n" + MODEL,
        "AF201",
        "plugin 'broken' (fake-broken 1) has failed: ImportError: no module named 'redis'",
        "Correct or remove it, or take it out of 'plugins'.",
    ),
    "a type of one that is switched off": (
        "plugins: {disabled: [t]}\nbeans: {it: {type: «t.thing}}\n",
        "AF201",
        "the bean type 't.thing' cannot be used: plugin 't' (fake-t 1) is blocked: the configuration switches it off",
        None,
    ),
    "a type of one that is not allowed": (
        "plugins: {only: []}\nbeans: {it: {type: «t.thing}}\n",
        "AF201",
        "the bean type 't.thing' cannot be used: plugin 't' (fake-t 1) is blocked: it is not among the plugins that "
        "the configuration allows",
        None,
    ),
    "a placeholder": (
        "plugins: {required: [«'${WHICH:quiet}']}\n" + MODEL,
        "AF115",
        "'plugins' takes no placeholder: the environment may not choose what is loaded",
        None,
    ),
}


@pytest.mark.parametrize(("text", "code", "message", "step"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_loaded_and_is_needed_is_a_fault(
    kit: Kit, text: str, code: str, message: str, step: str | None
) -> None:
    text, [place] = marked(text)

    [fault] = faults_of(with_plugins(kit).load(text))

    assert fault.code == code
    assert fault.message.startswith(message)
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:{place}"
    assert step in (None, fault.next_step)


SECRETS = {
    "of a plugin that is loaded": ("plugins: [vault]\n", "${secret:TOKEN}", {}, "from the vault"),
    "of a plugin that is named": ("", "${secret:vault/TOKEN}", {}, "from the vault"),
    "of the environment first": ("plugins: [vault]\n", "${secret:SHARED}", {"SHARED": "ours"}, "ours"),
    "of the named plugin alone": ("", "${secret:vault/SHARED}", {"SHARED": "ours"}, "vault's"),
}


@pytest.mark.parametrize(("plugins", "key", "environment", "value"), SECRETS.values(), ids=SECRETS.keys())
async def test_a_secret_of_a_plugin_reaches_the_bean_and_is_masked(
    kit: Kit, plugins: str, key: str, environment: Mapping[str, str], value: str
) -> None:
    app = with_plugins(kit).load(f"{plugins}beans: {{it: {{type: t.thing, key: '{key}'}}}}", environment)

    async with app:
        assert app.get("it").settings.key.get_secret_value() == value
    assert app.plan.secrets.mask(f"<{value}>") == "<***>"


def test_a_secret_that_nobody_has_is_a_fault(kit: Kit) -> None:
    [fault] = faults_of(with_plugins(kit).load("plugins: [vault]\nbeans: {it: {type: t.thing, key: '${secret:GONE}'}}"))

    assert fault.code == "AF113"


# -- what settings and factories see --------------------------------------------------------------


class LookingSettings(BeanSettings):
    """Settings that look around while they are read."""

    seen: Any = None

    @model_validator(mode="before")
    @classmethod
    def look(cls, values: Any, info: ValidationInfo) -> Any:
        """Note what the validation is told."""
        assert info.context is not None
        return {"seen": (info.context["environment"]["KEY"], dict(info.context["vendor_profiles"]("wire")))}


def looking(kit: Kit, made: list[Any]) -> Kit:
    """With a bean type whose settings and factory note what they see, and a plugin that brings a vendor."""
    module = ModuleType("looking")

    def make(settings: LookingSettings, context: BeanContext) -> Thing:
        made.append((settings.seen, context.environment["KEY"], dict(context.vendor_profiles("wire"))))
        return Thing(context.bean_id, kit.log)

    @hookimpl
    def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
        register(BeanType("looking.thing", LookingSettings, make, Thing, "Looks around."))

    @hookimpl
    def agentforge_vendor_profiles(register: Callable[[str, str, Mapping[str, object]], None]) -> None:
        register("wire", "acme", {"base_url": "https://acme.example"})

    module.agentforge_bean_types = agentforge_bean_types  # type: ignore[attr-defined]
    module.agentforge_vendor_profiles = agentforge_vendor_profiles  # type: ignore[attr-defined]
    kit.add_plugin("looking", module)
    return kit


async def test_settings_and_factories_see_the_variables_and_the_vendors(kit: Kit) -> None:
    """Those of ``.env`` too, below the ones that were given."""
    made: list[Any] = []
    kit.write(".env", "KEY=from the file\nOTHER=too\n")
    app = looking(kit, made).beans("it: {type: looking.thing}", {"SIZE": "8"})

    async with app:
        pass

    [((key, vendors), environment_key, context_vendors)] = made
    assert (key, environment_key) == ("from the file", "from the file")
    assert vendors.keys() == context_vendors.keys() == {"acme"}
    assert (app.plan.environment["OTHER"], app.plan.environment["SIZE"]) == ("too", "8")
    assert "from the file" not in repr(app.plan)


# -- what explains itself -------------------------------------------------------------------------


def test_the_tree_shows_what_was_made_of_the_file(kit: Kit) -> None:
    """Merged, inherited, with placeholders filled and every value's layer; secrets stay secrets."""
    kit.write("app-local.yaml", "beans: {it: {label: local}}")
    text = """
        agentforge: 1
        beans:
          base: {type: t.thing, number: 3, bean: {abstract: true}}
          it: {pin: "${SIZE}", key: "${secret:KEY}", bean: {extends: base}}
          out: {type: t.thing, label: "${GONE}", bean: {when: {profile: prod}}}
    """
    app = kit.load(dedent(text), {"SIZE": "8", "KEY": "sk-123456"}, profiles=["local"], sets=["beans.it.one=null"])

    tree = app.plan.tree
    assert tree is not None
    it = node_at(tree, ("beans", "it"))
    assert it is not None
    shown = to_value(it)
    assert (shown["type"], shown["number"], shown["label"], shown["one"]) == ("t.thing", 3, "local", None)
    assert shown["pin"] == "8"
    assert [node_at(it, (key,)).layer for key in ("number", "label", "one")] == [  # type: ignore[union-attr]
        "file",
        "profile local",
        "command line",
    ]
    assert isinstance(node_at(it, ("key",)), SecretNode)
    assert "sk-123456" not in repr(tree)
    assert node_at(tree, ("beans", "out", "label")).text == "${GONE}"  # type: ignore[union-attr]


def test_a_list_says_why_each_bean_has_its_place(kit: Kit) -> None:
    """The file's own order, or for beans that are found by their type their ``order``."""
    kit.write(
        "container_order.py",
        "class Part: ...\nclass All:\n    def __init__(self, parts: list[Part]) -> None: self.parts = parts\n",
    )
    text = """
        scan: [container_order]
        beans:
          a: {type: component, component: Part}
          b: {type: component, component: Part, bean: {order: 2}}
          c: {type: component, component: Part, bean: {order: -1}}
          all: {type: component, component: All}
          some: {type: component, component: All, arguments: {parts: [b, a]}}
          things: {type: t.thing, needs: [t.alone, {type: t.alone}]}
    """
    plan = kit.load(text).plan
    file = kit.folder / "app.yaml"

    assert plan.beans["all"].arguments["parts"] == ("c", "b", "a")
    assert plan.beans["all"].reasons == {
        "arguments.parts": ("order -1", "order 2", f"no order; declared at {file}:4:3")
    }
    assert plan.beans["some"].reasons == {
        "arguments.parts": (
            f"listed at {file}:8:63",
            f"listed at {file}:8:66",
        )
    }
    assert len(plan.beans["things"].reasons["needs"]) == 2


def test_whoever_is_strict_accepts_no_broken_plugin_but_one_that_the_file_switches_off(kit: Kit) -> None:
    from agentforge.plugin import PluginError

    environment = {"AGENTFORGE_STRICT_PLUGINS": "1"}
    with pytest.raises(PluginError, match="plugin 'broken'"):
        with_plugins(kit).load(MODEL, environment).check()

    app = kit.load("plugins: {disabled: [broken]}\n" + MODEL, environment)
    app.check()
    assert states(app) == {"t": "active", "quiet": "active", "broken": "blocked", "vault": "active"}


def test_the_application_tells_the_warnings_on_plugins_once_it_is_compiled(kit: Kit) -> None:
    app = with_plugins(kit).load("plugins: {optional: [gone]}\n" + MODEL, {"AGENTFORGE_NONSENSE": "x"})

    before, after = app.warnings, (app.check(), app.warnings)[1]

    assert (len(before), len(after)) == (1, 2)
    assert "no plugin 'gone' is installed" in after[1]
