"""Interfaces, and what is none."""

from typing import Any, Protocol, final


class Clerk(Protocol):
    """An interface."""

    async def chat(self, message: str) -> str: ...


class Parrot:
    """Its one method has a body."""

    def chat(self, message: str) -> str:
        """Says it again."""
        return message


@final
class Closed:
    """Nothing can be derived from it."""

    def chat(self, message: str) -> str: ...


class Vague(Protocol):
    """Does not say what is asked, nor what comes."""

    async def chat(self, message: str, place: str) -> str: ...

    async def guess(self, message: str) -> Any: ...


def chat(message: str) -> str:
    """A function."""
    return message
