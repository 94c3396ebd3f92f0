"""Recorded later rounds, asked again from our own history: our reading of the recorded answers, encoded, is what was
recorded. So what answers carry comes back complete and in place, as clients sent it that the servers accepted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ProviderState,
    ResponseDone,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolChoice,
    ToolExecutionRequest,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge_openai import OpenAiChatModel
from plugins.openai.tests.support import FakeTransport, model_on
from plugins.openai.tests.test_cassette_conversations import is_good, ours, text_of

#: The providers that have a row of their own; the others are asked as ``generic``.
ROWS = frozenset({"openai", "azure", "deepseek", "dashscope", "ollama"})

#: Settings of a user for a server whose row does not know it: this one, a vLLM, reads its reasoning back.
OVERRIDES: dict[str, dict[str, Any]] = {"crusoe": {"replay": ["reasoning"]}}

#: Later rounds that are made from answers, by provider.
COVERED = {
    "azure": 4,
    "cerebras": 1,
    "crusoe": 1,
    "dashscope": 2,
    "deepseek": 9,
    "gpustack": 2,
    "mistral": 5,
    "ollama": 4,
    "openai": 12,
    "openrouter": 8,
    "snowflake": 1,
}

#: Later rounds that cannot be made from answers, by file, with the number of them and the reason.
NOT_COVERED = {
    "azure/chatcompletions-rllm-real-error-scenarios": (1, "the history was written by hand, without answers"),
    "dashscope/chatcompletions-loong-multi-agent-collaboration": (1, "a path was replaced in the request only"),
    "dashscope/chatcompletions-loong-tool-call-creates-tool-span": (1, "a path was replaced in the request only"),
    "gemini/chatcompletions-pyd-compatible-api-with-tool-calls": (1, "the answer gave no id; the client made one up"),
    "groq/chatcompletions-pyd-tool-use-failed-error-streaming-with": (1, "the turn stands for an answer that failed"),
    "groq/chatcompletions-pyd-tool-use-failed-error-streaming.": (2, "the first turn stands for an answer that failed"),
    "groq/chatcompletions-pyd-tool-use-failed-error-with-text": (1, "the turn stands for an answer that failed"),
    "groq/chatcompletions-pyd-tool-use-failed-error.": (2, "the first turn stands for an answer that failed"),
    "mistral/chatcompletions-mag-mistral-chat-model-few-shot": (1, "the history was written by hand, without answers"),
    "mistral/chatcompletions-pyd-multimodal-tool-return-matrix": (1, "documents by URL are a form of that vendor"),
    "openai/chatcompletions-arize-openai-agent-and-llm-spans": (1, "the turns were written by a program, as texts"),
    "openai/chatcompletions-mira-openai-gpt-4o": (1, "the client writes the call's arguments into a text"),
    "openai-compatible/chatcompletions-llm-tools-streaming-variant-a": (1, "the client splits a turn in two"),
    "openai-compatible/chatcompletions-llm-tools-streaming-variant-c": (1, "the client splits a turn in two"),
}


@dataclass
class Round:
    """A recorded request that goes on from answers, and how many of its assistant turns are our reading of one."""

    where: str
    provider: str
    body: dict[str, Any]
    history: list[ChatMessage] = field(default_factory=list)
    read: int = 0
    unknown: int = 0

    async def sent(self) -> dict[str, Any]:
        """The body that we make of the history."""
        model = model_for(self.provider, self.body["model"], FakeTransport())
        parameters = ChatRequestParameters(
            tools=[tool_of(tool) for tool in self.body.get("tools") or ()],
            tool_choice=choice_of(self.body.get("tool_choice")),
            parallel_tool_calls=self.body.get("parallel_tool_calls"),
        )
        content, notices = model.preview(ChatRequest(self.history, parameters))
        assert notices == (), self.where
        found: dict[str, Any] = json.loads(content)
        return found


def model_for(provider: str, model: str, transport: FakeTransport) -> OpenAiChatModel:
    return model_on(
        transport,
        provider if provider in ROWS else "generic",
        model=model,
        profile_overrides=OVERRIDES.get(provider),
    )


async def answer_to(provider: str, model: str, body: Any) -> ChatResponse:
    """A recorded answer as the model gives it."""
    if isinstance(body, str):
        streaming = model_for(provider, model, FakeTransport([body.encode()]))
        last = [event async for event in streaming.stream(ChatRequest("q"))][-1]
        assert isinstance(last, ResponseDone)
        return last.response
    return await model_for(provider, model, FakeTransport(body)).chat(ChatRequest("q"))


async def rounds(shared: Path) -> list[Round]:
    """Every recorded request with assistant turns in it."""
    found: list[Round] = []
    for file in sorted((shared / "cassettes").glob("*/chatcompletions-*.json")):
        answers: list[AiMessage] = []
        provider = file.parent.name
        for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
            body = (interaction["request"] or {}).get("body")
            if not body:
                continue
            one = Round(f"{provider}/{file.name} {position}", provider, body)
            for message in body["messages"]:
                one.history.append(_own(message, answers, one))
            if one.read or one.unknown:
                found.append(one)
            if is_good(interaction):
                answers.append((await answer_to(provider, body["model"], interaction["response"]["body"])).ai_message)
    return found


def _own(message: dict[str, Any], answers: list[AiMessage], one: Round) -> ChatMessage:
    """The message as ours; for an assistant turn our reading of the answer that it stands for."""
    if message["role"] == "user" and isinstance(message["content"], list):
        return UserMessage(list(_parts(message["content"])))
    if message["role"] != "assistant":
        return ours(message)
    ids = [call["id"] for call in message.get("tool_calls") or ()]
    for answer in answers:
        given = [call.id for call in answer.tool_execution_requests]
        if given == ids and (ids or (answer.text or "") == text_of(message)):
            one.read += 1
            return answer
    one.unknown += 1
    return ours(message)


def _parts(parts: list[dict[str, Any]]) -> Iterator[Any]:
    for part in parts:
        if part["type"] == "input_audio":
            sound = part["input_audio"]
            yield AudioContent(data=sound["data"], media_type=f"audio/{sound['format']}")
        else:
            yield TextContent(part.get("text", ""))


def tool_of(wire: dict[str, Any]) -> ToolSpecification:
    function = wire["function"]
    parameters = ToolParameters(function.get("parameters") or {})
    return ToolSpecification(function["name"], function.get("description"), parameters, function.get("strict"))


def choice_of(wire: Any) -> ToolChoice | None:
    if wire is None:
        return None
    return ToolChoice.of(wire if isinstance(wire, str) else wire["function"]["name"])


# -- what counts as equal ---------------------------------------------------------------------------


def _without_nulls(message: dict[str, Any]) -> dict[str, Any]:
    """Clients dump whole objects: a refusal, annotations or audio that are null or empty."""
    return {key: value for key, value in message.items() if value is not None and value != []}


def _content_beside_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Beside calls servers take no content, null and an empty text for the same; OpenAI answers with null."""
    if message.get("tool_calls") and not message.get("content"):
        return {key: value for key, value in message.items() if key != "content"}
    return message


def _texts(message: dict[str, Any]) -> dict[str, Any]:
    """Some clients send every content as a list of parts; a list of texts is their text."""
    content = message.get("content")
    if isinstance(content, list) and all(part["type"] == "text" for part in content):
        return {**message, "content": "".join(part["text"] for part in content)}
    return message


def _developer(message: dict[str, Any]) -> dict[str, Any]:
    """The same instructions under the role's newer name."""
    return {**message, "role": "system"} if message["role"] == "developer" else message


def _arguments(message: dict[str, Any]) -> dict[str, Any]:
    """We send arguments as they came; some clients write the JSON anew, or leave beside it what they parsed."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = {key: value for key, value in call["function"].items() if value is not None}
        calls.append({**call, "function": {**function, "arguments": json.loads(function["arguments"] or "{}")}})
    return {**message, "tool_calls": calls} if calls else message


def _position(message: dict[str, Any]) -> dict[str, Any]:
    """A call's position in its answer, which one client sends back; nothing depends on it."""
    calls = [{key: value for key, value in call.items() if key != "index"} for call in message.get("tool_calls") or ()]
    return {**message, "tool_calls": calls} if calls else message


def _one_name_of_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """One client sends a reasoning text under both names that servers use, also an empty one. (That ours has the name
    which the server used is tested on its own.)"""
    texts = [message[name] for name in ("reasoning", "reasoning_content") if message.get(name)]
    rest = {key: value for key, value in message.items() if key not in ("reasoning", "reasoning_content")}
    return {**rest, "reasoning": texts[0]} if texts else rest


def _prefix(message: dict[str, Any]) -> dict[str, Any]:
    """One vendor's client says for each assistant turn that it is no beginning to go on from, which is the default."""
    return {key: value for key, value in message.items() if (key, value) != ("prefix", False)}


MESSAGES: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    _without_nulls,
    _content_beside_calls,
    _texts,
    _developer,
    _arguments,
    _position,
    _one_name_of_reasoning,
    _prefix,
]


def _description(tool: dict[str, Any]) -> dict[str, Any]:
    """One client sends an empty description, or none as null."""
    return {**tool, "function": {key: value for key, value in tool["function"].items() if value not in ("", None)}}


def _type(tool: dict[str, Any]) -> dict[str, Any]:
    """One vendor's client leaves out that a tool is a function."""
    return {"type": "function", **tool}


def _required(tool: dict[str, Any]) -> dict[str, Any]:
    """What is required is a set; we write it in the order of the properties."""
    return {**tool, "function": _sorted(tool["function"])}


def _sorted(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {k: sorted(v) if k == "required" and isinstance(v, list) else _sorted(v) for k, v in value.items()}


def _cache_mark(tool: dict[str, Any]) -> dict[str, Any]:
    """An extension of one gateway."""
    return {key: value for key, value in tool.items() if key != "cache_control"}


TOOLS: list[Callable[[dict[str, Any]], dict[str, Any]]] = [_description, _type, _required, _cache_mark]


def normal(values: list[dict[str, Any]], steps: Iterable[Callable[[dict[str, Any]], dict[str, Any]]]) -> list[Any]:
    """The messages or tools after these steps."""
    for step in steps:
        values = [step(value) for value in values]
    return values


def same(one: Round, sent: dict[str, Any], *, without: object = None) -> bool:
    """Whether our request is the recorded one after all steps but one."""
    for key, steps in (("messages", MESSAGES), ("tools", TOOLS)):
        used = [step for step in steps if step is not without]
        if normal(sent.get(key) or [], used) != normal(one.body.get(key) or [], used):
            return False
    return all(sent.get(key) == one.body[key] for key in ("tool_choice", "parallel_tool_calls") if key in one.body)


async def test_later_rounds_are_what_was_recorded(shared: Path) -> None:
    """Messages, tools and choice, for each provider that has such rounds; those that cannot be made are named above."""
    covered: dict[str, int] = {}
    left: dict[str, int] = {}
    needed: set[object] = set()
    for one in await rounds(shared):
        name = next((name for name in NOT_COVERED if one.where.startswith(name)), None)
        if name is not None:
            left[name] = left.get(name, 0) + 1
            continue
        assert one.unknown == 0, one.where
        sent = await one.sent()
        assert normal(sent["messages"], MESSAGES) == normal(one.body["messages"], MESSAGES), one.where
        assert same(one, sent), one.where
        needed.update(step for step in [*MESSAGES, *TOOLS] if not same(one, sent, without=step))
        covered[one.provider] = covered.get(one.provider, 0) + 1
    assert covered == COVERED
    assert left == {name: number for name, (number, _) in NOT_COVERED.items()}
    assert [step for step in [*MESSAGES, *TOOLS] if step not in needed] == []


async def test_what_has_to_go_back_goes_back_letter_by_letter(shared: Path) -> None:
    """Reasoning and its signed details under the name that the server used, with nothing normalised."""
    replayed: dict[str, int] = {}
    for one in await rounds(shared):
        if one.unknown:
            continue
        sent = await one.sent()
        for mine, theirs in zip(sent["messages"], one.body["messages"], strict=True):
            for name in ("reasoning_content", "reasoning", "reasoning_details"):
                if name in mine:
                    assert mine[name] == theirs[name], one.where
                    replayed[f"{one.provider} {name}"] = replayed.get(f"{one.provider} {name}", 0) + 1
    assert replayed == {
        "crusoe reasoning": 1,
        "deepseek reasoning_content": 3,
        "gpustack reasoning_content": 2,
        "ollama reasoning": 5,
        "openrouter reasoning_details": 3,
        "snowflake reasoning_details": 1,
    }


# -- whole answers, reviewed by hand ----------------------------------------------------------------


def _call_to(name: str, identity: str, arguments: str = "{}") -> ToolExecutionRequest:
    return ToolExecutionRequest(identity, name, arguments)


WHOLE: dict[tuple[str, int], ChatResponse] = {
    ("deepseek/chatcompletions-rllm-deepseek-deepseek-chat-can-handle-multiple-tool-calls-in-a-single", 0): (
        ChatResponse(
            AiMessage(
                [
                    TextContent("I'll roll the dice 3 times for you!"),
                    _call_to("dice_roll", "call_00_sODhJDBerk7sOtQQGoNi9027"),
                    _call_to("dice_roll", "call_01_Ov9BhQbJVYLYTIpWWi3S1111"),
                    _call_to("dice_roll", "call_02_P4MJAfxZOnb3VG5PSSgw6060"),
                ]
            ),
            FinishReason.TOOL_EXECUTION,
            TokenUsage(305, 72, 377, 0),
            "b3f253e4-a489-4e1b-8b30-543fa8263e37",
            "deepseek-v4-flash",
            "tool_calls",
        )
    ),
    ("openai/chatcompletions-olm-parsed-refused", 0): ChatResponse(
        AiMessage(
            [
                TextContent(
                    "I'm very sorry, but I can't assist with that request.", ProviderState("openai", {"refusal": True})
                )
            ]
        ),
        FinishReason.REFUSAL,
        TokenUsage(65, 13, 78, 0, None, 0),
        "chatcmpl-AGky8KFDbg6f5fF4qLtsBredIjZZh",
        "gpt-4o-2024-08-06",
        "stop",
    ),
    # Streamed: two calls in pieces, and reasoning before a call.
    ("openai/chatcompletions-chatlas-openai-tool", 6): ChatResponse(
        AiMessage(
            [
                _call_to("favorite_color", "call_98GjiRZzhD3LdrZzwPytyxXn", '{"_person": "Joe"}'),
                _call_to("favorite_color", "call_5WZKivD57kk8ma5asggAK8vS", '{"_person": "Hadley"}'),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(163, 50, 213, 0, None, 0),
        "chatcmpl-DcaU8wVYUf2DSh14IvjiPkrBwYB8X",
        "gpt-5.4-2026-03-05",
        "tool_calls",
    ),
    ("deepseek/chatcompletions-chatlas-deepseek-tool", 0): ChatResponse(
        AiMessage(
            [
                ThinkingContent(
                    "Let me get the current date.",
                    ProviderState("deepseek", {"reasoning_content": "Let me get the current date."}),
                ),
                _call_to("get_date", "call_00_tz6Vq4aG59EtpFCVbpoY3635"),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(297, 35, 332, 0, None, 7),
        "e3e74eb8-f868-4384-a58b-46f44d1596e8",
        "deepseek-v4-flash",
        "tool_calls",
    ),
}


@pytest.mark.parametrize(("file", "position"), list(WHOLE))
async def test_a_recorded_answer_is_this_response(file: str, position: int, shared: Path) -> None:
    """All that a response holds but the bytes that it came in, and the cost, which goes by the prices of the day."""
    (found,) = (shared / "cassettes").glob(f"{file}*.json")
    interaction = json.loads(found.read_text())["interactions"][position]
    model = interaction["request"]["body"]["model"]
    response = await answer_to(file.partition("/")[0], model, interaction["response"]["body"])
    usage = replace(response.token_usage, cost=None, currency=None)
    assert response.ai_message == WHOLE[file, position].ai_message
    assert replace(response, token_usage=usage) == WHOLE[file, position]
