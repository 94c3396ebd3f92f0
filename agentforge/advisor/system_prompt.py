"""The system message of a request, set or amended in one place."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Literal, TypeAlias

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.errors import ConfigurationError
from agentforge.model import ChatMessage, ChatRequest, SystemMessage, TextContent
from agentforge.tool.execution import Run

__all__ = ("SystemPromptAdvisor", "SystemPromptMode")

SystemPromptMode: TypeAlias = Literal["append", "prepend", "replace", "if_missing"]
"""What becomes of a system message that is there already."""
_MODES = ("append", "prepend", "replace", "if_missing")
_KEPT = 64


class SystemPromptAdvisor:
    """Gives the request a system message, or adds ``text`` to the one that it has.

    ``mode``: ``append`` puts the text behind the first system message's, with an empty line between, ``prepend`` before
    it; ``replace`` takes every system message out; ``if_missing`` changes nothing where there is one. Without a system
    message each of them puts one in front.

    The same request gets the very same message object each time, so what a wire has encoded stays encoded. It is no
    part of the turn's new messages. Raises `ConfigurationError` for an empty text and an unknown mode.
    """

    name = "system_prompt"

    def __init__(self, text: str, mode: SystemPromptMode = "append") -> None:
        if not isinstance(text, str) or not text.strip():
            raise ConfigurationError("the text of a system prompt is not empty", next_step="Give it a text.")
        if mode not in _MODES:
            raise ConfigurationError(f"mode is one of {', '.join(map(repr, _MODES))}, not {mode!r}")
        self.text = text
        self.mode = mode
        self._own = SystemMessage(text)
        # By value, as a message may be made anew for each turn; few, as systems have few of them.
        self._joined: Callable[[SystemMessage], SystemMessage] = lru_cache(maxsize=_KEPT)(partial(_join, text, mode))

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Ask on with the system message in its place."""
        messages = self._messages(request.messages)
        if messages is not request.messages:
            request = ChatRequest(messages, request.parameters)
        return await chain.next(run, request)

    def _messages(self, messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
        first = next((at for at, message in enumerate(messages) if isinstance(message, SystemMessage)), None)
        if first is None:
            return (self._own, *messages)
        if self.mode == "if_missing":
            return messages
        if self.mode == "replace":
            return (self._own, *(message for message in messages if not isinstance(message, SystemMessage)))
        found = messages[first]
        assert isinstance(found, SystemMessage)
        return (*messages[:first], self._joined(found), *messages[first + 1 :])

    def __repr__(self) -> str:
        return f"SystemPromptAdvisor({len(self.text)} characters, mode={self.mode!r})"


def _join(text: str, mode: str, message: SystemMessage) -> SystemMessage:
    """The message with the text; one of a single text stays one."""
    parts = message.contents
    if not parts:
        return SystemMessage(text)
    if len(parts) == 1 and type(parts[0]) is TextContent and parts[0].provider_state is None:
        own, other = text, parts[0].text
        return SystemMessage(f"{other}\n\n{own}" if mode == "append" else f"{own}\n\n{other}")
    if mode == "append":
        return SystemMessage((*parts, TextContent(f"\n\n{text}")))
    return SystemMessage((TextContent(f"{text}\n\n"), *parts))
