"""What the SDK wants of any stream beside its messages: a scope whose end is the stream's. Loads nothing of it."""

from __future__ import annotations

from typing import Self

__all__ = ("Stream",)


class Stream:
    """A stream of ours in the SDK's form; whoever reads or writes says what it gives or takes."""

    async def aclose(self) -> None:
        """No more of it; by itself there is nothing to end."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
