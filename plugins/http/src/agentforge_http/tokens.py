"""Access tokens that are fetched and end: what a bean that gives them does."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ("TokenProvider",)


@runtime_checkable
class TokenProvider(Protocol):
    """Gives the token that goes as ``Authorization: Bearer``; asked before each request, so that it keeps one."""

    async def token(self, refused: str | None = None) -> str:
        """A token that is good now; ``refused`` is one that the API has just answered with 401, never to be given
        again. Raises `ToolExecutionError`, with words for the model and without secrets."""
        ...
