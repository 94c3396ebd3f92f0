"""Recorded tool conversations, held again by our own loop: same questions, recorded answers, recorded tool results."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentforge import RunFinished, ToolOutcome, ToolParameters, ToolService, ToolSpecification
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ImageContent,
    SystemMessage,
    TextContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
    mend_history,
)
from agentforge.testing import Cassette, replay_transport
from agentforge_openai import VENDORS, OpenAiChatModel


@dataclass(frozen=True)
class Conversation:
    """Interactions of one recording that follow from each other."""

    name: str
    vendor: str
    interactions: list[dict[str, Any]]

    @property
    def first(self) -> dict[str, Any]:
        body: dict[str, Any] = self.interactions[0]["request"]["body"]
        return body

    @property
    def streamed(self) -> bool:
        return isinstance(self.interactions[0]["response"]["body"], str)

    def results(self) -> dict[str, deque[str]]:
        """What each tool gave back, in the order of the calls."""
        found: dict[str, deque[str]] = {}
        for before, after in zip(self.interactions, self.interactions[1:], strict=False):
            new = after["request"]["body"]["messages"][len(before["request"]["body"]["messages"]) :]
            texts = {message["tool_call_id"]: text_of(message) for message in new if message["role"] == "tool"}
            for message in new:
                for call in message.get("tool_calls") or ():
                    found.setdefault(call["function"]["name"].strip(), deque()).append(texts[call["id"]])
        return found


def conversations(shared: Path) -> Iterator[Conversation]:
    """Every run of a recording in which each request goes on from the one before."""
    for file in sorted((shared / "cassettes").glob("*/chatcompletions-*.json")):
        chain: list[dict[str, Any]] = []
        for interaction in json.loads(file.read_text())["interactions"]:
            if chain and follows(chain[-1], interaction):
                chain.append(interaction)
                continue
            if is_whole(chain):
                yield Conversation(f"{file.parent.name}/{file.stem}", file.parent.name, chain)
            chain = [interaction] if is_good(interaction) else []
        if is_whole(chain):
            yield Conversation(f"{file.parent.name}/{file.stem}", file.parent.name, chain)


def is_good(interaction: dict[str, Any]) -> bool:
    body = interaction["response"]["body"]
    failed = interaction["response"]["status"] >= 400 or (isinstance(body, str) and '"error":{' in body)
    return not failed and bool((interaction["request"] or {}).get("body"))


def is_whole(chain: list[dict[str, Any]]) -> bool:
    """Whether there are calls, and the last answer asks for no more."""
    if len(chain) < 2:
        return False
    body = chain[-1]["response"]["body"]
    text = body if isinstance(body, str) else json.dumps(body)
    return '"tool_calls":[{' not in text.replace(" ", "")


def follows(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether ``after`` answers the calls of ``before`` and asks again in the same way."""
    if not is_good(after):
        return False
    old, new = before["request"]["body"]["messages"], after["request"]["body"]["messages"]
    same_way = isinstance(before["response"]["body"], str) == isinstance(after["response"]["body"], str)
    added = new[len(old) :]
    roles = [message["role"] for message in added]
    called = [call["id"] for message in added for call in message.get("tool_calls") or ()]
    answered = [message.get("tool_call_id") for message in added if message["role"] == "tool"]
    return (
        same_way
        and new[: len(old)] == old
        and roles[:1] == ["assistant"]
        and set(roles[1:]) == {"tool"}
        and sorted(called) == sorted(map(str, answered))
        and len(set(called)) == len(called)
    )


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return content or ""


def ours(message: dict[str, Any]) -> ChatMessage:
    """A recorded message as one of ours."""
    role, content = message["role"], message.get("content")
    if role in ("system", "developer"):
        return SystemMessage(text_of(message))
    if role == "user":
        parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        return UserMessage(
            [
                ImageContent(part["image_url"]["url"]) if "image_url" in part else TextContent(part["text"])
                for part in parts
            ]
        )
    if role == "tool":
        return ToolExecutionResultMessage(message["tool_call_id"], message.get("name") or "tool", text_of(message))
    requests = [
        ToolExecutionRequest(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return AiMessage(text_of(message) or None, tool_execution_requests=requests)


def service_for(conversation: Conversation) -> ToolService:
    """The recorded tools; each gives back what it gave then."""
    results = conversation.results()

    def answer(request: ToolExecutionRequest) -> str:
        return results[request.name].popleft()

    # One after the other, so that results of one tool come in the order of its calls.
    service = ToolService(max_concurrent_tools=1)
    for item in conversation.first.get("tools") or ():
        function = item["function"]
        parameters = ToolParameters(function.get("parameters") or {"type": "object", "properties": {}})
        service.tool(ToolSpecification(function["name"], function.get("description") or "a tool", parameters), answer)
    return service


async def test_recorded_conversations_replay_through_the_loop(shared: Path) -> None:
    """Each asks for the recorded calls, takes the recorded results, and ends with the recorded answer."""
    held = streamed = calls = 0
    for conversation in conversations(shared):
        cassette = Cassette.from_json(
            {
                "provider": conversation.vendor,
                "api": "chat_completions",
                "models": [],
                "streaming": conversation.streamed,
                "fidelity": "recorded",
                "features": [],
                "notes": [],
                "source": {},
                "interactions": conversation.interactions,
            },
            name=conversation.name,
        )
        transport = replay_transport(cassette)
        model = OpenAiChatModel(
            model=str(conversation.first["model"]),
            base_url="http://127.0.0.1:9/v1",
            api_key="replayed",
            vendor=conversation.vendor if conversation.vendor in VENDORS else "generic",
            transport=transport,
        )
        messages = [ours(message) for message in conversation.first["messages"]]
        service = service_for(conversation)
        if conversation.streamed:
            async with service.stream(model, None, messages) as events:
                last = [event async for event in events][-1]
            assert isinstance(last, RunFinished), conversation.name
            result = last.result
            streamed += 1
        else:
            result = await service.chat(model, None, messages)
        assert transport.remaining == 0, conversation.name
        assert {execution.outcome for execution in result.tool_executions} == {ToolOutcome.OK}, conversation.name
        assert mend_history(tuple(result.messages))[1] == (), conversation.name
        assert len(result.intermediate_responses) == len(conversation.interactions) - 1, conversation.name
        assert result.final_response.ai_message.contents, conversation.name
        held += 1
        calls += len(result.tool_executions)
    assert held >= 30
    assert streamed >= 10
    assert calls >= held
