"""Settings models and nodes: values read as declared, errors at their places, no value shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from agentforge.config import (
    ConfigurationFaults,
    MappingNode,
    Reporter,
    mark_of,
    read_yaml,
    report_validation,
    value_for,
)
from agentforge.config.fitting import hide_secrets
from agentforge.masking import Secrets


class Auth(BaseModel):
    """Credentials."""

    model_config = ConfigDict(extra="forbid")

    bearer: SecretStr
    scheme: str = "x"


class Settings(BaseModel):
    """A model with every kind of field that matters here."""

    model_config = ConfigDict(extra="forbid")

    name: str = ""
    key: SecretStr | None = None
    pin: SecretStr | None = None
    count: int = 0
    ratio: float | None = None
    flag: bool = False
    mode: Literal["1", "2"] = "1"
    folder: Path = Path()
    either: int | str = 0
    words: list[str] = []
    pair: tuple[str, int] = ("", 0)
    table: dict[str, str] = {}
    free: Any = None
    auth: Auth | None = None
    alias: Annotated[str, Field(alias="as")] = ""

    @field_validator("name")
    @classmethod
    def _no_spaces(cls, value: str) -> str:
        if " " in value:
            raise ValueError(f"{value!r} has a space")
        return value


def node(text: str) -> MappingNode:
    """The settings of a text."""
    found = read_yaml(text, "app.yaml", layer="file")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "field", "meant"),
    [
        ("name: 0123", "name", "0123"),
        ("name: 1.10", "name", "1.10"),
        ("name: true", "name", "true"),
        ("name: null", "name", "null"),
        ("name: no", "name", "no"),
        ("key: 98123400", "key", SecretStr("98123400")),
        ("key: null", "key", None),
        ("key: ", "key", None),
        ("count: 8", "count", 8),
        ("count: '8'", "count", 8),
        ("ratio: 1e3", "ratio", 1000.0),
        ("flag: true", "flag", True),
        ("mode: 2", "mode", "2"),
        ("folder: 7", "folder", Path("7")),
        ("either: 7", "either", 7),
        ("either: true", "either", "true"),
        ("words: [1, on, 2.50]", "words", ["1", "on", "2.50"]),
        ("pair: [1, 2]", "pair", ("1", 2)),
        ("table: {a: 1, b: 007}", "table", {"a": "1", "b": "007"}),
        ("free: {a: 1, b: [no, '1']}", "free", {"a": 1, "b": ["no", "1"]}),
        ("auth: {bearer: 123, scheme: 4}", "auth", Auth(bearer=SecretStr("123"), scheme="4")),
        ("as: 5", "alias", "5"),
    ],
)
def test_a_plain_value_is_read_as_its_field_is_declared(text: str, field: str, meant: object) -> None:
    settings = Settings.model_validate(value_for(node(text), Settings))

    assert getattr(settings, field) == meant


def faults(text: str) -> list[tuple[str, str, str, str | None]]:
    """Code, place, message and advice of every fault of these settings."""
    given = node(text)
    reporter = Reporter({"app.yaml": text})
    with pytest.raises(ValidationError) as raised:
        Settings.model_validate(value_for(given, Settings))
    report_validation(raised.value, given, Settings, reporter, path="beans.x", secrets=Secrets(["hunter 2"]))
    return [(fault.code, str(fault.mark), fault.message, fault.next_step) for fault in reporter.diagnostics]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nmae: x", ("AF107", "app.yaml:1:1", "unknown setting 'nmae'", "Did you mean 'name'?")),
        (
            "auth:\n  berer: x\n  bearer: y",
            ("AF107", "app.yaml:2:3", "unknown setting 'berer'", "Did you mean 'bearer'?"),
        ),
        (
            "bearer: x",
            ("AF107", "app.yaml:1:1", "unknown setting 'bearer'", "Write it inside of 'auth': 'auth: {bearer: …}'."),
        ),
        (
            "scheem: x",
            (
                "AF107",
                "app.yaml:1:1",
                "unknown setting 'scheem'",
                "Did you mean 'scheme'? Write 'auth: {scheme: …}'.",
            ),
        ),
        ("auth:\n  scheme: x", ("AF109", "app.yaml:2:3", "the setting 'bearer' is missing", "Add 'bearer: …'.")),
        (
            "words:\n  - a\n  - [b]",
            (
                "AF108",
                "app.yaml:3:5",
                "'words.1' is a text, not a list",
                "Write one text, in quotes if it holds brackets or a colon.",
            ),
        ),
        (
            "mode: 3",
            ("AF108", "app.yaml:1:7", "'mode' is '1' or '2', and this is something else", "Write '1' or '2'."),
        ),
        (
            "name: hunter 2",
            ("AF108", "app.yaml:1:7", "'name' does not fit: '***' has a space", None),
        ),
    ],
)
def test_an_error_of_the_model_is_a_fault_at_its_place(text: str, fault: tuple[str, str, str, str | None]) -> None:
    assert faults(text) == [fault]


def test_no_excerpt_shows_what_stands_for_a_secret_field() -> None:
    """Wherever it stands on the lines that are shown; columns stay right."""
    text = "{auth: {bearer: [t0psecret, t0psecret]}, count: t0psecret, name: [x]}"
    given = node(text)
    reporter = Reporter({"app.yaml": text})

    hide_secrets(given, Settings, reporter)
    reporter.report("AF108", "wrong", given.entries["name"].node.mark)

    with pytest.raises(Exception, match=r"wrong") as raised:
        reporter.raise_if_any()
    assert "t0psecret" not in str(raised.value)
    assert f"{'name: [x]}'.rjust(len(text))[-10:]}" in str(raised.value)


@pytest.mark.parametrize("written", ["[s3c]", '["t0p\\x73ecret"]'])
def test_what_does_not_fit_a_secret_field_is_not_shown(written: str) -> None:
    """However it is written: too short to be hidden elsewhere, or not as it reads."""
    text = f"{{name: a, pin: {written}}}"
    given = node(text)
    reporter = Reporter({"app.yaml": text})
    with pytest.raises(ValidationError) as invalid:
        Settings.model_validate(value_for(given, Settings))
    report_validation(invalid.value, given, Settings, reporter, path="beans.x")

    with pytest.raises(ConfigurationFaults) as raised:
        reporter.raise_if_any()
    assert "{name: a, pin: ***" in str(raised.value)
    assert not any(word in str(raised.value) for word in ("s3c", "t0p", "ecret"))


def test_the_place_of_what_is_not_there_is_the_last_that_is() -> None:
    given = node("auth:\n  scheme: [a, b]")
    ways: list[list[str | int]] = [[], ["auth"], ["auth", "scheme", 1], ["auth", "x", "y"]]

    assert [str(mark_of(given, way)) for way in ways] == [
        "app.yaml:1:1",
        "app.yaml:2:3",
        "app.yaml:2:15",
        "app.yaml:2:3",
    ]
