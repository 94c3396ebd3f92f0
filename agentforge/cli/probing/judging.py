"""How replies are judged: what several questions look at."""

from __future__ import annotations

import json
from typing import Any

from agentforge.cli.probing.found import Found, unsure
from agentforge.cli.text import count
from agentforge.errors import ToolArgumentsError
from agentforge.model import ChatResponse, FinishReason, ToolExecutionRequest, ToolSpecification

__all__ = ("cut_short", "misfit", "named", "said", "schema_problem")


def cut_short(response: ChatResponse) -> Found | None:
    """The finding for a reply that is not whole, so that what is missing in it says nothing."""
    if response.finish_reason is FinishReason.LENGTH:
        return unsure("the reply was cut at the limit of tokens; --max-tokens allows more")
    if response.finish_reason in (FinishReason.REFUSAL, FinishReason.CONTENT_FILTER):
        return unsure(f"the model did not go along: {response.finish_reason.value}")
    return None


def named(response: ChatResponse) -> list[str]:
    """The names of the tools that a reply calls."""
    return [call.name for call in response.ai_message.tool_execution_requests]


def said(response: ChatResponse) -> str:
    """What there is in a reply, in a few words."""
    names = named(response)
    if names:
        return f"{count(len(names), 'call')} ({', '.join(names)})"
    text = " ".join((response.ai_message.text or "").split())
    return f"the text {text[:60]!r}" if text else "nothing"


def misfit(call: ToolExecutionRequest, tool: ToolSpecification) -> str | None:
    """What is wrong with a call's name and arguments; ``None`` for one that fits."""
    if call.name != tool.name:
        return f"the tool {call.name!r} was not offered"
    try:
        arguments = call.arguments_as_map()
    except ToolArgumentsError as error:
        return error.message
    return schema_problem(arguments, dict(tool.parameters.schema))


def schema_problem(value: Any, schema: dict[str, Any]) -> str | None:
    """The first thing in which a value does not fit a schema; a text is read as JSON."""
    from agentforge.tool.spec.json_validator import compile_validator, problems_in

    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return "it is no JSON"
    problems = problems_in(value, compile_validator(schema, tool="answer"))
    return str(problems[0]) if problems else None
