"""An assistant as one tool: a question in, its answer out, and what it is doing told on the way."""

from __future__ import annotations

from agentforge.client import ChatClient
from agentforge.errors import ToolExecutionError
from agentforge.model import Notice, ToolExecutionRequest, ToolParameters, ToolSpecification
from agentforge.tool import BoundTool
from agentforge.tool.execution import RoundStarted, Run, ToolContext, ToolStarted, bound_tool_from

__all__ = ("assistant_tool",)

_QUESTION = ToolParameters.builder().add_property("question", "string", "What to ask, in full.", required=True).build()


def assistant_tool(
    name: str, client: ChatClient, *, description: str | None = None, timeout: float = 300.0
) -> BoundTool:
    """The client as a tool with the parameter ``question``.

    Its turn is a run of its own under the call's: same tenant and roles, cancelled with it. A turn that waits for a
    decision is an error that says so.
    """
    specification = ToolSpecification(name, description or f"Ask the assistant {name!r} a question.", _QUESTION)

    async def ask(request: ToolExecutionRequest, context: ToolContext) -> str:
        question = str(request.arguments_as_map()["question"])
        run = Run(parent=context.run, tenant=context.tenant, roles=context.roles, user_data=context.user_data)
        async with client.prompt(question).stream(run, nested=True) as events:
            async for event in events:
                match event:
                    case RoundStarted(round=number) if number:
                        await context.notify("round", f"round {number + 1}")
                    case ToolStarted(request=called):
                        await context.notify("tool", f"calls {called.name}")
                    case Notice(code=code, message=message, details=details):
                        await context.notify(code, message, details)
            result = events.result
        if result.suspended is not None:
            raise ToolExecutionError(
                f"the assistant {name!r} waits for a decision about a call, which cannot be given here",
                tool=name,
                next_step="Ask for something that needs none, or ask it where decisions can be given.",
            )
        return result.text or ""

    return bound_tool_from(specification, ask, source_name=name, timeout=timeout)
