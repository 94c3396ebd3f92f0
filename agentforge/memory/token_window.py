"""A window measured in tokens, by a counter that can be exchanged for an exact one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentforge.memory.turns import Turns
from agentforge.memory.windows import check_bound
from agentforge.model.content import ProviderState, TextContent, ThinkingContent
from agentforge.model.history import History
from agentforge.model.messages import ChatMessage, ToolExecutionResultMessage
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = ("TokenCounter", "TokenWindow", "estimate_tokens")

_PER_MESSAGE = 4
_PER_MEDIUM = 1_000


class TokenCounter(Protocol):
    """Says how many tokens a message is. The same message has the same number each time."""

    def __call__(self, message: ChatMessage, /) -> int:
        """Tokens, 0 or more."""
        ...


def estimate_tokens(message: ChatMessage, /) -> int:
    """An estimate and no more: no model's own count. It is made to be rather too high than too low.

    A token for each four ASCII characters and one for each other character (texts, reasoning, calls and opaque provider
    state alike), 1,000 for an image, a sound or a file, 4 for the message itself. English prose comes out about right,
    Chinese about a third too high; code, digits and base64 may be a half too low.

    >>> from agentforge.model import UserMessage
    >>> estimate_tokens(UserMessage("What is the weather like?")), estimate_tokens(UserMessage("天气怎么样"))
    (11, 9)
    """
    tokens = _PER_MESSAGE
    if isinstance(message, ToolExecutionResultMessage):
        tokens += _of_text(message.id) + _of_text(message.tool_name)
    for part in message.contents:
        if isinstance(part, (TextContent, ThinkingContent)):
            tokens += _of_text(part.text) + _of_state(part.provider_state)
        elif isinstance(part, ToolExecutionRequest):
            tokens += _of_text(part.id) + _of_text(part.name) + _of_text(part.arguments)
            tokens += _of_state(part.provider_state)
        else:
            tokens += _PER_MEDIUM
    return tokens + _of_state(getattr(message, "provider_state", None))


def _of_text(text: str) -> int:
    if text.isascii():
        return -(-len(text) // 4)
    ascii_characters = sum(1 for character in text if character < "\x80")
    return -(-ascii_characters // 4) + len(text) - ascii_characters


def _of_state(state: ProviderState | None) -> int:
    return 0 if state is None else _of_text(str(state.data))


class TokenWindow:
    """A `Window` of at most ``max_tokens`` tokens, instructions included, as ``count`` counts them (default:
    `estimate_tokens`, an estimate). Longer only where the instructions and the turn at work alone are.

    Leave room for the tools' declarations and the answer: neither is counted.
    """

    def __init__(self, max_tokens: int, *, count: TokenCounter = estimate_tokens) -> None:
        self.max_tokens = check_bound("max_tokens", max_tokens)
        self._count = count

    def fit(self, messages: Sequence[ChatMessage], *, running: int = 0) -> History:
        """The newest whole turns that the window has room for."""
        return Turns.of(messages, running).newest(self.max_tokens, self._cost)

    def _cost(self, messages: Sequence[ChatMessage]) -> int:
        return sum(map(self._count, messages))

    def __repr__(self) -> str:
        return f"TokenWindow({self.max_tokens})"
