"""From a reply to its results: the run, gates and interceptors, the loop, its driver, and the service on top."""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge.tool.execution.asked import history_of, run_of
from agentforge.tool.execution.batch import Emit
from agentforge.tool.execution.chat_result import ToolChatResult
from agentforge.tool.execution.converter import ToolResultConverter
from agentforge.tool.execution.current import CurrentRun, current_call, current_run, current_run_loop
from agentforge.tool.execution.default_executor import DefaultToolExecutor, bound_tool_from, bound_tools_from
from agentforge.tool.execution.driver import Answer, AskModel, Rounds, ToolDriver
from agentforge.tool.execution.events import (
    AttemptDiscarded,
    RoundStarted,
    RunEvent,
    RunFinished,
    RunStarted,
    RunSuspended,
    ToolFinished,
    ToolStarted,
)
from agentforge.tool.execution.gate import (
    Ask,
    CallNext,
    PlannedCall,
    Proceed,
    Refuse,
    ToolGate,
    ToolInterceptor,
    Verdict,
)
from agentforge.tool.execution.loop import CallModel, Finish, FinishKind, NextStep, RunBatch, Suspend, ToolLoop
from agentforge.tool.execution.nested import NestedSuspension, taken_up_state
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.result import ToolExecution, ToolExecutionResult
from agentforge.tool.execution.run import Cancellation, PartialRun, Run, ToolContext
from agentforge.tool.execution.schema_validator import SchemaValidator
from agentforge.tool.execution.scope import RunScope
from agentforge.tool.execution.service import ToolService
from agentforge.tool.execution.settings import ErrorHandlers, ToolSettings
from agentforge.tool.execution.state import CallRecord, OfferedTool, PendingCall, ToolLoopState
from agentforge.tool.execution.stream import RunStream
from agentforge.tool.execution.threads import ThreadCounts, ToolThreads
from agentforge.tool.execution.under_way import RunsUnderWay

if TYPE_CHECKING:
    from agentforge.tool.execution.json_form import (
        event_name,
        event_to_json,
        execution_to_json,
        result_to_json,
        rounds_of,
    )

__all__ = (
    "Answer",
    "Ask",
    "AskModel",
    "AttemptDiscarded",
    "CallModel",
    "CallNext",
    "CallRecord",
    "Cancellation",
    "CurrentRun",
    "DefaultToolExecutor",
    "Emit",
    "ErrorHandlers",
    "Finish",
    "FinishKind",
    "NestedSuspension",
    "NextStep",
    "OfferedTool",
    "PartialRun",
    "PendingCall",
    "PlannedCall",
    "Proceed",
    "Refuse",
    "RoundStarted",
    "Rounds",
    "Run",
    "RunBatch",
    "RunEvent",
    "RunFinished",
    "RunScope",
    "RunStarted",
    "RunStream",
    "RunSuspended",
    "RunsUnderWay",
    "SchemaValidator",
    "Suspend",
    "ThreadCounts",
    "ToolChatResult",
    "ToolContext",
    "ToolDriver",
    "ToolExecution",
    "ToolExecutionResult",
    "ToolFinished",
    "ToolGate",
    "ToolInterceptor",
    "ToolLoop",
    "ToolLoopState",
    "ToolOutcome",
    "ToolResultConverter",
    "ToolService",
    "ToolSettings",
    "ToolStarted",
    "ToolThreads",
    "Verdict",
    "bound_tool_from",
    "bound_tools_from",
    "current_call",
    "current_run",
    "current_run_loop",
    "event_name",
    "event_to_json",
    "execution_to_json",
    "history_of",
    "result_to_json",
    "rounds_of",
    "run_of",
    "taken_up_state",
)

# What only a program that sends results on needs is loaded on first use.
_HOME = dict.fromkeys(("event_name", "event_to_json", "execution_to_json", "result_to_json", "rounds_of"), "json_form")

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
