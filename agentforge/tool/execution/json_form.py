"""Results and events as JSON values, for a program that sends them on: a server's stream, a log, ``--json``."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from agentforge.tool.execution.chat_result import ToolChatResult
from agentforge.tool.execution.events import (
    AttemptDiscarded,
    RoundStarted,
    RunFinished,
    RunSuspended,
    ToolFinished,
    ToolStarted,
)
from agentforge.tool.execution.result import ToolExecution

__all__ = ("event_name", "event_to_json", "execution_to_json", "result_to_json", "rounds_of")

_MAX_DEPTH = 32


def result_to_json(result: ToolChatResult, *, model: str | None = None, seconds: float | None = None) -> dict[str, Any]:
    """A whole turn as JSON values; ``model`` is the name to use where the reply has none, ``seconds`` what it took."""
    from agentforge.model.serialization import citation_to_json, usage_to_json

    response = result.response
    made: dict[str, Any] = {
        "text": result.text,
        "tool_executions": [execution_to_json(execution) for execution in result.tool_executions],
        "rounds": rounds_of(result),
        "usage": usage_to_json(result.token_usage),
        "model": (response.model_name if response is not None else None) or model,
        "finish_reason": response.finish_reason.value if response is not None else None,
        "suspended": result.suspended is not None,
        "notices": [_notice(notice) for notice in result.notices],
    }
    if result.handed_back:
        made["tool_calls"] = [_request(request) for request in result.handed_back]
    if response is not None and response.citations:
        made["citations"] = [citation_to_json(citation) for citation in response.citations]
    return made if seconds is None else made | {"seconds": round(seconds, 3)}


def rounds_of(result: ToolChatResult) -> int:
    """How often the model answered."""
    return len(result.intermediate_responses) + (result.response is not None)


def execution_to_json(execution: ToolExecution) -> dict[str, Any]:
    """One call as JSON values; arguments that are no JSON object stay text."""
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


def event_to_json(event: Event, *, model: str | None = None, seconds: float | None = None) -> dict[str, Any]:
    """One event of a model, a chain or a loop as JSON values, ready for `json.dumps`.

    ``event`` is its name, ``run_id`` its run, ``parent_run_id`` the run that this one works for, where there is one.
    The last event, ``run_finished``, holds the whole result; ``model`` and ``seconds`` are for that: see
    `result_to_json`. Details of a notice that JSON has no form for become their text.

    >>> event_to_json(TextDelta("Hel", run_id="r1"))
    {'event': 'text_delta', 'run_id': 'r1', 'text': 'Hel'}
    """
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
            from agentforge.model.serialization import usage_to_json

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
            made |= {"position": event.position, **execution_to_json(event.execution)}
        case AttemptDiscarded():
            made["reason"] = event.reason
        case RunSuspended():
            made["waiting"] = {str(position): reason for position, reason in event.waiting.items()}
        case RunFinished():
            made["result"] = result_to_json(event.result, model=model, seconds=seconds)
    return made


def _request(request: ToolExecutionRequest) -> dict[str, Any]:
    return {"id": request.id, "name": request.name, "arguments": _arguments(request)}


def _arguments(request: ToolExecutionRequest) -> object:
    try:
        return request.arguments_as_map()
    except ToolArgumentsError:
        return request.arguments


def _notice(notice: Notice) -> dict[str, Any]:
    return {"code": notice.code, "message": notice.message, "details": _plain(notice.details)}


def _plain(value: object, depth: int = 0) -> Any:
    """The value as JSON values; what JSON has no form for, and what is nested too deeply, as its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < _MAX_DEPTH:
        if isinstance(value, Mapping):
            return {str(key): _plain(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [_plain(each, depth + 1) for each in value]
    return str(value)
