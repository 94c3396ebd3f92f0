"""What the model reads in place of a tool calling API: the tools in the system prompt, earlier calls in its own words.

Earlier calls become the JSON they stood for. Results become user messages whose texts are JSON too, so that no result
can pass for another one, or for the user.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentforge.errors import ToolArgumentsError
from agentforge.model.content import Content, TextContent
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = ("describe_tools", "rewrite_history", "with_instructions")

_SIMPLE = frozenset({"type", "description", "enum", "default", "title"})


def describe_tools(
    tools: Sequence[ToolSpecification], *, single: bool, may_answer: bool, answer_is_json: bool, one_call: bool
) -> str:
    """The instructions: the form of the reply, then each tool with its parameters, a line each."""
    lines = ["You can call the tools below. Reply with one JSON object and nothing else."]
    if single:
        lines.append(f'Call the tool: {{"tool":{_compact(tools[0].name)},"arguments":{{...}}}}')
    else:
        lines.append('To call tools: {"calls":[{"tool":"NAME","arguments":{...}}]}')
        if one_call:
            lines.append("Make one call at a time.")
        if may_answer:
            shown = "..." if answer_is_json else '"..."'
            lines.append(f'To answer the user instead: {{"answer":{shown}}}')
        lines.append("You get the result of each call and then reply again.")
    lines.append("Tools:")
    for tool in tools:
        lines.extend(_describe(tool))
    return "\n".join(lines)


def _describe(tool: ToolSpecification) -> Iterable[str]:
    description = " ".join((tool.description or "").split())
    yield f"- {tool.name}: {description}" if description else f"- {tool.name}"
    properties = tool.parameters.properties
    if not properties:
        return
    if not all(isinstance(schema, Mapping) and schema.keys() <= _SIMPLE for schema in properties.values()):
        yield f"  arguments (JSON Schema): {_compact(tool.parameters.schema)}"
        return
    for name, schema in properties.items():
        assert isinstance(schema, Mapping)
        yield _parameter(name, schema, required=name in tool.parameters.required)


def _parameter(name: str, schema: Mapping[str, Any], *, required: bool) -> str:
    kind = schema.get("type", "any")
    notes = [kind if isinstance(kind, str) else " or ".join(map(str, kind)), "required" if required else "optional"]
    if "enum" in schema:
        notes.append(f"one of {_compact(schema['enum'])}")
    if "default" in schema:
        notes.append(f"default {_compact(schema['default'])}")
    description = " ".join(str(schema.get("description", "")).split())
    return f"  {name} ({', '.join(notes)})" + (f": {description}" if description else "")


def with_instructions(messages: Sequence[ChatMessage], instructions: str) -> list[ChatMessage]:
    """The messages with ``instructions`` at the end of the first system message, or in a system message before all."""
    if messages and isinstance(messages[0], SystemMessage):
        contents = messages[0].contents
        if contents and isinstance(contents[-1], TextContent):
            last = replace(contents[-1], text=f"{contents[-1].text}\n\n{instructions}")
            return [SystemMessage((*contents[:-1], last)), *messages[1:]]
        return [SystemMessage((*contents, TextContent(instructions))), *messages[1:]]
    return [SystemMessage(instructions), *messages]


def rewrite_history(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages without calls and results of calls; the same object where there are none."""
    if not any(
        isinstance(message, ToolExecutionResultMessage)
        or (isinstance(message, AiMessage) and message.has_tool_execution_requests)
        for message in messages
    ):
        return messages
    out: list[ChatMessage] = []
    results: list[Content] = []
    for message in messages:
        if isinstance(message, ToolExecutionResultMessage):
            results.extend(_result(message))
            continue
        if results:
            # Roles that alternate are all that some chat templates know, so results join the user's next words.
            if isinstance(message, UserMessage) and message.name is None:
                out.append(UserMessage([*_merged(results), *message.contents]))
                results = []
                continue
            out.append(UserMessage(_merged(results)))
            results = []
        if isinstance(message, AiMessage) and message.has_tool_execution_requests:
            out.append(_calls(message))
        else:
            out.append(message)
    if results:
        out.append(UserMessage(_merged(results)))
    return out


def _calls(message: AiMessage) -> AiMessage:
    said: dict[str, Any] = {}
    if message.text:
        said["answer"] = message.text
    said["calls"] = [
        {"tool": request.name, "arguments": _arguments(request)} for request in message.tool_execution_requests
    ]
    # State of a text part was kept on the first call when the reply was decoded; it goes back where it was.
    first = message.tool_execution_requests[0]
    text = TextContent(_compact(said), first.provider_state if not first.id_was_given else None)
    others = [part for part in message.contents if not isinstance(part, (TextContent, ToolExecutionRequest))]
    return AiMessage([*others, text], provider_state=message.provider_state)


def _arguments(request: ToolExecutionRequest) -> object:
    try:
        return request.arguments_as_map()
    except ToolArgumentsError:
        return request.arguments


def _result(message: ToolExecutionResultMessage) -> Iterable[Content]:
    shown: dict[str, object] = {"tool": message.tool_name, "call": message.id}
    if message.is_error:
        shown["is_error"] = True
    shown["result"] = message.text
    yield TextContent(_compact(shown) + "\n")
    yield from (part for part in message.contents if not isinstance(part, TextContent))


def _merged(parts: Iterable[Content]) -> list[Content]:
    merged: list[Content] = []
    for part in (TextContent("Results of the tool calls:\n"), *parts):
        if merged and isinstance(part, TextContent) and isinstance(merged[-1], TextContent):
            merged[-1] = TextContent(merged[-1].text + part.text)
        else:
            merged.append(part)
    return merged


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
