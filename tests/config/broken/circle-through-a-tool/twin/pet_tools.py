"""A tool that itself asks the assistant."""

from collections.abc import Callable

from agentforge import ChatClient, tool


class Pets:
    """Knows pets, and asks about the others."""

    def __init__(self, chat: Callable[[], ChatClient]) -> None:
        self.chat = chat

    @tool("The sound of a pet.")
    def sound(self, pet: str) -> str:
        """The sound."""
        return "woof"
