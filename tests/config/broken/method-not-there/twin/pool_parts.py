"""Components with methods of their own names."""

from collections.abc import Callable

from agentforge import tool


class Pool:
    """Has both."""

    def open(self) -> None:
        """The start."""

    def shutdown(self) -> None:
        """The end."""


class PoolTools:
    """Has none, and a tool."""

    @tool
    def ping(self) -> str:
        """Whether it is there."""
        return "yes"


class Own:
    """Its objects have what the class does not show."""

    def __init__(self) -> None:
        self.begin: Callable[[], None] = list

    def __getattr__(self, name: str) -> Callable[[], None]:
        return list
