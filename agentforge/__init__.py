"""AgentForge lets a language model act: functions, HTTP APIs and MCP servers become tools, one loop drives them.

The names below are what most programs need. The rest is in the packages `agentforge.model` (how a model speaks),
`agentforge.tool` (how it acts), `agentforge.tool.execution`, `agentforge.tool.error`, `agentforge.memory`,
`agentforge.advisor`, `agentforge.client`, `agentforge.http`, `agentforge.plugin` (for plugin authors),
`agentforge.container`, `agentforge.errors` and `agentforge.testing`.
"""

import typing

from agentforge.errors import AgentForgeError, ModelError, RunError, ToolError
from agentforge.later import loaded_later
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ImageContent,
    Notice,
    ResponseDone,
    ResponseFormat,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.model.scripted import ScriptedChatModel
from agentforge.tool import BoundTool, Hidden, MemoryId, P, ReturnBehavior, ToolSource, tool
from agentforge.tool.error import ToolErrorContext, ToolErrorHandlerResult
from agentforge.tool.execution import (
    Run,
    RunFinished,
    ToolChatResult,
    ToolContext,
    ToolExecution,
    ToolExecutionResult,
    ToolFinished,
    ToolOutcome,
    ToolService,
    ToolStarted,
)

if typing.TYPE_CHECKING:
    from agentforge.advisor import Advised, Advisor, Chain
    from agentforge.client import ChatClient, Result, ai_service, system, user
    from agentforge.container import AgentForge

__version__ = "0.1.0"

__all__ = (
    "Advised",
    "Advisor",
    "AgentForge",
    "AgentForgeError",
    "AiMessage",
    "BoundTool",
    "Chain",
    "ChatClient",
    "ChatMessage",
    "ChatModel",
    "ChatRequest",
    "ChatRequestParameters",
    "ChatResponse",
    "FinishReason",
    "Hidden",
    "ImageContent",
    "MemoryId",
    "ModelError",
    "Notice",
    "P",
    "ResponseDone",
    "ResponseFormat",
    "Result",
    "ReturnBehavior",
    "Run",
    "RunError",
    "RunFinished",
    "ScriptedChatModel",
    "SystemMessage",
    "TextDelta",
    "ThinkingDelta",
    "TokenUsage",
    "ToolChatResult",
    "ToolChoice",
    "ToolContext",
    "ToolError",
    "ToolErrorContext",
    "ToolErrorHandlerResult",
    "ToolExecution",
    "ToolExecutionRequest",
    "ToolExecutionResult",
    "ToolExecutionResultMessage",
    "ToolFinished",
    "ToolOutcome",
    "ToolParameters",
    "ToolService",
    "ToolSource",
    "ToolSpecification",
    "ToolStarted",
    "UserMessage",
    "ai_service",
    "system",
    "tool",
    "user",
)

# What stands on the layers above, and is loaded when it is used.
_HOME = {
    "Advised": "advisor",
    "Advisor": "advisor",
    "AgentForge": "container",
    "Chain": "advisor",
    "ChatClient": "client",
    "Result": "client",
    "ai_service": "client",
    "system": "client",
    "user": "client",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del loaded_later
