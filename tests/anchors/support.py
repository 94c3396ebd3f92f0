"""What the anchor tables share: rows that carry their number, and one way to hold a conversation, plain and streamed.

A row's id begins with its number in the sheet of anchor behaviour. An id that begins with ``differs-`` pins what
AgentForge does where `docs/reference/differences.md` says that it decides otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agentforge import (
    ChatRequest,
    Run,
    RunFinished,
    ScriptedChatModel,
    ToolChatResult,
    ToolService,
    tool,
)
from agentforge.client import ChatClient, Prompt
from agentforge.model import History
from agentforge.model.scripted import call
from agentforge.tool import MISSING, StaticTools
from agentforge.tool.execution.default_executor import bound_tools_from

__all__ = (
    "ANSWER",
    "FACES",
    "Conversation",
    "ask",
    "converse",
    "differs",
    "differs_row",
    "received",
    "row",
    "rows",
    "source_of",
)

FACES = pytest.mark.parametrize("streamed", [False, True], ids=["blocking", "streamed"])
"""Runs a test over the blocking and the streamed face."""
ANSWER = "the model's answer"
"""The reply that ends a scripted conversation."""


def row(number: int, text: str, *values: Any) -> Any:
    """A table row that the anchors' suites assert."""
    return pytest.param(*values, id=f"{number}-{text}")


def differs_row(number: int, text: str, *values: Any) -> Any:
    """A table row that pins a stated difference."""
    return pytest.param(*values, id=f"differs-{number}-{text}")


def rows(number: int, text: str) -> pytest.MarkDecorator:
    """Marks a test that is one row."""
    return pytest.mark.parametrize("anchor", [pytest.param(number, id=f"{number}-{text}")])


def differs(number: int, text: str) -> pytest.MarkDecorator:
    """Marks a test that pins one stated difference."""
    return pytest.mark.parametrize("anchor", [pytest.param(number, id=f"differs-{number}-{text}")])


@dataclass(frozen=True, slots=True)
class Conversation:
    """A finished conversation: its result, the requests the model got, the events (none when blocking)."""

    result: ToolChatResult
    requests: Sequence[ChatRequest]
    events: Sequence[Any]

    @property
    def texts(self) -> list[str]:
        """What the model is told by each execution, in order."""
        return [execution.result_text() for execution in self.result.tool_executions]


async def converse(
    service: ToolService, turns: Sequence[Any], *, streamed: bool = False, **options: Any
) -> Conversation:
    """Hold one conversation over the face that is asked for; its history is valid, or this fails."""
    model = ScriptedChatModel(list(turns))
    seen: list[Any] = []
    if streamed:
        async with service.stream(model, None, "question", **options) as events:
            seen = [event async for event in events]
        assert isinstance(seen[-1], RunFinished)
        result = seen[-1].result
    else:
        result = await service.chat(model, None, "question", **options)
    assert tuple(History.of(tuple(result.messages))) == tuple(result.messages)
    return Conversation(result, model.requests, seen)


async def ask(
    turns: Sequence[Any] | ScriptedChatModel,
    *advisors: Any,
    streamed: bool = False,
    tools: Sequence[Any] = (),
    question: str | Sequence[Any] = "question",
    run: Run | None = None,
    prepare: Callable[[Prompt], Prompt] = lambda prompt: prompt,
    **settings: Any,
) -> Conversation:
    """Hold one turn with a client that has these advisors, over the face that is asked for; its history is valid, or
    this fails."""
    model = turns if isinstance(turns, ScriptedChatModel) else ScriptedChatModel(list(turns))
    before = len(model.requests)
    seen: list[Any] = []
    async with ChatClient(model, tools=tools, advisors=advisors, **settings) as client:
        given = (question,) if isinstance(question, str) else tuple(question)
        prompt = prepare(client.prompt(*given))
        if streamed:
            async with prompt.stream(run) as events:
                seen = [event async for event in events]
            result = events.result
            assert isinstance(seen[-1], RunFinished)
        else:
            result = await prompt.call(run)
    assert tuple(History.of(tuple(result.messages))) == tuple(result.messages)
    return Conversation(result, model.requests[before:], seen)


async def received(hint: Any, arguments: Mapping[str, object] | str, default: Any = MISSING, **options: Any) -> Any:
    """What a tool with the one parameter ``value`` of type ``hint`` gets when a model calls it with ``arguments``."""
    kept: list[Any] = []

    def keep(value: Any) -> None:
        kept.append(value)

    if default is not MISSING:
        keep.__defaults__ = (default,)
    keep.__annotations__ = {"value": hint, "return": None}
    service = ToolService(tool("Keeps a value.")(keep), **options)
    done = await converse(service, [call("keep", arguments), ANSWER])
    assert len(kept) == 1, done.texts
    return kept[0]


def source_of(*items: Any) -> StaticTools:
    """A source that always offers the tools of ``items``."""
    return StaticTools(bound for item in items for bound in bound_tools_from(item))
