"""What a whole run came to (seed A 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentforge.errors import RunError
from agentforge.model.events import Notice
from agentforge.model.history import History
from agentforge.model.response import ChatResponse
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.tool.execution.result import ToolExecution
from agentforge.tool.execution.state import ToolLoopState

__all__ = ("ToolChatResult",)


@dataclass(frozen=True, slots=True)
class ToolChatResult:
    """The result of `ToolService.chat`.

    ``messages`` is the whole valid history with the final reply, so that a conversation goes on with it.
    ``intermediate_responses`` are the replies that asked for calls and were followed by another. ``token_usage`` is
    summed over all replies. ``suspended`` is the state of a run that waits for decisions (then there is no final
    response); give it to `ToolService.resume`.
    """

    response: ChatResponse | None
    tool_executions: Sequence[ToolExecution]
    intermediate_responses: Sequence[ChatResponse]
    token_usage: TokenUsage
    messages: History
    suspended: ToolLoopState | None = None
    notices: Sequence[Notice] = ()
    returned_directly: bool = False
    run_id: str = field(default="", compare=False)

    @property
    def final_response(self) -> ChatResponse:
        """The last reply. After an immediate return it holds the calls and no text. Raises `RunError` while the run
        is suspended."""
        if self.response is None:
            raise RunError(
                "the run is suspended and has no final response",
                next_step="Decide about the waiting calls and resume with result.suspended.",
            )
        return self.response

    @property
    def text(self) -> str | None:
        """The answer: the final reply's text, or after an immediate return the tools' texts, one a line."""
        if not self.returned_directly:
            return self.response.ai_message.text if self.response is not None else None
        return "\n".join(execution.result_text() for execution in self._last_batch()) or None

    @property
    def content(self) -> str | None:
        """`text`, under the name that a reply's content has elsewhere."""
        return self.text

    @property
    def handed_back(self) -> tuple[ToolExecutionRequest, ...]:
        """The calls of the last reply that the caller is to run: the reply is then in no history yet. Its message and
        the results behind ``messages`` make the next request."""
        if self.response is None or self.returned_directly:
            return ()
        message = self.response.ai_message
        known = any(each is message or each == message for each in reversed(self.messages))
        return () if known else message.tool_execution_requests

    @property
    def immediate_results(self) -> tuple[object, ...]:
        """The objects that tools returned straight to the caller, in call order (text where there is no object)."""
        if not self.returned_directly:
            return ()
        results = (execution.result for execution in self._last_batch())
        return tuple(result.text if result.result is None else result.result for result in results)

    def _last_batch(self) -> tuple[ToolExecution, ...]:
        response = self.response
        count = len(response.ai_message.tool_execution_requests) if response is not None else 0
        return tuple(self.tool_executions[-count:]) if count else ()
