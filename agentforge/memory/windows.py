"""How much of a conversation goes on to the model, and stays: whole turns, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from agentforge.errors import ConfigurationError
from agentforge.memory.turns import Turns
from agentforge.model.history import History
from agentforge.model.messages import ChatMessage

__all__ = ("Everything", "MessageWindow", "Window", "check_bound")


@runtime_checkable
class Window(Protocol):
    """Cuts a conversation to size. What it keeps is a valid history: whole turns, the newest, and the instructions."""

    def fit(self, messages: Sequence[ChatMessage], *, running: int = 0) -> History:
        """What is kept, of any messages (they are mended where they are no valid history; never changed).

        The last ``running`` messages are the turn at work and are never cut; nor is the last turn when it is 0. The
        system message is moved to the front and always kept; a newer one replaces those before it (several that stand
        together are one).
        """
        ...


class Everything:
    """A `Window` that keeps every turn. A conversation then grows without a bound."""

    def fit(self, messages: Sequence[ChatMessage], *, running: int = 0) -> History:
        """All turns, behind the instructions."""
        turns = Turns.of(messages, running)
        return turns.history(turns.turns)

    def __repr__(self) -> str:
        return "Everything()"


class MessageWindow:
    """A `Window` of at most ``max_messages`` messages, instructions included. Longer only where the instructions and
    the turn at work alone are.

    >>> from agentforge.model import AiMessage, UserMessage
    >>> talk = [UserMessage("1"), AiMessage("one"), UserMessage("2"), AiMessage("two"), UserMessage("3")]
    >>> [message.text for message in MessageWindow(4).fit(talk)]
    ['2', 'two', '3']
    """

    def __init__(self, max_messages: int) -> None:
        self.max_messages = check_bound("max_messages", max_messages)

    def fit(self, messages: Sequence[ChatMessage], *, running: int = 0) -> History:
        """The newest whole turns that the window has room for."""
        return Turns.of(messages, running).newest(self.max_messages, len)

    def __repr__(self) -> str:
        return f"MessageWindow({self.max_messages})"


def check_bound(name: str, value: object, least: int = 1) -> int:
    """The value; raises `ConfigurationError` unless it is a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value
