"""Results and events as JSON values: what ``--json`` writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentforge.errors import ToolArgumentsError
from agentforge.model import (
    Event,
    Notice,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    UsageEvent,
)
from agentforge.model.serialization import usage_to_json
from agentforge.tool.execution import (
    AttemptDiscarded,
    RoundStarted,
    RunFinished,
    RunSuspended,
    ToolChatResult,
    ToolExecution,
    ToolFinished,
    ToolStarted,
)

__all__ = ("event_data", "event_name", "execution_data", "result_data", "rounds_of")


def result_data(result: ToolChatResult, *, model: str, seconds: float) -> dict[str, Any]:
    """A whole turn; ``model`` is the name to use where the reply has none."""
    response = result.response
    return {
        "text": result.text,
        "tool_executions": [execution_data(execution) for execution in result.tool_executions],
        "rounds": rounds_of(result),
        "usage": usage_to_json(result.token_usage),
        "model": (response.model_name if response is not None else None) or model,
        "finish_reason": response.finish_reason.value if response is not None else None,
        "suspended": result.suspended is not None,
        "notices": [_notice(notice) for notice in result.notices],
        "seconds": round(seconds, 3),
    }


def rounds_of(result: ToolChatResult) -> int:
    """How often the model answered."""
    return len(result.intermediate_responses) + (result.response is not None)


def execution_data(execution: ToolExecution) -> dict[str, Any]:
    """One call; arguments that are no JSON object stay text."""
    return {
        "id": execution.request.id,
        "name": execution.request.name,
        "arguments": _arguments(execution.request),
        "outcome": execution.outcome.value,
        "result": execution.result_text(),
        "seconds": round(execution.elapsed, 3),
    }


def event_name(event: Event) -> str:
    """An event's name: its class in small letters, ``text_delta``.

    >>> event_name(TextDelta("a"))
    'text_delta'
    """
    name = type(event).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def event_data(event: Event, *, model: str, seconds: float) -> dict[str, Any]:
    """One event: ``event`` is its name, ``run_id`` its run; the last one holds the whole result."""
    made: dict[str, Any] = {"event": event_name(event), "run_id": event.run_id}
    if event.parent_run_id is not None:
        made["parent_run_id"] = event.parent_run_id
    match event:
        case TextDelta(text=text) | ThinkingDelta(text=text):
            made["text"] = text
        case ToolCallDelta():
            made |= {"index": event.index, "id": event.id, "name": event.name, "arguments_delta": event.arguments_delta}
        case ToolCallReady():
            made |= {"index": event.index, **_request(event.request)}
        case UsageEvent():
            made["usage"] = usage_to_json(replace(event.usage, raw=None))
        case ResponseDone(response=response):
            made |= {"model": response.model_name, "finish_reason": response.finish_reason.value}
        case Notice():
            made |= _notice(event)
        case RoundStarted():
            made["round"] = event.round
        case ToolStarted():
            made |= {"position": event.position, **_request(event.request)}
        case ToolFinished():
            made |= {"position": event.position, **execution_data(event.execution)}
        case AttemptDiscarded():
            made["reason"] = event.reason
        case RunSuspended():
            made["waiting"] = {str(position): reason for position, reason in event.waiting.items()}
        case RunFinished():
            made["result"] = result_data(event.result, model=model, seconds=seconds)
    return made


def _request(request: ToolExecutionRequest) -> dict[str, Any]:
    return {"id": request.id, "name": request.name, "arguments": _arguments(request)}


def _arguments(request: ToolExecutionRequest) -> object:
    try:
        return request.arguments_as_map()
    except ToolArgumentsError:
        return request.arguments


def _notice(notice: Notice) -> dict[str, Any]:
    return {"code": notice.code, "message": notice.message, "details": dict(notice.details)}
