"""How a model acts: declaring tools, the sources they come from, and the engine that runs them."""

from typing import TYPE_CHECKING

from agentforge.later import loaded_later
from agentforge.tool.declare import (
    MISSING,
    Hidden,
    MemoryId,
    P,
    ReturnBehavior,
    ToolDeclaration,
    declaration_of,
    tool,
)
from agentforge.tool.source import (
    ArgumentBinder,
    BoundTool,
    Effect,
    ToolExecutor,
    ToolOrigin,
    ToolSelector,
    ToolSource,
    known_tools,
)

if TYPE_CHECKING:
    from agentforge.tool.augment import AugmentedCall, AugmentedConsumer, augmented
    from agentforge.tool.declared import DeclaredTool
    from agentforge.tool.one_argument import function_tool
    from agentforge.tool.refreshing import LoadTools, RefreshingTools
    from agentforge.tool.views import ChooseTools, StaticTools, describe, only, prefix, rename, selecting, without

__all__ = (
    "MISSING",
    "ArgumentBinder",
    "AugmentedCall",
    "AugmentedConsumer",
    "BoundTool",
    "ChooseTools",
    "DeclaredTool",
    "Effect",
    "Hidden",
    "LoadTools",
    "MemoryId",
    "P",
    "RefreshingTools",
    "ReturnBehavior",
    "StaticTools",
    "ToolDeclaration",
    "ToolExecutor",
    "ToolOrigin",
    "ToolSelector",
    "ToolSource",
    "augmented",
    "declaration_of",
    "describe",
    "function_tool",
    "known_tools",
    "only",
    "prefix",
    "rename",
    "selecting",
    "tool",
    "without",
)

# What few programs use is loaded on first use.
_HOME = {
    "AugmentedCall": "augment",
    "AugmentedConsumer": "augment",
    "ChooseTools": "views",
    "DeclaredTool": "declared",
    "LoadTools": "refreshing",
    "RefreshingTools": "refreshing",
    "StaticTools": "views",
    "augmented": "augment",
    "describe": "views",
    "function_tool": "one_argument",
    "only": "views",
    "prefix": "views",
    "rename": "views",
    "selecting": "views",
    "without": "views",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
