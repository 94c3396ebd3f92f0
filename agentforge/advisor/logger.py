"""What passes through the chain, as lines of a log that a person can read."""

from __future__ import annotations

import logging
import time
from typing import Final

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    SystemMessage,
    TextContent,
    TokenUsage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.price import cost_text
from agentforge.tool.execution import Run

__all__ = ("LoggerAdvisor",)

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


class LoggerAdvisor:
    """Writes a line for each request and one for each reply, suspension or error that comes back.

    ``level``: ``debug``, ``info``, ``warning``, ``error`` or ``critical``; errors are written as warnings at least.
    ``content=False`` leaves out every text, argument and message of an error. A text longer than ``max_characters`` is
    cut, after the run's secrets were masked in it. ``logger`` is a name, or a logger.

    Outside the tool loop it writes of a turn, inside of each round. Tokens are those of everything inside it. A
    streamed reply is written when it is whole. Raises `ConfigurationError` for settings that are none.

    >>> LoggerAdvisor("debug", content=False)
    LoggerAdvisor(level='debug', content=False)
    """

    name = "logger"

    def __init__(
        self,
        level: str = "info",
        *,
        content: bool = True,
        max_characters: int = 2000,
        logger: str | logging.Logger = "agentforge.chat",
    ) -> None:
        if level not in _LEVELS:
            raise ConfigurationError(f"level is one of {', '.join(_LEVELS)}, not {level!r}")
        if not isinstance(max_characters, int) or isinstance(max_characters, bool) or max_characters < 1:
            raise ConfigurationError(f"max_characters must be at least 1, not {max_characters!r}")
        self.level = level
        self.content = content
        self.max_characters = max_characters
        self._level = _LEVELS[level]
        self._log = logger if isinstance(logger, logging.Logger) else logging.getLogger(logger)

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Pass on what comes, both ways, and write what it was."""
        says = self._log.isEnabledFor(self._level)
        if says:
            self._log.log(self._level, "run %s > %s", run.id[:8], self._request(run, request))
        before, began = run.token_usage, time.perf_counter()
        try:
            advised = await chain.next(run, request)
        except BaseException as error:
            level = max(self._level, logging.WARNING) if isinstance(error, Exception) else self._level
            if self._log.isEnabledFor(level):
                seconds = time.perf_counter() - began
                self._log.log(level, "run %s ! %s; %.2f s", run.id[:8], self._error(run, error), seconds)
            raise
        if says:
            seconds, spent = time.perf_counter() - began, _tokens(before, run.token_usage)
            self._log.log(self._level, "run %s < %s; %s; %.2f s", run.id[:8], self._reply(run, advised), spent, seconds)
        return advised

    # -- the words -------------------------------------------------------------------------------

    def _request(self, run: Run, request: ChatRequest) -> str:
        count = len(request.messages)
        words = [f"{count} message{'' if count == 1 else 's'}"]
        if request.parameters.tools:
            words.append(f"tools: {', '.join(tool.name for tool in request.parameters.tools)}")
        if request.messages:
            words.append(f"last: {self._message(run, request.messages[-1])}")
        return "; ".join(words)

    def _reply(self, run: Run, advised: Advised) -> str:
        if advised.suspended is not None:
            reply, waiting = advised.suspended.reply, advised.suspended.waiting
            calls = reply.ai_message.tool_execution_requests if reply is not None else ()
            names = [call.name for at, call in enumerate(calls) if at in waiting]
            return f"suspended; waiting: {', '.join(names)}"
        if advised.response is None:
            return "no reply"
        response = advised.response
        words = [self._message(run, response.ai_message), f"finish: {response.finish_reason.value}"]
        if advised.returned_directly:
            words.append("returned directly")
        return "; ".join(words)

    def _message(self, run: Run, message: ChatMessage) -> str:
        if isinstance(message, ToolExecutionResultMessage):
            failed = " (error)" if message.is_error else ""
            return f"result of {message.tool_name}{failed}{self._said(run, message.text)}{_other_parts(message)}"
        if isinstance(message, AiMessage):
            words = [f"assistant{self._said(run, message.text)}"] if message.text or not message.contents else []
            if message.tool_execution_requests:
                calls = (
                    f"{call.name}({self._cut(run, call.arguments)})" if self.content else call.name
                    for call in message.tool_execution_requests
                )
                words.append(f"calls: {', '.join(calls)}")
            return "; ".join(words) or "assistant"
        who = "user" if isinstance(message, UserMessage) else "system" if isinstance(message, SystemMessage) else "?"
        return f"{who}{self._said(run, message.text)}{_other_parts(message)}"

    def _error(self, run: Run, error: BaseException) -> str:
        kind = type(error).__name__
        if isinstance(error, AgentForgeError):
            kind = f"{kind} [{error.code}]"
        if not self.content or not isinstance(error, Exception):
            return kind
        try:
            message = error.message if isinstance(error, AgentForgeError) else str(error)
        except Exception:  # one whose text cannot be made
            message = ""
        return f"{kind}: {self._cut(run, message)}" if message else kind

    def _said(self, run: Run, text: str | None) -> str:
        return f" {self._cut(run, text)}" if self.content and text else ""

    def _cut(self, run: Run, text: str) -> str:
        """The text on one line in quotes, masked before it is cut, so that no half of a secret is left at the end."""
        text = run.secrets.mask(text)
        more = len(text) - self.max_characters
        return repr(text) if more <= 0 else f"{text[: self.max_characters]!r} and {more} characters more"

    def __repr__(self) -> str:
        return f"LoggerAdvisor(level={self.level!r}, content={self.content})"


def _other_parts(message: ChatMessage) -> str:
    """What else there is beside text: ``[image, file]``."""
    kinds = [type(part).__name__.removesuffix("Content").lower() for part in message.contents]
    others = [kind for part, kind in zip(message.contents, kinds, strict=True) if not isinstance(part, TextContent)]
    return f" [{', '.join(others)}]" if others else ""


def _tokens(before: TokenUsage, after: TokenUsage) -> str:
    """What was spent in between."""

    def more(a: int | None, b: int | None) -> int | None:
        return None if b is None else b - (a or 0)

    spent = more(before.input_tokens, after.input_tokens), more(before.output_tokens, after.output_tokens)
    if spent == (None, None):
        return "tokens: not reported"
    cost = cost_text(after, before)
    return f"tokens: {spent[0] or 0} in, {spent[1] or 0} out" + (f"; cost: {cost}" if cost else "")
