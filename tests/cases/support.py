"""Field cases as data: the rows of a file, and tools that note what they are called with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge import ToolParameters, ToolService, ToolSpecification
from agentforge.model import AiMessage, ChatMessage, ToolExecutionRequest, ToolExecutionResultMessage, UserMessage
from agentforge.model.history import mend_history

__all__ = (
    "CORRECTING",
    "KINDS",
    "OPEN",
    "Recorder",
    "case_file",
    "messages_of",
    "rows",
    "valid",
    "wire_pairs",
)

FOLDER = Path(__file__).parent
KINDS = ("model_output", "streaming", "schema", "tool_loop", "config", "http", "mcp")

#: The strategies that let the model correct itself, as the shipped configuration files choose them.
CORRECTING: Mapping[str, Any] = {
    "arguments_error_handler": "return_to_model",
    "execution_error_handler": "return_to_model",
    "unknown_tool_strategy": "list_known_tools",
}

#: A schema that takes any arguments, for rows that say nothing of their tools.
OPEN: Mapping[str, Any] = {"type": "object", "additionalProperties": True}


@cache
def case_file(kind: str) -> Mapping[str, Any]:
    """The file of one kind: ``cases`` and ``not_here``."""
    found: Mapping[str, Any] = yaml.safe_load((FOLDER / f"{kind}.yaml").read_text("utf-8"))
    return found


def rows(kind: str, *outcomes: str, form: str | None = None) -> list[Any]:
    """Parameters for the rows of these outcomes; each is known by its id."""
    found = [
        pytest.param(row, id=row["id"])
        for row in case_file(kind)["cases"]
        if row["expected"]["outcome"] in outcomes and form in (None, row["input"]["form"])
    ]
    assert found, f"{kind}.yaml has no row of {outcomes}"
    return found


class Recorder:
    """Tools of given names and schemas; ``runs`` holds name and arguments of every call that reached one."""

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        self.tools = [(tool["name"], tool["parameters"]) for tool in tools]
        self.runs: list[tuple[str, dict[str, object]]] = []

    def service(self, **options: Any) -> ToolService:
        """A service with these tools and the correcting strategies."""
        service = ToolService(**{**CORRECTING, **options})
        for name, schema in self.tools:
            service.tool(ToolSpecification(name, f"The tool {name}.", ToolParameters(schema)), self.run)
        return service

    async def run(self, request: ToolExecutionRequest) -> str:
        """The executor of all of them."""
        self.runs.append((request.name, json.loads(request.arguments)))
        return f"result {len(self.runs)}"


def valid(messages: Iterable[ChatMessage]) -> bool:
    """Whether a history has nothing to mend."""
    given = tuple(messages)
    return mend_history(given) == (given, ())


def messages_of(wire: Iterable[Mapping[str, Any]]) -> list[ChatMessage]:
    """Messages in the Chat Completions form as ours, broken ones included."""
    return [_message(message) for message in wire]


def _message(message: Mapping[str, Any]) -> ChatMessage:
    if message["role"] == "user":
        return UserMessage(message["content"])
    if message["role"] == "tool":
        return ToolExecutionResultMessage(message["tool_call_id"], "", message["content"])
    calls = [
        ToolExecutionRequest(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    ]
    return AiMessage(message["content"], tool_execution_requests=calls)


def wire_pairs(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Id and text of each result of a sent history; fails unless each call has its one result, directly after it."""
    pairs: list[tuple[str, str]] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting, f"the result {message['tool_call_id']!r} answers no call"
            assert message["tool_call_id"] == waiting.pop(0)
            pairs.append((message["tool_call_id"], message["content"]))
            continue
        assert not waiting, f"the calls {waiting} have no result"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert not waiting, f"the calls {waiting} have no result"
    return pairs
