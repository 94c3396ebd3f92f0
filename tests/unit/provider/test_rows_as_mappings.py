"""A row of vendor data as a mapping: what it takes over from the row that it starts from, what it adds, what is wrong
with one, and what an editor learns of it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

from agentforge.errors import ConfigurationError
from agentforge.model import ModelProfile
from agentforge.provider import EndpointRow, EndpointSettings, ThinkingLimits, VendorTable, provider_id
from agentforge.provider.field_notes import field_notes
from agentforge.tool.spec import PORTABLE, STANDARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A part that stands in a list."""

    PATTERNS: ClassVar[tuple[str, ...]] = ("models",)

    #: The models of this family.
    models: str
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(EndpointRow):
    """A row of a wire of its own."""

    families: tuple[Family, ...] = ()


HOUSE = Row(
    name="house",
    base_url="https://api.house.example/v1",
    base_url_variable="HOUSE_URL",
    further_base_urls=("https://eu.house.example/v1",),
    key_variable="HOUSE_KEY",
    key_required=True,
    headers={"x-version": "1"},
    replay_fields=("reasoning",),
    thinking=ThinkingLimits(models="^big", ignores=frozenset({"temperature"})),
    subset=replace(STANDARD, name="house"),
    capabilities=ModelProfile(max_tools=9, seed=False, unsupported={"seed": "drop", "tool_name": "map"}),
)
OTHER = Row(name="generic", capabilities=ModelProfile(max_tools=None))
TABLE = VendorTable("tests", Row, MappingProxyType({"house": HOUSE, "generic": OTHER}), default="house")


def derived(**given: Any) -> Row:
    return TABLE.derived({"name": "desk", **given})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, replace(OTHER, name="desk")),
        ({"like": "house"}, replace(HOUSE, name="desk")),
        ({"like": "house", "replay_fields": ["thoughts"]}, replace(HOUSE, name="desk", replay_fields=("thoughts",))),
        ({"like": "house", "thinking": None}, replace(HOUSE, name="desk", thinking=None)),
        ({"like": "house", "key_required": False}, replace(HOUSE, name="desk", key_required=False)),
        ({"subset": "house"}, replace(OTHER, name="desk", subset=HOUSE.subset)),
        ({"schemas": "portable"}, replace(OTHER, name="desk", schemas=PORTABLE)),
        ({"thinking": {"models": "x"}}, replace(OTHER, name="desk", thinking=ThinkingLimits(models="x"))),
        (
            {"families": [{"models": "^a"}, {"models": "^b", "strict": False}]},
            replace(OTHER, name="desk", families=(Family(models="^a"), Family(models="^b", strict=False))),
        ),
    ],
)
def test_a_mapping_says_what_differs(given: dict[str, Any], expected: Row) -> None:
    """All else is as in the row that it starts from, which is that of unknown endpoints where it says nothing."""
    assert derived(**given) == expected


def test_mappings_inside_add_to_what_is_there() -> None:
    """A header, a policy, a capability, a limit of thinking or of a subset changes no other."""
    row = derived(
        like="house",
        headers={"x-team": "a"},
        thinking={"forced_choice": False},
        subset={"limits": {"levels": 3}},
        capabilities={"max_tools": 3, "tool_choice": ["auto"], "unsupported": {"tool_choice.none": "map"}},
    )
    assert row.headers == {"x-version": "1", "x-team": "a"}
    assert row.thinking == ThinkingLimits(models="^big", forced_choice=False, ignores=frozenset({"temperature"}))
    assert row.subset == replace(HOUSE.subset, limits=replace(STANDARD.limits, levels=3))
    assert row.capabilities == ModelProfile(
        max_tools=3,
        seed=False,
        tool_choice=frozenset({"auto"}),
        unsupported={"seed": "drop", "tool_name": "map", "tool_choice.none": "map"},
    )
    assert HOUSE.headers == {"x-version": "1"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"like": "house"}, ("HOUSE_URL", "HOUSE_KEY", True, HOUSE.further_base_urls)),
        ({"like": "house", "base_url": "https://desk.example"}, (None, None, False, ())),
        ({"like": "house", "base_url": "https://desk.example", "key_variable": "K"}, (None, "K", False, ())),
        ({"like": "house", "base_url": HOUSE.base_url}, ("HOUSE_URL", "HOUSE_KEY", True, HOUSE.further_base_urls)),
        ({"like": "house", "base_url": None}, (None, None, False, ())),
    ],
)
def test_a_row_that_moves_takes_no_key_with_it(given: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """A key is read for the place that it belongs to; and a variable of the old place would lead back there."""
    row = derived(**given)
    assert (row.base_url_variable, row.key_variable, row.key_required, row.further_base_urls) == expected


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        (None, ("HOUSE_KEY", True)),
        ("https://eu.house.example/v1", ("HOUSE_KEY", True)),
        ("https://desk.example/v1", (None, False)),
        ("http://api.house.example/v1", (None, False)),
        ("https://api.house.example:8443/v1", (None, False)),
    ],
)
def test_a_row_that_is_used_elsewhere_takes_no_key_with_it(base_url: str | None, expected: tuple[Any, ...]) -> None:
    """The address of the bean decides as well as one of the row."""
    row = TABLE.row({"like": "house", "name": "desk"}, base_url=base_url)
    named = TABLE.named({"like": "house", "name": "desk"}, {}, base_url)
    assert isinstance(named, Row)
    assert (row.key_variable, row.key_required) == expected == (named.key_variable, named.key_required)

    own = TABLE.row({"like": "house", "name": "desk", "key_variable": "DESK_KEY"}, base_url=base_url)
    assert own.key_variable == "DESK_KEY"


def test_what_a_provider_wants_back_is_kept_apart_by_the_name_and_the_address() -> None:
    """Two beans may each have a row of the same name, so the name of a user's row never stands alone."""
    assert provider_id(derived(), "https://llm.example/v1") == "desk@llm.example/v1"
    like = derived(like="house")
    assert provider_id(like, "https://api.house.example/v1") == "desk@api.house.example/v1"
    one, other = (derived(base_url=f"https://{host}.example/v1") for host in ("one", "other"))
    assert [provider_id(row, row.base_url or "") for row in (one, other)] == [
        "desk@one.example/v1",
        "desk@other.example/v1",
    ]
    assert provider_id(HOUSE, "https://api.house.example/v1") == "house"


def test_a_mapping_may_start_from_a_row_that_a_plugin_brings() -> None:
    """And may not take its name."""
    brought: dict[str, Any] = {"acme": {"base_url": "https://acme.example", "replay_fields": ("r",)}}
    row = TABLE.named({"like": "acme", "name": "desk"}, brought)
    assert isinstance(row, Row)
    assert (row.base_url, row.replay_fields) == ("https://acme.example", ("r",))
    with pytest.raises(ConfigurationError, match="the name 'acme' of the vendor is that of a row"):
        TABLE.named({"name": "acme"}, brought)


def test_a_plugin_may_bring_a_row_that_is_like_one_of_ours() -> None:
    """It says ``like`` as a user does; without the word it starts from nothing."""
    row = TABLE.made("acme", {"like": "house", "base_url": "https://acme.example"})
    assert row == replace(
        HOUSE,
        name="acme",
        base_url="https://acme.example",
        base_url_variable=None,
        further_base_urls=(),
        key_variable=None,
        key_required=False,
    )
    assert TABLE.made("acme", {}) == Row(name="acme")


FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"capabilites": {}}, "unknown setting 'capabilites'", "Did you mean 'capabilities'?"),
    ({"images": True}, "unknown setting 'images'", "Write it inside of 'capabilities'"),
    ({"capabilities": {"imags": True}}, "capabilities: unknown setting 'imags'", "Did you mean 'images'?"),
    ({"capabilities": {"replay": []}}, "capabilities: unknown setting 'replay'", ""),
    ({"capabilities": {"unsupported": {"sede": "map"}}}, "unsupported: unknown setting 'sede'", "'seed'"),
    ({"capabilities": {"tool_choice": ["any"]}}, "'tool_choice.0' is 'auto', 'none'", ""),
    ({"auth": "basic"}, "'auth' is 'bearer', 'api-key' or 'x-api-key'", ""),
    ({"subset": "portabel"}, "'subset' is 'standard', 'portable' or 'house' or a mapping", "'portable'"),
    ({"thinking": {}}, "'thinking' of the vendor needs 'models'", "Add 'models: …'"),
    ({"thinking": {"models": "("}}, "'models' does not fit: it is no regular expression", "single quotes"),
    ({"families": [{}]}, "the setting 'models' is missing", "Add 'models: …'."),
    ({"families": [{"models": "("}]}, "'models' does not fit: it is no regular expression", ""),
    ({"base_url": "ftp://desk.example"}, "base_url is not an http or https address", "https://host/v1"),
    ({"further_base_urls": ["desk"]}, "is not an http or https address", ""),
    ({"call_id_pattern": r"^\d$"}, "no id that is made for a call of another provider would fit", "9"),
    ({"capabilities": {"tool_name_pattern": "^x$"}}, "no alias that is made for another name would fit", ""),
    ({"name": "House"}, "'name' is a text of the form", ""),
    ({"name": "house"}, "the name 'house' of the vendor is that of a row", "like: house starts from that row"),
    ({"like": "hause"}, "there is no vendor row 'hause'", "Did you mean 'house'?"),
    ({"key_variable": 3}, "'key_variable' is a text", ""),
]


@pytest.mark.parametrize(("given", "fault", "step"), FAULTS)
def test_what_is_wrong_is_said_with_what_to_do(given: dict[str, Any], fault: str, step: str) -> None:
    """As in a file, where each also has its place; no value is shown but a name."""
    with pytest.raises(ConfigurationError) as caught:
        derived(**given)
    assert fault in caught.value.message
    assert step in (caught.value.next_step or "")


def test_a_mapping_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="the setting 'name' is missing"):
        TABLE.row({"like": "house"})


def test_several_addresses_of_a_vendor_are_its_own() -> None:
    """Any of them means that row; what a server there wants back is its own all the same."""
    found = TABLE.row(None, base_url="https://eu.house.example/v1")
    assert found is HOUSE
    assert provider_id(found, "https://eu.house.example/v1") == "house@eu.house.example/v1"


class LineSettings(EndpointSettings):
    """The settings of an endpoint of this family."""

    VENDORS = TABLE

    def model_of(self, endpoint: Any) -> None:
        """Nothing is made here."""


def test_the_schema_of_the_settings_describes_a_row() -> None:
    """Each field with its note, so that an editor completes and explains what may stand in a row."""
    schema = LineSettings.model_json_schema()
    named, described, nothing = schema["properties"]["vendor"]["anyOf"]
    row = schema["$defs"][described["$ref"].rpartition("/")[2]]
    assert named == {"anyOf": [{"enum": ["house", "generic"]}, {"type": "string"}]}
    assert nothing == {"type": "null"}
    assert row["required"] == ["name"]
    assert set(row["properties"]) == {"like", *(each.name for each in fields(Row))} - {"named_by_user"}
    assert row["additionalProperties"] is False
    assert row["properties"]["subset"]["description"] == "The part of JSON Schema that strict schemas must stay in."
    assert "default" not in row["properties"]["key_required"]


def test_every_field_of_a_row_has_a_note() -> None:
    """A user who writes one has nothing else to read."""
    for kind in (EndpointRow, ThinkingLimits):
        notes = field_notes(kind)
        assert [each.name for each in fields(kind) if each.name not in ("name", *notes)] == []
    assert field_notes(Row)["key_variable"] == field_notes(EndpointRow)["key_variable"]
    assert field_notes(ModelProfile) == {}
