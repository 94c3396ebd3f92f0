"""Each recorded request of a further round is made again from our own history: the decoded answers before it and the
recorded results. Equal as JSON but for the listed normalisations."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentforge.model import (
    ChatMessage,
    ChatRequestParameters,
    SystemMessage,
    TextContent,
    ToolChoice,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.anthropic.tests.support import body_of, plain, streamed


def _text_is_a_block(body: dict[str, Any]) -> None:
    for message in body["messages"]:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
    if isinstance(body.get("system"), str):
        body["system"] = [{"type": "text", "text": body["system"]}]


def _blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (block for message in body["messages"] for block in message["content"])


def _one_text_of_a_result(body: dict[str, Any]) -> None:
    for block in _blocks(body):
        content = block.get("content")
        if block["type"] == "tool_result" and isinstance(content, list) and [p["type"] for p in content] == ["text"]:
            block["content"] = content[0]["text"]


def _is_error_false(body: dict[str, Any]) -> None:
    for block in _blocks(body):
        if block.get("is_error") is False:
            del block["is_error"]


def _cache_control(body: dict[str, Any]) -> None:
    for block in (*_blocks(body), *body.get("system", ()), *body.get("tools", ())):
        block.pop("cache_control", None)


def _caller(body: dict[str, Any]) -> None:
    for block in _blocks(body):
        if block["type"] in ("tool_use", "server_tool_use"):
            block.pop("caller", None)


def _stream_false(body: dict[str, Any]) -> None:
    if body.get("stream") is False:
        del body["stream"]


def _empty_description(body: dict[str, Any]) -> None:
    for tool in body.get("tools", ()):
        if tool.get("description") == "":
            del tool["description"]


def _strict(body: dict[str, Any]) -> None:
    for tool in body.get("tools", ()):
        tool.pop("strict", None)


def _defer_loading(body: dict[str, Any]) -> None:
    for tool in body.get("tools", ()):
        tool.pop("defer_loading", None)


#: What may differ, each with its reason.
NORMALISATIONS: tuple[tuple[Callable[[dict[str, Any]], None], str], ...] = (
    (_text_is_a_block, "a text and a list of one text block are the same to the API; we always send blocks"),
    (_one_text_of_a_result, "likewise in a result, where we send one text as a text"),
    (_is_error_false, "false is the default of is_error; we leave it out"),
    (_cache_control, "where to cache is a setting of the model, and has tests of its own"),
    (_caller, "who made a call; the sources dropped it, we send it back as it came"),
    (_stream_false, "false is the default of stream; we leave it out"),
    (_empty_description, "an empty description says nothing; we leave it out"),
    (_defer_loading, "what only this vendor knows of a tool has no place in our specification"),
    (_strict, "the compiled schemas of strict tools have tests of their own"),
)


def normal(body: Mapping[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(dict(body))
    for change, _ in NORMALISATIONS:
        change(made)
    return made


def further_rounds(shared: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every recorded request that goes on from the one before, with all interactions of its chain up to it."""
    for file in sorted((shared / "cassettes" / "anthropic").glob("messages-*.json")):
        chain: list[dict[str, Any]] = []
        for interaction in json.loads(file.read_text())["interactions"]:
            if interaction["request"] is None:
                continue
            before = chain[-1]["request"]["body"]["messages"] if chain else None
            messages = interaction["request"]["body"]["messages"]
            goes_on = before is not None and len(messages) > len(before) and messages[: len(before)] == before
            chain = [*chain, interaction] if goes_on else [interaction]
            if goes_on:
                yield f"{file.stem} {len(chain)}", chain


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def history(chain: list[dict[str, Any]]) -> list[ChatMessage]:
    """Our history: the recorded question, our reading of each answer, the recorded results."""
    first = chain[0]["request"]["body"]
    messages: list[ChatMessage] = []
    system = first.get("system")
    if system is not None:
        messages.append(SystemMessage(text_of(system)))
    for message in first["messages"]:
        assert message["role"] == "user"
        messages.append(UserMessage(text_of(message["content"])))
    sent = len(first["messages"])
    for before, after in itertools.pairwise(chain):
        answer = before["response"]["body"]
        reply = (streamed(answer.encode()) if isinstance(answer, str) else plain(answer)).ai_message
        names = {call.id: call.name for call in reply.tool_execution_requests}
        messages.append(reply)
        new = after["request"]["body"]["messages"][sent:]
        assert [message["role"] for message in new] == ["assistant", "user"]
        for block in new[1]["content"]:
            identity = block["tool_use_id"]
            messages.append(
                ToolExecutionResultMessage(
                    identity,
                    names[identity],
                    [TextContent(text_of(block["content"]))],
                    is_error=bool(block.get("is_error")),
                )
            )
        sent += len(new)
    return messages


def parameters(body: Mapping[str, Any]) -> ChatRequestParameters:
    """The recorded settings as ours."""
    tools, custom = [], {}
    for tool in body.get("tools", ()):
        if "input_schema" not in tool:
            custom.setdefault("tools", []).append(tool)
            continue
        schema = ToolParameters(tool["input_schema"])
        tools.append(ToolSpecification(tool["name"], tool.get("description"), schema))
    if "thinking" in body:
        custom["thinking"] = body["thinking"]
    choice = body.get("tool_choice")
    kinds = {"auto": ToolChoice.AUTO, "any": ToolChoice.REQUIRED, "none": ToolChoice.NONE}
    return ChatRequestParameters(
        model_name=body["model"],
        max_output_tokens=body["max_tokens"],
        temperature=body.get("temperature"),
        tools=tools,
        tool_choice=None
        if choice is None
        else ToolChoice.tool(choice["name"])
        if choice["type"] == "tool"
        else kinds[choice["type"]],
        custom_parameters=custom,
    )


def test_every_further_request_is_made_again(shared: Path) -> None:
    """The whole body, thinking with its signature and the provider's own blocks in place."""
    made = kinds = 0
    for name, chain in further_rounds(shared):
        recorded = chain[-1]["request"]["body"]
        body = body_of(history(chain), parameters(recorded))
        if recorded.get("stream"):
            body["stream"] = True
        assert normal(body) == normal(recorded), name
        made += 1
        kinds += sum(block["type"] not in ("text", "tool_use", "tool_result") for block in _blocks(normal(body)))
    assert made == 15
    assert kinds == 3, "thinking, a call of the provider's own and its result"


def test_signatures_go_back_byte_for_byte(shared: Path) -> None:
    """In the place where they came, before the text and the call."""
    chain = next(chain for name, chain in further_rounds(shared) if "tool-with-thinking" in name)
    recorded = chain[0]["response"]["body"]["content"][0]
    sent = body_of(history(chain), parameters(chain[-1]["request"]["body"]))["messages"][1]["content"]
    assert sent[0] == recorded
    assert [block["type"] for block in sent] == ["thinking", "text", "tool_use"]


def test_each_normalisation_is_needed(shared: Path) -> None:
    """The list holds nothing that hides a difference nobody has."""
    needed = set()
    for _, chain in further_rounds(shared):
        recorded = chain[-1]["request"]["body"]
        body = body_of(history(chain), parameters(recorded))
        for index, (change, _) in enumerate(NORMALISATIONS):
            for side in (body, recorded):
                before = copy.deepcopy(dict(side))
                if index:
                    _text_is_a_block(before)
                after = copy.deepcopy(before)
                change(after)
                if before != after:
                    needed.add(change)
    assert needed == {change for change, _ in NORMALISATIONS}
