"""The two tools that every contender offers: they do nothing but count, so that what is measured is the way to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

__all__ = ("PROMPT", "Tally", "make_tools")

PROMPT = "How is the weather in Hangzhou? And please book two lamps."


class Tally:
    """How many tools have run."""

    def __init__(self) -> None:
        self.executed = 0


def make_tools(tally: Tally) -> tuple[Callable[..., Awaitable[str]], ...]:
    """Both tools, counting into a tally."""

    async def weather(city: str) -> str:
        """Current weather of a city."""
        tally.executed += 1
        return f"{city}: 21 degrees, light rain"

    async def book(item: str, quantity: int, note: str) -> str:
        """Book an item."""
        tally.executed += 1
        return f"Booked {quantity} of {item}"

    return weather, book
