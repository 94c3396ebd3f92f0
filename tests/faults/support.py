"""What the fault tests share: one batch of calls without arguments, and what came of them."""

from __future__ import annotations

from agentforge import Run, ScriptedChatModel, ToolChatResult, ToolService
from agentforge.model.scripted import call, calls
from tests.cases.support import valid


async def one_run(service: ToolService, run: Run | None, *names: str) -> ToolChatResult:
    """One batch of calls without arguments, then an answer."""
    return await service.chat(ScriptedChatModel([calls(*map(call, names)), "done"]), None, "go", context=run)


async def one_batch(service: ToolService, *names: str) -> ToolChatResult:
    """As `one_run`, and all is well with it."""
    result = await one_run(service, None, *names)
    assert result.text == "done" and valid(result.messages)
    return result


def outcomes(result: ToolChatResult) -> list[tuple[str, str]]:
    """Outcome and text of each call, in their order."""
    return [(execution.outcome.name, execution.result_text()) for execution in result.tool_executions]
