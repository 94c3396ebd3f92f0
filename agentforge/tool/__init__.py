"""How a model acts: declaring tools, the sources they come from, and the engine that runs them."""

from agentforge.tool.declare import MISSING, MemoryId, P, ReturnBehavior, ToolDeclaration, declaration_of, tool
from agentforge.tool.source import ArgumentBinder, BoundTool, Effect, ToolExecutor, ToolSource
from agentforge.tool.views import AugmentedCall, StaticTools, augmented, only, prefix, rename, without

__all__ = (
    "MISSING",
    "ArgumentBinder",
    "AugmentedCall",
    "BoundTool",
    "Effect",
    "MemoryId",
    "P",
    "ReturnBehavior",
    "StaticTools",
    "ToolDeclaration",
    "ToolExecutor",
    "ToolSource",
    "augmented",
    "declaration_of",
    "only",
    "prefix",
    "rename",
    "tool",
    "without",
)
