"""What an object refuses is a fault of its settings: what is wrong in the message, what to do in a line of its own."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.config import ConfigurationFaults
from agentforge.errors import ConfigurationError
from agentforge.plugin import as_value_error


def faults(bean: dict[str, Any]) -> list[tuple[str, str | None]]:
    """What `check` finds in a file with this bean: messages and next steps."""
    try:
        AgentForge.from_mapping(
            {"beans": {"it": bean, "other": {"type": "scripted", "turns": ["Hi"]}}}, environment={}
        ).check()
    except ConfigurationFaults as found:
        return [(each.message, each.next_step) for each in found.diagnostics]
    return []


BROKEN_SCHEMA = {"type": "object", "properties": {"a": {"type": "nope"}}}
REFUSED = {
    "an error template": (
        {"type": "template", "text": "{nope}"},
        "the error template '{nope}' cannot be filled: there is no {nope}",
        "Use only {tool}",
    ),
    "a budget": ({"type": "budget"}, "a budget without a limit limits nothing", "Give it one."),
    "a safeguard": (
        {"type": "safeguard"},
        "a safeguard without words, patterns and checks looks for nothing",
        "Give it one of them.",
    ),
    "a tool search": (
        {"type": "tool_search", "max_results": 21},
        "max_results is a whole number from 1 to 20, not 21",
        "Write a number from 1 to 20.",
    ),
    "a structured output": (
        {"type": "structured_output", "json_schema": BROKEN_SCHEMA},
        "the schema is not a JSON Schema that can be checked",
        "Correct the schema.",
    ),
    "a declared tool": (
        {"type": "declared_tools", "executor": "other", "tools": [{"name": "a", "parameters": {"type": "array"}}]},
        "has the root type 'array'",
        "Put the value below a property of an object.",
    ),
    "a model without a key": (
        {"type": "openai.chat", "model": "gpt-5-mini"},
        "vendor 'openai' needs an API key and none was given",
        "Set the environment variable OPENAI_API_KEY",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_next_step_of_an_object_stands_in_its_own_line(case: str) -> None:
    """For each type of ours whose object checks itself."""
    bean, words, step = REFUSED[case]
    [(message, next_step)] = faults(bean)

    assert words in message
    assert next_step is not None and next_step.startswith(step) and next_step not in message


def test_outside_of_a_file_the_words_hold_both() -> None:
    """Where only the text of the error is shown; the error itself is its cause."""
    refused = ConfigurationError("limits contradict each other", next_step="Give one.")

    with pytest.raises(ValueError, match=r"^limits contradict each other\. Give one\.$") as raised, as_value_error():
        raise refused
    assert raised.value.__cause__ is refused


def test_other_errors_are_not_made_faults_of_the_settings() -> None:
    """A defect of the object stays visible as one."""
    with pytest.raises(ZeroDivisionError), as_value_error():
        _ = 1 // 0
