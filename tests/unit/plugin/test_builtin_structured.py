"""The form of answers from a file: a schema in place or beside it, and what cannot be is found by `check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.advisor import StructuredOutputAdvisor, StructuredOutputError
from agentforge.client import ChatClient
from agentforge.config import ConfigurationFaults

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GOOD = '{"city": "Oslo"}'


def beans(turns: list[str], **settings: Any) -> dict[str, Any]:
    return {
        "beans": {
            "model": {"type": "scripted", "turns": turns},
            "form": {"type": "structured_output", **settings},
            "assistant": {"type": "chat_client", "model": "model", "advisors": ["form"]},
        }
    }


async def test_a_schema_in_the_file_is_the_form_of_every_answer() -> None:
    data = beans(["no", GOOD], json_schema=SCHEMA, mode="prompt", max_reprompts=1)
    async with AgentForge.from_mapping(data) as app:
        advisor = app.get(StructuredOutputAdvisor)
        reply = await app.get(ChatClient).prompt("Where?").call()

    assert (advisor.mode, advisor.max_reprompts) == ("prompt", 1)
    assert advisor.output.parse(reply.content) == {"city": "Oslo"}


async def test_an_answer_that_does_not_fit_is_asked_for_twice_again_by_default() -> None:
    async with AgentForge.from_mapping(beans(["no"] * 3, json_schema=SCHEMA)) as app:
        with pytest.raises(StructuredOutputError) as raised:
            await app.get(ChatClient).prompt("Where?").call()

    assert raised.value.attempts == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("city.json", '{"type": "object", "properties": {"city": {"type": "string"}}}'),
        ("city.yaml", "type: object\nproperties:\n  city: {type: string}\n"),
    ],
)
async def test_a_schema_may_stand_in_a_file_beside_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    async with AgentForge.from_mapping(beans([GOOD], file=name), folder=tmp_path) as app:
        assert (await app.get(ChatClient).prompt("Where?").call()).content == GOOD


# settings, what the file `city.json` holds, where the fault is, what is said
FAULTS: list[tuple[dict[str, Any], str | None, str, str]] = [
    ({}, None, "beans.form", "give either json_schema or file"),
    ({"json_schema": SCHEMA, "file": "city.json"}, "{}", "beans.form", "give either json_schema or file"),
    ({"json_schema": {"type": "town"}}, None, "beans.form", "not a JSON Schema that can be checked"),
    ({"json_schema": SCHEMA, "mode": "often"}, None, "beans.form.mode", "'auto', 'native', 'tool' or 'prompt'"),
    ({"json_schema": SCHEMA, "max_reprompts": -1}, None, "beans.form.max_reprompts", "is at least 0"),
    ({"file": "city.json"}, None, "beans.form.file", "cannot be read: No such file"),
    ({"file": "city.json"}, "{", "beans.form.file", "is not valid JSON, line 1"),
    ({"file": "city.json"}, "[1]", "beans.form.file", "holds no JSON object"),
    ({"file": "city.json"}, '{"type": "town"}', "beans.form.file", "not a JSON Schema that can be checked"),
    ({"file": "city.json"}, " " * (1024 * 1024 + 1), "beans.form.file", "larger than 1 MiB"),
    ({"file": "city.json"}, "\udcff", "beans.form.file", "is not valid JSON"),
    ({"file": "city.json"}, "[" * 100_000, "beans.form.file", "is not valid JSON"),
    ({"file": "city.yaml"}, "a: [", "beans.form.file", "is not valid YAML, line 1"),
]


@pytest.mark.parametrize(("settings", "text", "path", "message"), FAULTS)
def test_what_cannot_be_is_found_by_check(
    tmp_path: Path, settings: dict[str, Any], text: str | None, path: str, message: str
) -> None:
    if text is not None:
        (tmp_path / settings["file"]).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigurationFaults) as raised:
        AgentForge.from_mapping(beans([GOOD], **settings), folder=tmp_path).check()

    [fault] = raised.value.diagnostics
    assert fault.path == path
    assert message in fault.message
