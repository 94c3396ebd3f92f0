"""The front desk's tools, and the choice of those that are there only while somebody speaks of booking."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from agentforge import BoundTool, P, Run, ToolSource, UserMessage, tool
from agentforge.tool import selecting


class FrontDesk:
    """What a guest may ask at any time."""

    @tool("酒店的入住、退房和早餐时间。 When guests arrive and leave, and when breakfast is.", effect="read")
    def house_times(self) -> dict[str, str]:
        """The same every day."""
        return {"check_in": "15:00", "check_out": "11:00", "breakfast": "07:00-10:00"}


class Bookings:
    """Books rooms and cancels them again; a dictionary stands in for the hotel's system."""

    def __init__(self) -> None:
        self.booked: dict[str, str] = {}

    @tool("预订客房。 Books a room; the answer is the booking's number.", effect="write")
    def book_room(
        self,
        room: Annotated[Literal["single", "double"], P("房型：单人间或双人间")],
        arrival: Annotated[date, P("入住日期，如 2026-11-20")],
        nights: Annotated[int, Field(ge=1, le=30), P("住几晚")],
    ) -> str:
        """Book it, under a new number."""
        number = f"R{len(self.booked) + 1:04}"
        self.booked[number] = f"{room}, {arrival}, {nights} nights"
        return number

    @tool("按预订号取消预订。 Cancels a booking, by its number.", effect="write")
    def cancel_booking(self, number: Annotated[str, P("预订号，如 R0001")]) -> str:
        """Cancel it, if there is one of this number."""
        if self.booked.pop(number, None) is None:
            raise LookupError(f"There is no booking {number}.")
        return f"{number} is cancelled."


def when_spoken_of(source: ToolSource, words: list[str], look_back: Annotated[int, Field(ge=1)] = 1) -> ToolSource:
    """The source's tools, as long as one of ``words`` stands in the user's last ``look_back`` messages.

    The choice is made for each request. With 1 only the message counts that this turn answers, whatever was spoken of
    before.
    """
    patterns = [_pattern(word) for word in words]

    def choose(run: Run, tools: Sequence[BoundTool]) -> Sequence[BoundTool]:
        said = [message.text for message in run.messages if isinstance(message, UserMessage)][-look_back:]
        return tools if any(pattern.search(text) for pattern in patterns for text in said) else ()

    return selecting(source, choose)


def _pattern(word: str) -> re.Pattern[str]:
    """Whole words where words are spelt with letters ("notebook" is none); Chinese has no gaps between them."""
    letters = r"(?<![a-z]){}(?![a-z])" if word.isascii() else "{}"
    return re.compile(letters.format(re.escape(word)), re.IGNORECASE)
