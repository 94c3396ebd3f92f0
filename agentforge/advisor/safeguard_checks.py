"""What a safeguard finds in texts, and messages without it; each text of a turn is judged once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

from agentforge.advisor.faults import AdvisorError
from agentforge.advisor.forbidden import Forbidden
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatResponse,
    Content,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.tool.execution import Run

_Part = TypeVar("_Part")

__all__ = ("Finding", "Judge", "SafeguardCheck")


@runtime_checkable
class SafeguardCheck(Protocol):
    """A judgement of one's own: a classifier, another model, a rule of the business."""

    async def check(self, text: str, run: Run) -> str | None:
        """Why this text may not pass, in words that may be shown; ``None`` when it may. What it raises ends the turn,
        and nothing was shown."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """That a text may not pass. ``kind``: ``word``, ``pattern``, ``length``, ``check``; ``reason`` is a check's own."""

    kind: str
    reason: str | None = None

    @property
    def words(self) -> str:
        """Why, without the words themselves."""
        return self.reason or ("it is too long to be checked" if self.kind == "length" else "it holds what may not be")


class Judge:
    """Judges the texts of one turn; ``mask`` stands for what may not pass."""

    def __init__(self, forbidden: Forbidden, checks: Sequence[SafeguardCheck], mask: str, run: Run) -> None:
        self._forbidden = forbidden
        self._checks = checks
        self._mask = mask
        self._run = run
        self._known: dict[str, Finding | None] = {}
        #: Whether something was taken out of a message, since this was last set.
        self.cleaned: Finding | None = None

    async def finding(self, text: str | None) -> Finding | None:
        """Why the text may not pass; ``None`` when it may, or is none."""
        if not text:
            return None
        if text not in self._known:
            self._known[text] = await self._judged(text)
        return self._known[text]

    async def masked(self, text: str) -> str:
        """The text with what may not pass masked: where it stands, or the whole where a check has spoken."""
        made = self._forbidden.masked(text, self._mask)
        if made == self._mask:
            return made
        return made if await self.finding(made) is None else self._mask

    async def clean(self, message: AiMessage) -> AiMessage:
        """The message without what may not pass; the same object when there is nothing. Its text is masked, reasoning
        left out; what a provider signed goes with them, as it may hold the same."""
        text, thinking = await self.finding(message.text), await self.finding(message.thinking)
        if text is None and thinking is None:
            return message
        self.cleaned = text or thinking
        parts: Sequence[Content | ToolExecutionRequest] = message.contents
        if thinking is not None:
            parts = [part for part in parts if not isinstance(part, ThinkingContent)]
        if text is not None:
            parts = _with_text(parts, await self.masked(message.text or ""))
        return AiMessage(parts)

    async def clean_reply(self, response: ChatResponse) -> ChatResponse:
        """The reply with its message cleaned, and then without the provider's body and its citations, which belong to
        the text as it was."""
        message = await self.clean(response.ai_message)
        if message is response.ai_message:
            return response
        return replace(response, ai_message=message, raw_body=None, citations=())

    async def clean_user(self, message: UserMessage) -> UserMessage:
        """The message with its text masked; its other parts stay."""
        return UserMessage(_with_text(message.contents, await self.masked(message.text)), name=message.name)

    async def clean_all(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The messages, those of the model cleaned."""
        return tuple([await self.clean(each) if isinstance(each, AiMessage) else each for each in messages])

    async def clean_results(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The messages, and of the tool results at their end what may not pass masked: they are the answer."""
        first = len(messages)
        while first and isinstance(messages[first - 1], ToolExecutionResultMessage):
            first -= 1
        made = [
            _with_result(each, await self.masked(each.text))
            for each in messages[first:]
            if isinstance(each, ToolExecutionResultMessage)
        ]
        if await self.finding("\n".join(each.text for each in made)):
            made = [_with_result(each, self._mask) for each in made]
        return (*messages[:first], *made)

    async def _judged(self, text: str) -> Finding | None:
        kind = self._forbidden.found(text)
        if kind is not None:
            return Finding(kind)
        reason = await self._asked(text)
        return None if reason is None else Finding("check", reason)

    async def _asked(self, text: str) -> str | None:
        for check in self._checks:
            reason = await check.check(text, self._run)
            if reason is None:
                continue
            if not isinstance(reason, str):
                raise AdvisorError(
                    f"the check {type(check).__name__} gave {type(reason).__name__}",
                    next_step="Return the reason as a text, or None where there is none.",
                )
            return self._run.secrets.mask(reason) or "a check refused it"
        return None


def _with_text(parts: Sequence[_Part], text: str) -> list[_Part | TextContent]:
    """The parts with ``text`` in the place of the first text, and no other."""
    made: list[_Part | TextContent] = []
    for part in parts:
        if not isinstance(part, TextContent):
            made.append(part)
        elif text:
            made.append(TextContent(text))
            text = ""
    return made


def _with_result(message: ToolExecutionResultMessage, text: str) -> ToolExecutionResultMessage:
    """The result with another text, and without its parts where it has one already as it is."""
    if message.text == text:
        return message
    return ToolExecutionResultMessage(
        message.id, message.tool_name, text, is_error=message.is_error, attributes=message.attributes
    )
