"""How a model acts: declaring tools, the sources they come from, and the engine that runs them."""

from typing import TYPE_CHECKING

from agentforge.tool.declare import MISSING, MemoryId, P, ReturnBehavior, ToolDeclaration, declaration_of, tool
from agentforge.tool.source import ArgumentBinder, BoundTool, Effect, ToolExecutor, ToolSource

if TYPE_CHECKING:
    from agentforge.tool.augment import AugmentedCall, AugmentedConsumer, augmented
    from agentforge.tool.one_argument import function_tool
    from agentforge.tool.views import ChooseTools, StaticTools, describe, only, prefix, rename, selecting, without

__all__ = (
    "MISSING",
    "ArgumentBinder",
    "AugmentedCall",
    "AugmentedConsumer",
    "BoundTool",
    "ChooseTools",
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
    "describe",
    "function_tool",
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

del TYPE_CHECKING  # what is visible here is public


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
