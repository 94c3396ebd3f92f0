"""A value that does not fit its setting: what belongs there, what stands there, what to do; in our words."""

from __future__ import annotations

from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from agentforge.config import ConfigurationFaults, Reporter, from_mapping, read_yaml, report_validation, value_for
from agentforge.config.misfit import read_misfit, sentence
from agentforge.config.settings import AgentForgeSettings


class Base(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid")


class Auth(Base):
    """Settings inside settings."""

    bearer: SecretStr
    scheme: Literal["basic", "digest"] = "basic"


class Cat(Base):
    """One of two kinds."""

    kind: Literal["cat"]
    lives: int = 9


class Dog(Base):
    """The other."""

    kind: Literal["dog"]


class Colour(Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


class Settings(Base):
    """A field of every kind that a settings model may have."""

    text: str = ""
    words: tuple[str, ...] = ()
    whole: int = 0
    count: Annotated[int, Field(ge=1)] = 1
    share: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.5
    few: Annotated[int, Field(le=9, multiple_of=3)] = 3
    maybe: int | None = None
    flag: bool = False
    mode: Literal["native", "json_schema"] = "native"
    colour: Colour = Colour.RED
    auth: Auth | None = None
    either: int | list[str] = 0
    secret: SecretStr | Auth | None = None
    code: Annotated[str, Field(pattern="^a+$")] = "a"
    some: Annotated[list[int], Field(min_length=1, max_length=2)] = [1]
    word: Annotated[str, Field(min_length=1, max_length=3)] = "a"
    day: date | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    table: dict[str, int] = {}
    pair: tuple[int, str] = (1, "a")
    beast: Cat | Dog | None = None
    folder: Path = Path()
    nothing: None = None


def faults(text: str) -> list[tuple[str, str, str | None]]:
    """Path, message and advice of each fault of these settings."""
    node = read_yaml(text, "app.yaml", layer="file")
    assert node is not None
    reporter = Reporter({"app.yaml": text})
    with pytest.raises(ValidationError) as raised:
        Settings.model_validate(value_for(node, Settings))
    report_validation(raised.value, node, Settings, reporter, path="x")
    return [(fault.path.removeprefix("x."), fault.message, fault.next_step) for fault in reporter.diagnostics]


_TEXT = "Write one text, in quotes if it holds brackets or a colon."
_DIGITS = "Write digits, such as 8."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("text: [a]", ("text", "'text' is a text, not a list", _TEXT)),
        ("text: null\nfolder: {}", ("folder", "'folder' is a text, not a mapping", _TEXT)),
        ("words: a", ("words", "'words' is a list, not a text", "Write a list: [first, second].")),
        ("words: [a, {b: c}]", ("words.1", "'words.1' is a text, not a mapping", _TEXT)),
        ("whole: many", ("whole", "'whole' is a whole number, not a text", _DIGITS)),
        ("whole: 1.5", ("whole", "'whole' is a whole number, not a number with a fraction", _DIGITS)),
        ("whole: ", ("whole", "'whole' is a whole number, not nothing", _DIGITS)),
        ("count: 0", ("count", "'count' is at least 1, and this number is less", "Write a number that is at least 1.")),
        (
            "share: 0",
            ("share", "'share' is more than 0, and this number is not", "Write a number that is more than 0."),
        ),
        (
            "share: 1",
            ("share", "'share' is less than 1, and this number is not", "Write a number that is less than 1."),
        ),
        ("share: .inf", ("share", "'share' is a finite number, and this one is not", "Write a number with digits.")),
        ("share: x", ("share", "'share' is a number, not a text", "Write a number, such as 0.5.")),
        ("few: 12", ("few", "'few' is at most 9, and this number is more", "Write a number that is at most 9.")),
        (
            "few: 4",
            ("few", "'few' is a multiple of 3, and this number is not", "Write a number that is a multiple of 3."),
        ),
        ("maybe: {}", ("maybe", "'maybe' is a whole number, not a mapping", _DIGITS)),
        ("flag: 7", ("flag", "'flag' is true or false, not a whole number", "Write true or false.")),
        ("flag: maybe", ("flag", "'flag' is true or false, not a text", "Write true or false.")),
        (
            "mode: natve",
            ("mode", "'mode' is 'native' or 'json_schema', and this is something else", "Did you mean 'native'?"),
        ),
        (
            "mode: [native]",
            ("mode", "'mode' is 'native' or 'json_schema', not a list", "Write 'native' or 'json_schema'."),
        ),
        (
            "colour: 8",
            ("colour", "'colour' is 'red' or 'blue', and this is something else", "Write 'red' or 'blue'."),
        ),
        ("auth: basic", ("auth", "'auth' is a mapping, not a text", "Write a mapping: {key: value}.")),
        (
            "auth: {bearer: a, scheme: bsic}",
            (
                "auth.scheme",
                "'scheme' is 'basic' or 'digest', and this is something else",
                "Did you mean 'basic'?",
            ),
        ),
        ("either: {}", ("either", "'either' is a whole number or a list, not a mapping", None)),
        ("either: [[]]", ("either.0", "'either.0' is a text, not a list", _TEXT)),
        ("secret: [a]", ("secret", "'secret' is a text or a mapping, not a list", None)),
        ("secret: {scheme: basic}", ("secret.bearer", "the setting 'bearer' is missing", "Add 'bearer: …'.")),
        ("code: b", ("code", "'code' is a text of the form ^a+$, and this one is not", "Correct the text.")),
        ("some: []", ("some", "'some' has at least 1 item, and this one has 0", "Write at least 1 item.")),
        ("some: [1, 2, 3]", ("some", "'some' has at most 2 items, and this one has 3", "Write at most 2 items.")),
        (
            "word: ''",
            ("word", "'word' has at least 1 character, and this one has fewer", "Write at least 1 character."),
        ),
        (
            "word: long",
            ("word", "'word' has at most 3 characters, and this one has more", "Write at most 3 characters."),
        ),
        ("day: soon", ("day", "'day' is a valid date or datetime, not a text", None)),
        (
            "pet: {kind: cow}",
            (
                "pet",
                "'pet' is a mapping of a known kind, and its 'kind' says none",
                "Add 'kind' with one of 'cat', 'dog'.",
            ),
        ),
        ("pet: {}", ("pet", "'pet' is a mapping of a known kind, and its 'kind' says none", "Add 'kind'.")),
        ("pet: {kind: cat, lives: x}", ("pet.lives", "'lives' is a whole number, not a text", _DIGITS)),
        ("table: {a: b}", ("table.a", "'a' is a whole number, not a text", _DIGITS)),
        ("pair: [1]", ("pair.1", "the setting 'pair.1' is missing", "Write one item more.")),
        ("beast: {kind: cat, lives: x}", ("beast.lives", "'lives' is a whole number, not a text", _DIGITS)),
        ("nothing: 1", ("nothing", "'nothing' is nothing, not a whole number", "Write null, or leave the key out.")),
    ],
)
def test_a_value_that_does_not_fit_is_told_what_would(text: str, fault: tuple[str, str, str | None]) -> None:
    """One fault a value, a union's too; the path and the name are those of the file."""
    assert faults(text) == [fault]


def test_nearly_all_of_them_at_once() -> None:
    """Each at its own place, whatever the order in which the model finds them."""
    found = faults("auth: {scheme: x}\nwhole: x\nwords: [[], a, []]\n")

    assert [path for path, _, _ in found] == ["words.0", "words.2", "whole", "auth.bearer", "auth.scheme"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.sampled_from(["", "native", "cat", "t0p-secret", "1.5"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*Settings.model_fields, "bearer", "kind", "str", "int"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(list(Settings.model_fields)), _VALUES, max_size=6))
def test_no_words_of_the_library_and_no_value_are_ever_shown(data: dict[str, object]) -> None:
    """Whatever stands there; and every path leads to a value or to the key that is missing."""
    node = from_mapping(data)
    reporter = Reporter()
    try:
        Settings.model_validate(value_for(node, Settings))
    except ValidationError as error:
        report_validation(error, node, Settings, reporter, path="x")
        assert reporter.diagnostics

    for fault in reporter.diagnostics:
        shown = f"{fault.message} {fault.next_step}"
        assert not any(word in shown for word in ("Input should", "t0p-secret", "valid string", "Extra inputs"))
        value: object = data
        for step in fault.path.split(".")[1 : -1 if fault.code == "AF109" else None]:
            value = value[int(step)] if isinstance(value, list) else value[step]  # type: ignore[index]


def test_a_validators_own_words_are_kept() -> None:
    """Behind the name of the setting, without what the library puts in front."""
    misfit = read_misfit({"type": "value_error", "msg": "Value error, it is too late"})

    assert sentence("time", [misfit], "a text") == ("'time' does not fit: it is too late", None)


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("Input should be a valid URL, relative URL without a base", "'x' is a valid URL, not a text"),
        ("Input should have timezone info", "'x' does not fit: should have timezone info"),
    ],
)
def test_what_is_rare_is_said_shortly(message: str, meant: str) -> None:
    assert sentence("x", [read_misfit({"type": "rare", "msg": message})], "a text")[0] == meant


def test_the_programs_own_settings_speak_alike() -> None:
    with pytest.raises(ConfigurationFaults) as raised:
        AgentForgeSettings.read({"AGENTFORGE_LOG_LEVEL": "debg", "AGENTFORGE_STRICT_PLUGINS": "perhaps"})

    assert [(fault.message, fault.next_step) for fault in raised.value.diagnostics] == [
        (
            "'AGENTFORGE_LOG_LEVEL' is 'debug', 'info', 'warning', 'error' or 'critical', and this is something else",
            "Did you mean 'debug'?",
        ),
        ("'AGENTFORGE_STRICT_PLUGINS' is true or false, not a text", "Write true or false."),
    ]
