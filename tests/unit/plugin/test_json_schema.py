"""The schema for editors: it takes what the program takes, and refuses what is wrong at its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
import yaml

from agentforge.model import ChatModel
from agentforge.plugin import BeanSettings, BeanType, Count, Field, Found, Plugins, Ref, Seconds, SecretStr
from agentforge.plugin.json_schema import configuration_schema
from agentforge.tool import ToolSource

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    [*(ROOT / "config").glob("*.yaml"), *(ROOT / "tests" / "config" / "broken").glob("*/twin/agentforge*.yaml")]
)


class Inner(BeanSettings):
    """Settings inside settings, under a name that two types share."""

    share: float = Field(0.5, ge=0, lt=1)
    """A share."""
    spare: Annotated[ChatModel, Ref()] | None = None
    """Who answers when nobody else does."""


class GateSettings(BeanSettings):
    """Every kind of setting."""

    level: Literal["low", "high"]
    """How strict."""
    wait: Seconds | None = None
    """How long."""
    tries: Count = 3
    """How often."""
    open: bool = False
    """Whether."""
    name: str = "gate"
    """What it is called."""
    key: SecretStr = SecretStr("preset")
    """Opens it."""
    inner: Inner = Inner()
    """More."""
    pair: tuple[int, str] = (1, "one")
    """A number and its name."""
    model: Annotated[ChatModel, Ref()] | None = None
    """Who is asked."""
    late: Annotated[Callable[[], ChatModel], Ref()] | None = None
    """Who is asked later."""
    sources: tuple[Annotated[ToolSource, Ref()], ...] = ()
    """Where tools come from."""
    desks: dict[str, Annotated[ToolSource, Ref()]] = Field(default_factory=dict)
    """Where tools come from, by name."""
    hook: Callable[[], None] | None = None
    """Nothing that a file can hold."""


class DoorSettings(BeanSettings):
    """Another type with settings of the same class inside."""

    inner: Inner = Inner()
    """More."""


def types() -> dict[str, BeanType]:
    """The core's and two of a plugin."""
    gate = BeanType("desk.gate", GateSettings, lambda _: object(), ToolSource, "A gate.")
    door = BeanType("desk.door", DoorSettings, lambda _: object(), ToolSource, "A door.")
    return {**Plugins(entry_points=()).builtin_types(), gate.name: gate, door.name: door}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema of these types."""
    return configuration_schema(types())


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft7Validator:
    """What an editor makes of it."""
    return jsonschema_rs.Draft7Validator(schema)


def wrong(validator: jsonschema_rs.Draft7Validator, data: object) -> list[str]:
    """The places that do not fit, in dots, each once."""
    return sorted({".".join(map(str, error.instance_path)) for error in validator.iter_errors(data)})


def beans(text: str) -> dict[str, Any]:
    """A whole configuration of one bean ``b`` and what stands around it."""
    loaded = yaml.safe_load(text)
    return {"agentforge": 1, "beans": {"b": loaded}}


@pytest.fixture(scope="module")
def with_plugins() -> jsonschema_rs.Draft7Validator:
    """The same of the types that the files use."""
    plugins = Plugins(
        entry_points=[
            Found("notes", "tests.config.plugins.notes", "agentforge-plugin-notes", "1"),
            Found("wires", "tests.config.plugins.wires", "agentforge-plugin-wires", "1"),
            Found("openai", "agentforge_openai.plugin", "agentforge-plugin-openai", "1"),
            Found("local", "agentforge_local.plugin", "agentforge-plugin-local", "1"),
        ]
    )
    plugins.load_all()
    known = {name: each for plugin in plugins.names for name, each in plugins.types_of(plugin).items()}
    assert {"notes.pad", "openai.chat", "local.llama"} <= set(known)
    return jsonschema_rs.Draft7Validator(configuration_schema({**plugins.builtin_types(), **known}))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_the_program_takes_fit(with_plugins: jsonschema_rs.Draft7Validator, file: Path) -> None:
    """The project's own, and the valid twin of every broken file."""
    assert wrong(with_plugins, yaml.safe_load(file.read_text())) == []


@pytest.mark.parametrize(
    "bean",
    [
        "{type: desk.gate, level: low}",
        "{type: desk.gate, level: '${LEVEL:high}', tries: '${TRIES}', open: '${OPEN:true}', wait: '${WAIT}'}",
        "{type: desk.gate, level: high, wait: 10s}",
        "{type: desk.gate, level: high, wait: 0.5}",
        "{type: desk.gate, level: high, wait: null}",
        "{type: desk.gate, level: high, wait: 2 Min}",
        "{type: desk.gate, level: high, name: 1.10, key: 98123400, pair: [1, one]}",
        "{type: desk.gate, level: high, inner: {share: 0, spare: other}}",
        "{type: desk.gate, level: high, model: {type: scripted, turns: [Hello.]}, late: {ref: other, provider: true}}",
        "{type: desk.gate, level: high, model: {type: component, component: Model}}",
        "{type: desk.gate, level: high, model: null, sources: [desk, '${DESK}', {type: desk.door}, desk.door]}",
        "{type: desk.gate, level: high, desks: {one: desk, two: {type: desk.gate, level: low}}}",
        "{type: '${TYPE:desk.gate}', level: high, turns: [x]}",
        "{tries: 4, bean: {extends: other}}",
        "{type: desk.gate, bean: {abstract: true}}",
        "{type: scripted, bean: {scope: invocation, lazy: '${LAZY}', order: -1, aliases: [c], depends_on: null}}",
        "{type: scripted, bean: {when: {profile: '!day', property: [A, B=1], plugin: desk, missing_bean: ChatModel}}}",
    ],
)
def test_a_bean_that_fits(validator: jsonschema_rs.Draft7Validator, bean: str) -> None:
    """Every form that the program takes, placeholders among them."""
    assert wrong(validator, beans(bean)) == []


@pytest.mark.parametrize(
    ("bean", "places"),
    [
        ("text", ["beans.b"]),
        ("{level: low}", ["beans.b"]),
        ("{type: desk.gat, level: low}", ["beans.b.type"]),
        ("{type: desk.gate}", ["beans.b"]),
        ("{type: desk.gate, level: low, levl: high}", ["beans.b"]),
        ("{type: desk.gate, level: medium}", ["beans.b.level"]),
        ("{type: desk.gate, level: low, tries: 0}", ["beans.b.tries"]),
        ("{type: desk.gate, level: low, tries: many}", ["beans.b.tries"]),
        ("{type: desk.gate, level: low, open: 3}", ["beans.b.open"]),
        ("{type: desk.gate, level: low, open: $OPEN}", ["beans.b.open"]),
        ("{type: desk.gate, level: low, wait: 0}", ["beans.b.wait"]),
        ("{type: desk.gate, level: low, wait: soon}", ["beans.b.wait"]),
        ("{type: desk.gate, level: low, name: [a]}", ["beans.b.name"]),
        ("{type: desk.gate, level: low, inner: {share: 1, sh: 2}}", ["beans.b.inner", "beans.b.inner.share"]),
        ("{type: desk.gate, level: low, inner: {spare: [other]}}", ["beans.b.inner.spare"]),
        ("{type: desk.gate, level: low, pair: [1, one, 2]}", ["beans.b.pair"]),
        ("{type: desk.gate, level: low, sources: desk}", ["beans.b.sources"]),
        ("{type: desk.gate, level: low, sources: [desk.nothing]}", ["beans.b.sources.0"]),
        ("{type: desk.gate, level: low, model: desk.door}", ["beans.b.model"]),
        ("{type: desk.gate, level: low, model: {type: desk.door}}", ["beans.b.model.type"]),
        ("{type: desk.gate, level: low, model: {type: scripted, turn: []}}", ["beans.b.model"]),
        ("{type: desk.gate, level: low, model: {ref: other, type: scripted}}", ["beans.b.model"]),
        ("{type: desk.gate, level: low, sources: [{type: desk.gate}]}", ["beans.b.sources.0"]),
        ("{type: desk.gate, level: low, desks: [desk]}", ["beans.b.desks"]),
        ("{type: scripted, bean: {lasy: true}}", ["beans.b.bean"]),
        ("{type: scripted, bean: {scope: request, order: first}}", ["beans.b.bean.order", "beans.b.bean.scope"]),
        ("{type: scripted, bean: {when: {profil: day}}}", ["beans.b.bean.when"]),
        ("{tris: 4, bean: {extends: other}}", ["beans.b"]),
    ],
)
def test_a_bean_that_does_not(validator: jsonschema_rs.Draft7Validator, bean: str, places: list[str]) -> None:
    """Is refused where it is wrong, and nowhere else."""
    assert wrong(validator, beans(bean)) == places


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ({"agentforge": 2}, ["agentforge"]),
        ({"bens": {}}, [""]),
        ({"scan": "desk"}, ["scan"]),
        ({"plugins": {"needed": []}}, ["plugins"]),
        ({"beans": {"My-Model": {"type": "scripted"}}}, ["beans"]),
        ({"beans": {"two__lines": {"type": "scripted"}}}, ["beans"]),
        ({"beans": {"app": {"type": "scripted"}}}, ["beans"]),
        ({"beans": {"scripted": {"type": "scripted"}}}, ["beans"]),
        ({"plugins": ["otel"], "scan": [], "include": ["common.yaml"], "beans": None}, []),
        ({"plugins": {"required": ["a"], "optional": None, "disabled": [], "only": ["a"]}}, []),
        ({}, []),
    ],
)
def test_the_root(validator: jsonschema_rs.Draft7Validator, data: dict[str, Any], places: list[str]) -> None:
    """Its keys, the names of beans, the switches of plugins."""
    assert wrong(validator, data) == places


@pytest.mark.parametrize(
    ("root", "places"),
    [
        ({"agentforge": 1}, ["beans.b"]),
        ({}, []),
        ({"agentforge": 1, "include": ["common.yaml"]}, []),
    ],
    ids=["whole", "a profile", "with a file below"],
)
def test_only_in_a_whole_file_must_a_bean_be_whole(
    validator: jsonschema_rs.Draft7Validator, root: dict[str, Any], places: list[str]
) -> None:
    """Elsewhere its type and settings may stand in another file; a misspelt setting is one everywhere."""
    assert wrong(validator, {**root, "beans": {"b": {"tries": 4}}}) == places
    assert wrong(validator, {**root, "beans": {"b": {"type": "desk.gate"}}}) == places
    assert wrong(validator, {**root, "beans": {"b": {"tris": 4}}}) == ["beans.b"]


def test_every_setting_is_described_and_nothing_has_a_title(schema: dict[str, Any]) -> None:
    """A title would be what an editor offers and shows instead of the name."""
    for name, definition in schema["definitions"].items():
        for key, setting in definition.get("properties", {}).items():
            if setting and key not in ("type", "bean"):
                assert setting.get("description"), f"{name}.{key}"
    assert not any(key == "title" for key, _ in keys_of(schema))


def test_defaults_are_shown_but_never_those_of_secrets(schema: dict[str, Any]) -> None:
    """A preset key is nobody's to read."""
    gate = schema["definitions"]["desk.gate"]["properties"]

    assert (gate["tries"]["default"], gate["open"]["default"], gate["wait"]["default"]) == (3, False, None)
    assert "default" not in gate["key"] and "preset" not in json.dumps(schema)


def test_it_is_draft_7(schema: dict[str, Any]) -> None:
    """Definitions under their old name, nothing beside a reference, every reference leads somewhere, and no words
    that only later drafts have."""
    jsonschema_rs.Draft7Validator(schema)
    for holder, value in ((holder, value) for key, value, holder in keys_and_holders(schema) if key == "$ref"):
        assert set(holder) == {"$ref"}
        assert re.sub("^#/definitions/", "", value) in schema["definitions"], value
    words = {key for key, _ in keys_of(schema)}
    assert not words & {"$defs", "prefixItems", "dependentRequired", "unevaluatedProperties", "gt", "ge", "lt", "le"}


def test_the_same_types_give_the_same_text() -> None:
    """In whatever order plugins were found."""
    turned = dict(reversed(types().items()))

    assert json.dumps(configuration_schema(types())) == json.dumps(configuration_schema(turned))


def test_two_types_may_have_settings_of_one_name_inside(schema: dict[str, Any]) -> None:
    """Each its own definition."""
    assert {"desk.gate:Inner", "desk.door:Inner"} <= set(schema["definitions"])


def keys_and_holders(value: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Every keyword of a schema, its value and where it stands; names of properties are no keywords."""
    if isinstance(value, list):
        for item in value:
            yield from keys_and_holders(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key, item, value
            if key in ("properties", "definitions"):
                for inner in item.values():
                    yield from keys_and_holders(inner)
            elif key not in ("default", "enum", "const"):
                yield from keys_and_holders(item)


def keys_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Every keyword of a schema with its value."""
    return ((key, item) for key, item, _ in keys_and_holders(value))
