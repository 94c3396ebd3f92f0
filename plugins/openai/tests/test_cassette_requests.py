"""Recorded later rounds, asked again from our own history: our reading of the recorded answers, encoded, is what was
recorded. So what answers carry comes back complete and in place, as clients sent it that the servers accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FileContent,
    ResponseDone,
    TextContent,
    ToolChoice,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge_openai import OpenAiChatModel
from agentforge_openai.vendors import VENDORS
from plugins.openai.tests.support import FakeTransport, model_on
from plugins.openai.tests.test_cassette_conversations import is_good, ours, text_of

#: Later rounds that are made from answers, by provider.
COVERED = {
    "azure": 4,
    "cerebras": 1,
    "crusoe": 1,
    "dashscope": 4,
    "deepseek": 9,
    "gemini": 1,
    "gpustack": 2,
    "mistral": 6,
    "ollama": 4,
    "openai": 12,
    "openai-compatible": 2,
    "openrouter": 8,
    "snowflake": 1,
}

#: Rounds that go on from turns which no server gave, by file, with the number of these turns and why. They are encoded
#: as any history of an application's own.
WRITTEN = {
    "azure/chatcompletions-rllm-real-error-scenarios": (5, "the history was written by hand, without answers"),
    "mistral/chatcompletions-mag-mistral-chat-model-few-shot": (2, "the history was written by hand, without answers"),
    "openai/chatcompletions-arize-openai-agent-and-llm-spans": (2, "the turns were written by a program, as texts"),
    "openai/chatcompletions-mira-openai-gpt-4o": (1, "the client wrote the call's arguments into a text"),
}

#: Whose calls have other ids in the later request than in the answer.
RENAMED = {
    "gemini/chatcompletions-pyd-compatible-api-with-tool-calls": "the answer gave none; each client makes its own",
    "openai-compatible/chatcompletions-llm-tools-streaming-variant-c": "the answer was edited, the request was not",
}

#: Rounds behind an answer that refused what the model had made; our loop holds those conversations again in
#: `plugins.openai.tests.test_cassette_refused_calls`.
REFUSED = "groq/chatcompletions-pyd-tool-use-failed"


@dataclass
class Round:
    """A recorded request that goes on from answers, and how many of its assistant turns are our reading of one."""

    where: str
    provider: str
    body: dict[str, Any]
    history: list[ChatMessage] = field(default_factory=list)
    read: int = 0
    unknown: int = 0
    #: Ids of recorded calls that our reading of the answer gives others.
    ids: dict[str, str] = field(default_factory=dict)

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

    @property
    def recorded(self) -> list[dict[str, Any]]:
        """The recorded messages, with our ids."""
        text = json.dumps(self.body["messages"])
        for recorded, our in self.ids.items():
            text = text.replace(json.dumps(recorded), json.dumps(our))
        found: list[dict[str, Any]] = json.loads(text)
        return found


def model_for(provider: str, model: str, transport: FakeTransport) -> OpenAiChatModel:
    """A model of the provider's row; those without one are asked as ``generic``."""
    vendor = provider if provider in VENDORS else "generic"
    options: dict[str, Any] = {} if VENDORS[vendor].base_url else {"base_url": "https://desk.example/v1"}
    return model_on(transport, vendor, model=model, **options)


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
            one.history = list(_history(body["messages"], answers, one))
            if one.read or one.unknown:
                found.append(one)
            if is_good(interaction):
                answers.append((await answer_to(provider, body["model"], interaction["response"]["body"])).ai_message)
    return found


def _history(messages: list[dict[str, Any]], answers: list[AiMessage], one: Round) -> Iterator[ChatMessage]:
    """The messages as ours; for an assistant turn our reading of the answer that it stands for. An empty one, and one
    that a vendor wants between results and a user's message, are no turns of a history."""
    filler = VENDORS[one.provider].between_results_and_user if one.provider in VENDORS else None
    before = ""
    for message in messages:
        role = message["role"]
        if role == "assistant":
            text = text_of(message)
            if message.get("tool_calls") or (text and not (before == "tool" and text == filler)):
                yield _turn(message, answers, one)
        elif role == "user" and isinstance(message["content"], list):
            yield UserMessage(list(_parts(message["content"])))
        elif role == "tool":
            identity = message["tool_call_id"]
            yield ours({**message, "tool_call_id": one.ids.get(identity, identity)})
        else:
            yield ours(message)
        before = role


def _turn(message: dict[str, Any], answers: list[AiMessage], one: Round) -> ChatMessage:
    recorded = [(call["id"], _called(call["function"])) for call in message.get("tool_calls") or ()]
    # By ids first; a call without one, or with another, is known by what it says.
    for by_ids in (True, False):
        for answer in answers:
            given = [
                (call.id, (call.name, json.loads(call.arguments or "{}"))) for call in answer.tool_execution_requests
            ]
            mine, theirs = ([pair[not by_ids] for pair in pairs] for pairs in (given, recorded))
            if mine == theirs and (recorded or (by_ids and (answer.text or "") == text_of(message))):
                one.ids.update((its, our) for (its, _), (our, _) in zip(recorded, given, strict=True) if its != our)
                one.read += 1
                return answer
    one.unknown += 1
    return ours(message)


def _called(function: dict[str, Any]) -> tuple[str, Any]:
    return function["name"].strip(), json.loads(function["arguments"] or "{}")


def _parts(parts: list[dict[str, Any]]) -> Iterator[Any]:
    for part in parts:
        if part["type"] == "input_audio":
            sound = part["input_audio"]
            yield AudioContent(data=sound["data"], media_type=f"audio/{sound['format']}")
        elif part["type"] == "document_url":
            media_type, _, data = part["document_url"].removeprefix("data:").partition(";base64,")
            yield FileContent(data=data, media_type=media_type)
        else:
            yield TextContent(part.get("text", ""))


def tool_of(wire: dict[str, Any]) -> ToolSpecification:
    function = wire["function"]
    parameters = ToolParameters(function.get("parameters") or {})
    return ToolSpecification(function["name"], function.get("description"), parameters, function.get("strict"))


def choice_of(wire: Any) -> ToolChoice | None:
    if wire is None:
        return None
    if wire == "any":  # one vendor's word
        return ToolChoice.REQUIRED
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


def _path(message: dict[str, Any]) -> dict[str, Any]:
    """Two recorders replaced a path in their requests, and not in the answers."""
    return json.loads(re.sub(r"/tmp/[^\s\"]*/(\w+\.txt)", r"/tmp/\1", json.dumps(message)))  # type: ignore[no-any-return]


def _name_of_a_result(message: dict[str, Any]) -> dict[str, Any]:
    """One vendor takes the tool's name beside a result; its clients leave it out."""
    return {key: value for key, value in message.items() if (message["role"], key) != ("tool", "name")}


def _signature(message: dict[str, Any]) -> dict[str, Any]:
    """One client sends no signatures back, which the servers of its day did not ask for."""
    return {key: value for key, value in message.items() if key not in ("extra_content", "thought_signature")}


def _empty_turn(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One client splits a turn in two, the text, which may be empty, and the calls."""
    return [
        m for m in messages if not (m["role"] == "assistant" and set(m) == {"role", "content"} and not m["content"])
    ]


MESSAGES: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    _without_nulls,
    _content_beside_calls,
    _texts,
    _developer,
    _arguments,
    _position,
    _one_name_of_reasoning,
    _prefix,
    _path,
    _name_of_a_result,
    _signature,
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


def _titles(tool: dict[str, Any]) -> dict[str, Any]:
    """A word about a field that says its name again; strict schemas go without."""
    return {**tool, "function": _untitled(tool["function"])}


def _untitled(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _untitled(item) for key, item in value.items() if key != "title" or not isinstance(item, str)}


def _closed(tool: dict[str, Any]) -> dict[str, Any]:
    """One server drops these words from every tool, so that they are not sent there."""
    function = tool["function"]
    return {**tool, "function": {**function, "parameters": _open(function.get("parameters"))}}


_DROPPED = (("additionalProperties", False), ("strict", True))


def _open(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _open(item) for key, item in value.items() if (key, item) not in _DROPPED}


TOOLS: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    _description,
    _type,
    _required,
    _cache_mark,
    _titles,
    _closed,
]


def normal(values: list[dict[str, Any]], steps: Iterable[Callable[[dict[str, Any]], dict[str, Any]]]) -> list[Any]:
    """The messages or tools after these steps."""
    for step in steps:
        values = [step(value) for value in values]
    return values


def same(one: Round, sent: dict[str, Any], *, without: object = None) -> bool:
    """Whether our request is the recorded one after all steps but one."""
    messages = one.recorded if without is _empty_turn else _empty_turn(one.recorded)
    for mine, theirs, steps in (
        (sent["messages"], messages, MESSAGES),
        (sent.get("tools") or [], one.body.get("tools") or [], TOOLS),
    ):
        used = [step for step in steps if step is not without]
        if normal(mine, used) != normal(theirs, used):
            return False
    return all(sent.get(key) == one.body[key] for key in ("tool_choice", "parallel_tool_calls") if key in one.body)


async def test_later_rounds_are_what_was_recorded(shared: Path) -> None:
    """Messages, tools and choice of every recorded request that goes on from an assistant's turn, whoever wrote that;
    none is left out, and no step is that nothing needs."""
    covered: dict[str, int] = {}
    written: dict[str, int] = {}
    renamed: set[str] = set()
    needed: set[object] = set()
    for one in await rounds(shared):
        if one.where.startswith(REFUSED):
            continue
        sent = await one.sent()
        assert normal(sent["messages"], MESSAGES) == normal(_empty_turn(one.recorded), MESSAGES), one.where
        assert same(one, sent), one.where
        needed.update(step for step in STEPS if not same(one, sent, without=step))
        if one.ids:
            renamed.add(named_in(RENAMED, one))
        if one.unknown:
            written[named_in(WRITTEN, one)] = one.unknown
        else:
            covered[one.provider] = covered.get(one.provider, 0) + 1
    assert covered == COVERED
    assert written == {name: number for name, (number, _) in WRITTEN.items()}
    assert renamed == set(RENAMED)
    assert [step for step in STEPS if step not in needed] == []


STEPS: tuple[object, ...] = (*MESSAGES, _empty_turn, *TOOLS)


def named_in(table: Mapping[str, object], one: Round) -> str:
    """The name in the table of this round's file."""
    return next((name for name in table if one.where.startswith(name)), one.where)


async def test_what_has_to_go_back_goes_back_letter_by_letter(shared: Path) -> None:
    """Reasoning and its signed details under the name that the server used, with nothing normalised."""
    replayed: dict[str, int] = {}
    for one in await rounds(shared):
        if one.unknown:
            continue
        sent = await one.sent()
        for mine, theirs in zip(sent["messages"], _empty_turn(one.recorded), strict=True):
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
