"""All that a `ToolLoop` knows, as values that can be saved as JSON and taken up again.

Texts, parts, attributes and outcomes are saved; the result objects are not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from agentforge.errors import RunStateError
from agentforge.model.history import History
from agentforge.model.messages import ChatMessage, Message, ToolExecutionResultMessage
from agentforge.model.response import ChatResponse
from agentforge.model.specification import ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.tool.declare import ReturnBehavior
from agentforge.tool.execution.gate import Ask
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.result import ToolExecutionResult

__all__ = ("STATE_VERSION", "CallRecord", "OfferedTool", "PendingCall", "ToolLoopState")

STATE_VERSION = 1


class OfferedTool:
    """What a request offered under one name: its return behaviour, and a digest that changes with its declaration."""

    __slots__ = ("_digest", "_specification", "return_behavior")

    def __init__(
        self,
        return_behavior: ReturnBehavior,
        specification: ToolSpecification | None = None,
        digest: str | None = None,
    ) -> None:
        self.return_behavior = return_behavior
        self._specification = specification
        self._digest = digest

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration, made when first asked for."""
        if self._digest is None:
            declared = self._specification.to_json() if self._specification is not None else None
            text = json.dumps(declared, sort_keys=True, default=str)
            self._digest = hashlib.sha256(text.encode()).hexdigest()
        return self._digest


class PendingCall(NamedTuple):
    """A call that has no result yet, by its position in the reply."""

    position: int
    request: ToolExecutionRequest


class CallRecord(NamedTuple):
    """One finished call: the round and position it was made at, and what came of it."""

    round: int
    position: int
    request: ToolExecutionRequest
    outcome: ToolOutcome
    result: ToolExecutionResult


@dataclass(slots=True)
class ToolLoopState:
    """The loop's memory. ``reply`` is a reply whose calls are not all answered; it is in no history yet."""

    messages: History = field(default_factory=History)
    max_tool_calling_round_trips: int = 100
    model_calls: int = 0
    token_usage: TokenUsage = field(default_factory=TokenUsage)
    records: list[CallRecord] = field(default_factory=list)
    reply: ChatResponse | None = None
    offered: dict[str, OfferedTool] = field(default_factory=dict)
    results: dict[int, tuple[ToolOutcome, ToolExecutionResult]] = field(default_factory=dict)
    waiting: dict[int, Ask] = field(default_factory=dict)
    #: The states of runs that calls of the reply hold and that wait themselves, by position.
    nested: dict[int, ToolLoopState] = field(default_factory=dict)
    #: How many of ``messages`` were there before the turn.
    given: int = 0
    #: Of a run that waits, the parts of ``token_usage`` by the model's name (empty where it is not known).
    usage_by_model: dict[str, TokenUsage] = field(default_factory=dict)
    #: What goes behind ``messages`` in the next request alone, as the provider refused what the model made.
    correction: tuple[ChatMessage, ...] = ()

    def copied(self) -> ToolLoopState:
        """The same state, to be driven on while this one stays as it is."""
        return replace(
            self,
            records=list(self.records),
            offered=dict(self.offered),
            results=dict(self.results),
            waiting=dict(self.waiting),
            nested=dict(self.nested),
            usage_by_model=dict(self.usage_by_model),
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object, versioned."""
        from agentforge.model.serialization import messages_to_json, response_to_json, usage_to_json

        return {
            "version": STATE_VERSION,
            "messages": messages_to_json(self.messages),
            "max_tool_calling_round_trips": self.max_tool_calling_round_trips,
            "model_calls": self.model_calls,
            "given": self.given,
            "token_usage": usage_to_json(self.token_usage),
            "usage_by_model": {name: usage_to_json(usage) for name, usage in self.usage_by_model.items()},
            "records": [
                {
                    "round": record.round,
                    "position": record.position,
                    "arguments": record.request.arguments,
                    **_result_to_json(record.request, record.outcome, record.result),
                }
                for record in self.records
            ],
            "reply": None if self.reply is None else response_to_json(self.reply),
            "offered": {
                name: {"return_behavior": tool.return_behavior.value, "digest": tool.digest}
                for name, tool in self.offered.items()
            },
            "results": [
                {"position": position, **_result_to_json(self._call(position), outcome, result)}
                for position, (outcome, result) in sorted(self.results.items())
            ],
            "waiting": [{"position": at, "reason": ask.reason} for at, ask in sorted(self.waiting.items())],
            "nested": [{"position": at, "state": state.to_json()} for at, state in sorted(self.nested.items())],
            "correction": messages_to_json(self.correction),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str) -> ToolLoopState:
        """Read what `to_json` wrote. Raises `RunStateError` for another version or a broken state."""
        from agentforge.model.serialization import messages_from_json, response_from_json, usage_from_json

        try:
            if isinstance(data, str):
                data = json.loads(data)
            if not isinstance(data, Mapping) or data.get("version") != STATE_VERSION:
                found = data.get("version") if isinstance(data, Mapping) else None
                raise RunStateError(
                    f"a saved run state of version {found!r} cannot be read; this is version {STATE_VERSION}"
                )
            return cls(
                messages=History.of(messages_from_json(data["messages"])),
                max_tool_calling_round_trips=int(data["max_tool_calling_round_trips"]),
                model_calls=int(data["model_calls"]),
                given=int(data.get("given", 0)),
                token_usage=usage_from_json(data["token_usage"]),
                usage_by_model={name: usage_from_json(usage) for name, usage in data.get("usage_by_model", {}).items()},
                records=[_record_from_json(item) for item in data["records"]],
                reply=None if data["reply"] is None else response_from_json(data["reply"]),
                offered={
                    name: OfferedTool(ReturnBehavior(item["return_behavior"]), digest=item["digest"])
                    for name, item in data["offered"].items()
                },
                results={int(item["position"]): _result_from_json(item) for item in data["results"]},
                waiting={int(item["position"]): Ask(item["reason"]) for item in data["waiting"]},
                nested={int(item["position"]): cls.from_json(item["state"]) for item in data.get("nested", ())},
                correction=tuple(messages_from_json(data["correction"])) if "correction" in data else (),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, RunStateError):
                raise
            raise RunStateError(f"a saved run state cannot be read: {type(error).__name__}: {error}") from None

    def _call(self, position: int) -> ToolExecutionRequest:
        if self.reply is None:
            raise RunStateError("results without a reply")
        return self.reply.ai_message.tool_execution_requests[position]


def _result_to_json(request: ToolExecutionRequest, outcome: ToolOutcome, result: ToolExecutionResult) -> dict[str, Any]:
    return {"outcome": outcome.value, "message": result.to_message(request).to_json()}


def _result_from_json(item: Mapping[str, Any]) -> tuple[ToolOutcome, ToolExecutionResult]:
    message = Message.from_json(item["message"])
    if not isinstance(message, ToolExecutionResultMessage):
        raise RunStateError("a call's saved result is not a tool result message")
    return ToolOutcome(item["outcome"]), ToolExecutionResult(
        parts=message.contents, is_error=message.is_error, attributes=message.attributes
    )


def _record_from_json(item: Mapping[str, Any]) -> CallRecord:
    outcome, result = _result_from_json(item)
    message = item["message"]
    request = ToolExecutionRequest(str(message["id"]), str(message["tool_name"]), str(item["arguments"]))
    return CallRecord(int(item["round"]), int(item["position"]), request, outcome, result)
