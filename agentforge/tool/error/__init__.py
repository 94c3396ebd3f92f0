"""What happens when a call fails: handlers, their context, and the named strategies."""

from agentforge.tool.error.handler import (
    ToolErrorContext,
    ToolErrorHandler,
    ToolErrorHandlerResult,
    UnknownToolStrategy,
)
from agentforge.tool.error.strategies import (
    STRATEGIES,
    ListKnownTools,
    Mask,
    Rethrow,
    ReturnToModel,
    Template,
    strategy,
)

__all__ = (
    "STRATEGIES",
    "ListKnownTools",
    "Mask",
    "Rethrow",
    "ReturnToModel",
    "Template",
    "ToolErrorContext",
    "ToolErrorHandler",
    "ToolErrorHandlerResult",
    "UnknownToolStrategy",
    "strategy",
)
