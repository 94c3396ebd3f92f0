"""Services with tools and without, and a tool of the same name."""

from typing import Protocol

from agentforge import ImageContent, tool


class Clerk(Protocol):
    """No method of it is a tool."""

    async def chat(self, message: str) -> str: ...


class Expert(Protocol):
    """Its one method is a tool."""

    @tool("Answers questions about tea.")
    async def ask_tea(self, question: str) -> str: ...


class Taster(Protocol):
    """Its tool takes what no model can write."""

    @tool("Says which tea it is.")
    async def taste(self, leaves: ImageContent) -> str: ...


class Book:
    """Says the same without a model."""

    @tool("Looks tea up.")
    def ask_tea(self, question: str) -> str:
        """In the book."""
        return "green"
