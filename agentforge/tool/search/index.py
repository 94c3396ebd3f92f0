"""What every index of tools fulfils."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from agentforge.model.specification import ToolSpecification

__all__ = ("ToolIndex",)


@runtime_checkable
class ToolIndex(Protocol):
    """Finds tools by what they do.

    An index does not change: conversations with different tools search side by side, each in one that `rebuild` gave.
    """

    def rebuild(self, specifications: Sequence[ToolSpecification]) -> ToolIndex:
        """An index of these tools with the same settings; this one stays as it is."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[str]:
        """The names of at most ``limit`` tools, the best first; none where nothing fits."""
        ...
