"""What the settings of a bean are, whoever gives them, and what the plan of a configuration says."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import ScriptedChatModel
from agentforge.container import AgentForge, BeanNotFoundError, ContextStateError
from agentforge.plugin import PluginError
from tests.unit.container.kit import Kit, Thing, faults_of

CLIENT = """
beans:
  model: {type: scripted, turns: [from the file]}
  other: {type: scripted, turns: [from the other]}
  bot: {type: chat_client, model: model}
"""

#: The same file, and what is given beside it.
ANOTHER_MODEL: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "from the file"),
    "a variable for the reference": ({"environment": {"AGENTFORGE_BEANS__BOT__MODEL": "other"}}, "from the other"),
    "a variable for the model": (
        {"environment": {"AGENTFORGE_BEANS__MODEL__TURNS": "[from the environment]"}},
        "from the environment",
    ),
    "the command line": ({"sets": ["beans.bot.model=other"]}, "from the other"),
    "the command line, the model in place": (
        {"sets": ["beans.bot.model={type: scripted, turns: [in place]}"]},
        "in place",
    ),
    "a profile": ({"profiles": ["quiet"]}, "from the profile"),
    "a variable that names the profile": ({"environment": {"AGENTFORGE_PROFILES": "quiet"}}, "from the profile"),
}


@pytest.mark.parametrize(("options", "answer"), ANOTHER_MODEL.values(), ids=ANOTHER_MODEL.keys())
def test_another_model_is_a_change_of_configuration_only(kit: Kit, options: dict[str, Any], answer: str) -> None:
    kit.write("app-quiet.yaml", "beans: {model: {turns: [from the profile]}}")

    with kit.load(CLIENT, **options) as app:
        assert app.get("bot").chat_sync("Hi").text == answer


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("AGENTFORGE_BEANS__BOT__MODEL=other", "from the other"),
        ("AGENTFORGE_PROFILES=quiet", "from the profile"),
    ],
)
def test_the_env_file_beside_the_configuration_changes_the_model_too(kit: Kit, line: str, answer: str) -> None:
    kit.write("app-quiet.yaml", "beans: {model: {turns: [from the profile]}}")
    kit.write(".env", line + "\n")

    with kit.load(CLIENT) as app:
        assert app.get("bot").chat_sync("Hi").text == answer


#: Each layer lies over those below it.
LAYERS = (
    ("default", ""),
    ("include", "included"),
    ("file", "file"),
    ("profile", "profile"),
    ("dotenv", "dotenv"),
    ("environment", "environment"),
    ("set", "command line"),
)


@pytest.mark.parametrize("highest", range(len(LAYERS)), ids=[name for name, _ in LAYERS])
async def test_each_layer_is_over_those_before_it(kit: Kit, highest: int) -> None:
    given = {name for name, _ in LAYERS[: highest + 1]}
    label = "AGENTFORGE_BEANS__A__LABEL"
    kit.write("more.yaml", f"beans: {{a: {{type: t.thing{', label: included' if 'include' in given else ''}}}}}")
    kit.write("app-high.yaml", "beans: {a: {label: profile}}" if "profile" in given else "agentforge: 1")
    kit.write(".env", f"{label}=dotenv\n" if "dotenv" in given else "")
    app = kit.load(
        "include: [more.yaml]\n" + ("beans: {a: {label: file}}" if "file" in given else ""),
        {label: "environment"} if "environment" in given else {},
        profiles=["high"],
        sets=["beans.a.label=command line"] if "set" in given else [],
    )

    async with app:
        assert app.get("a").settings.label == LAYERS[highest][1]


async def test_later_profiles_and_later_sets_are_over_earlier_ones(kit: Kit) -> None:
    kit.write("app-one.yaml", "beans: {a: {label: one, number: 1}}")
    kit.write("app-two.yaml", "beans: {a: {label: two}}")

    async with kit.beans(
        "a: {type: t.thing}", profiles=["one", "two"], sets=["beans.a.number=2", "beans.a.number=3"]
    ) as app:
        assert (app.get("a").settings.label, app.get("a").settings.number) == ("two", 3)


async def test_values_are_read_as_the_fields_declare_them(kit: Kit) -> None:
    """Digits stay text where text is declared; a placeholder's text becomes the number that is wanted."""
    async with kit.beans('a: {type: t.thing, label: 0123, number: "${N}", key: 98123400}', {"N": "8"}) as app:
        found = app.get("a").settings
        assert (found.label, found.number, found.key.get_secret_value()) == ("0123", 8, "98123400")


async def test_a_mapping_of_the_program_hears_no_variables_of_ours_but_fills_placeholders(kit: Kit) -> None:
    environment = {"AGENTFORGE_BEANS__A__LABEL": "outside", "NAME": "filled"}
    app = AgentForge.from_mapping(
        {"beans": {"a": {"type": "t.thing", "label": "${NAME}"}}}, environment=environment, plugins=kit.plugins()
    )

    async with app:
        assert app.get("a").settings.label == "filled"


def test_warnings_name_variables_without_effect(kit: Kit) -> None:
    app = kit.beans("a: {type: t.thing}", {"AGENTFORGE_BEAN__A__LABEL": "x"})

    assert app.warnings == app.plan.warnings
    assert "did you mean AGENTFORGE_BEANS__A__LABEL?" in app.warnings[0]


def test_a_plan_says_what_is_built_in_which_order_and_makes_nothing(kit: Kit) -> None:
    app = kit.beans("""
        client: {type: t.thing, one: store, needs: [{type: t.alone}], bean: {aliases: [me]}}
        late: {type: t.thing, bean: {lazy: true, depends_on: [me]}}
        store: {type: t.plain, key: sk-12345678}
    """)

    plan = app.plan

    assert repr(plan) == "Plan(client.needs.0 -> store -> client -> late)"
    assert app.bean_ids == plan.declared == ("client", "late", "store")
    assert plan.beans["client"].needs == ("client.needs.0", "store")
    assert plan.beans["late"].needs == ("client",)
    assert (plan.beans["client.needs.0"].anonymous, plan.beans["late"].lazy) == (True, True)
    assert plan.id_of("me") == "client"
    assert plan.id_of("client.needs.0") is None
    assert str(plan.beans["store"]) == f"PlannedBean('store', 't.plain', at {kit.folder / 'app.yaml'}:5:3)"
    assert "12345678" not in f"{plan!r} {plan.beans!r} {app!r} {plan.secrets!r} {plan.beans['store'].settings!r}"
    assert kit.log == []


def test_what_a_plugin_s_settings_hold_as_a_secret_is_masked_wherever_it_came_from(kit: Kit) -> None:
    """So that no error of a factory or of a tool shows it."""
    app = kit.beans(
        "a: {type: t.thing, key: from-file}\n"
        'b: {type: t.thing, key: "${KEY}"}\nc: {type: t.thing, key: "${secret:KEY2}"}',
        {"KEY": "from-variable", "KEY2": "from-secret"},
    )

    assert app.plan.secrets.mask("from-file from-variable from-secret other") == "*** *** *** other"


# -- another bean in the place of a declared one ------------------------------------------------------


async def test_an_overridden_bean_is_used_wherever_it_was_declared(kit: Kit) -> None:
    """Under its id and its aliases, by those who name it, and as the primary one; it is not started nor closed."""
    beans = """
        store: {type: t.plain, bean: {primary: true, aliases: [shop]}}
        second: {type: t.plain}
        client: {type: t.thing, one: store, needs: [shop, second]}
    """
    mine = Thing("mine", [])
    app = kit.beans(beans)
    app.check()  # what was compiled before does not stay

    async with app.override("store", mine):
        assert app.get("client").shape == "client(needs=[mine, second], one=mine)"
        assert app.get("store") is app.get("shop") is app.get(Thing) is mine

    assert mine.log == ["make mine"]
    async with kit.beans(beans) as another:
        assert another.get("client").shape == "client(needs=[store, second], one=store)"


FAULTY = {
    "a variable that is not set": "store: {type: t.thing, label: '${UNSET}', bean: {aliases: [shop]}}",
    "an unknown type": "store: {type: t.thign, bean: {aliases: [shop]}}",
    "a plugin that is not installed": "store: {type: local.llama, bean: {aliases: [shop]}}",
    "bad settings": "store: {type: t.thing, number: x, lable: y, one: nobody, bean: {aliases: [shop]}}",
    "no type": "store: {type: null, bean: {aliases: [shop]}}",
    "a circle": "store: {type: t.thing, one: client, bean: {aliases: [shop], depends_on: [client]}}",
}


@pytest.mark.parametrize("store", FAULTY.values(), ids=FAULTY.keys())
async def test_what_is_wrong_with_an_overridden_bean_does_not_matter(kit: Kit, store: str) -> None:
    beans = f"{store}\nclient: {{type: t.thing, one: shop}}"
    assert faults_of(kit.beans(beans))

    async with kit.beans(beans).override("store", Thing("mine", [])) as app:
        assert app.get("client").shape == "client(one=mine)"


async def test_an_overriding_object_stands_where_the_bean_stood(kit: Kit) -> None:
    """A list of all beans of a kind keeps its order."""
    app = kit.beans("first: {type: t.thing}\nsecond: {type: t.thing}").override("second", Thing("mine", []))

    assert app.bean_ids == ("first", "second")
    assert tuple(app.plan.beans) == ("first", "second")


def test_an_overriding_object_has_to_fit(kit: Kit) -> None:
    app = kit.beans("store: {type: t.thing}\nclient: {type: t.thing, one: store}").override("store", 5)

    [fault] = faults_of(app)
    assert fault.message == "'one' needs a Thing, and 'store' is an int"


def test_an_overridden_bean_must_be_declared(kit: Kit) -> None:
    with pytest.raises(BeanNotFoundError, match="no bean is called 'stroe'") as raised:
        kit.beans("store: {type: t.thing}").override("stroe", 5)

    assert raised.value.next_step == "Did you mean 'store'?"
    assert isinstance(raised.value, LookupError)


async def test_a_bean_cannot_be_overridden_after_the_start_nor_after_the_end(kit: Kit) -> None:
    async with kit.beans("store: {type: t.thing}") as app:
        with pytest.raises(
            ContextStateError, match="the bean 'store' cannot be overridden: the application has started"
        ):
            app.override("store", 5)
    with pytest.raises(ContextStateError):
        app.override("store", 5)


def test_a_scripted_model_takes_the_place_of_the_real_one_in_a_test(kit: Kit) -> None:
    beans = 'model: {type: openai.chat, api_key: "${secret:OPENAI_API_KEY}"}\nbot: {type: chat_client, model: model}'

    with kit.beans(beans).override("model", ScriptedChatModel(["Hello."])) as app:
        assert app.get("bot").chat_sync("Hi").text == "Hello."


def test_strict_plugins_refuse_one_that_is_broken(kit: Kit) -> None:
    kit.add_plugin("old", type("Old", (), {"AGENTFORGE_API": (9, 0)}))

    with pytest.raises(PluginError, match="'old'"):
        kit.beans("a: {type: t.thing}", {"AGENTFORGE_STRICT_PLUGINS": "true"}).check()
    kit.beans("a: {type: t.thing}").check()


LISTED = {
    "that is broken": ("broken", "ImportError: redis", "Correct or remove it, or take it out of 'plugins'."),
    "that is not installed": ("brocken", "no plugin 'brocken' is installed", "Did you mean 'broken'?"),
}


@pytest.mark.parametrize(("name", "message", "step"), LISTED.values(), ids=LISTED.keys())
def test_a_plugin_in_the_list_has_to_be_there(kit: Kit, name: str, message: str, step: str) -> None:
    """One that only observes would be missed by nobody."""
    kit.add_plugin("broken", ImportError("redis"))

    [fault] = faults_of(kit.load(f"plugins:\n- {name}\n"))

    assert (fault.code, fault.path, fault.next_step) == ("AF201", "plugins", step)
    assert message in fault.message
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:2:3"
    kit.load("beans: {a: {type: t.thing}}").check()
