"""Tools, and a place that wants some."""

from agentforge import ToolSource, tool


class Book:
    """Says what stands in it."""

    @tool("Looks tea up.")
    def look_up(self, tea: str) -> str:
        """In the book."""
        return "green"


class Room:
    """Has no tools."""


class Shelf:
    """Holds a source."""

    def __init__(self, source: ToolSource) -> None:
        self.source = source


def brew(tea: str) -> str:
    """Make a cup."""
    return tea
