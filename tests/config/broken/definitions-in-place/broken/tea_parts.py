"""An interface that a model answers."""

from typing import Protocol


class Clerk(Protocol):
    """Talks, and sorts."""

    async def chat(self, message: str) -> str: ...

    async def sort(self, message: str) -> int: ...
