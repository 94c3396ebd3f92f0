"""What may not be asked and what may not be answered: found, and refused, masked, or asked for again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.advisor.forbidden import Forbidden
from agentforge.advisor.reprompt import finished_rounds, reprompted
from agentforge.advisor.safeguard_checks import Finding, Judge, SafeguardCheck
from agentforge.advisor.safeguard_stream import HeldText
from agentforge.advisor.telling import own_answer, show, tell
from agentforge.errors import ConfigurationError
from agentforge.model import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    History,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.tool.execution import Run

__all__ = ("SafeguardAction", "SafeguardAdvisor", "SafeguardStage")

SafeguardStage: TypeAlias = Literal["both", "input", "output"]
"""Which texts are looked at: the user's, the model's, or both."""
SafeguardAction: TypeAlias = Literal["refuse", "mask", "reprompt"]
"""What becomes of a text that may not pass."""
_STAGES, _ACTIONS = ("both", "input", "output"), ("refuse", "mask", "reprompt")
_REPROMPT = "Your answer was not shown: {reason}. Answer again without that."


class SafeguardAdvisor:
    """Looks at the last user message before the model is asked, and at the answer before anybody sees it.

    ``words`` and ``patterns`` are those of `Forbidden`, ``checks`` objects with `SafeguardCheck.check`, asked in order
    for texts that hold none of them. ``stage``: what is looked at.

    ``action="refuse"`` answers ``text`` (finish reason ``REFUSAL``); a refused question reaches no model.
    ``"mask"`` puts ``mask`` where a word or pattern stands, and in the place of the whole text where a check has
    spoken. ``"reprompt"`` asks again for an answer, with ``reprompt_text`` (``{reason}`` in it is the check's), at most
    ``max_reprompts`` times, and then refuses; calls of such a reply go through the tool loop again. A question is
    refused then. Notices say what happened: ``safeguard_refused``, ``safeguard_masked``, ``safeguard_reprompted``.

    A stream holds text and reasoning back until they were judged; what tools do is told as it happens. Text in front
    of calls, and reasoning, is always masked or left out, whatever the action. Arguments of calls and tool results are
    not looked at, except where a result is the answer. It stands outside the tool loop; a memory that is to hold no
    refused question stands further in than the one for input, and further out than the one for output.

    Raises `ConfigurationError` for settings that are none.
    """

    name = "safeguard"
    before = ("tool_calling",)

    def __init__(
        self,
        words: Iterable[str] = (),
        patterns: Iterable[str] = (),
        checks: Iterable[SafeguardCheck] = (),
        *,
        stage: SafeguardStage = "both",
        action: SafeguardAction = "refuse",
        text: str = "I cannot help with that.",
        mask: str = "***",
        reprompt_text: str = _REPROMPT,
        max_reprompts: int = 1,
        max_characters: int = 100_000,
    ) -> None:
        self.forbidden = Forbidden(words, patterns, max_characters)
        self.checks = tuple(checks)
        _check_word("stage", stage, _STAGES)
        _check_word("action", action, _ACTIONS)
        for check in self.checks:
            if isinstance(check, type) or not callable(getattr(check, "check", None)):
                raise ConfigurationError(f"{type(check).__name__} is no check of a safeguard: it has no method 'check'")
        if not self.forbidden and not self.checks:
            raise ConfigurationError(
                "a safeguard without words, patterns and checks looks for nothing", next_step="Give it one of them."
            )
        if not isinstance(max_reprompts, int) or isinstance(max_reprompts, bool) or max_reprompts < 0:
            raise ConfigurationError(f"max_reprompts must be at least 0, not {max_reprompts!r}")
        for name, own in (("text", text), ("mask", mask)):
            if not isinstance(own, str) or not own or self.forbidden.found(own):
                raise ConfigurationError(
                    f"{name} is a text without what the safeguard looks for", next_step="Choose another."
                )
        self.stage = stage
        self.action = action
        self.text = text
        self.mask = mask
        self.reprompt_text = reprompt_text
        self.max_reprompts = max_reprompts

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Judge the question, ask on, and judge the answer."""
        judge = Judge(self.forbidden, self.checks, self.mask, run)
        if self.stage != "output":
            at = _last_user(request.messages)
            message = request.messages[at] if at is not None else None
            if at is not None and isinstance(message, UserMessage) and (found := await judge.finding(message.text)):
                if self.action != "mask":
                    return await _Guarded(self, run, request, chain, judge).refuse_question(found)
                await _say(run, chain, "masked", "input", found)
                messages = request.messages
                cleaned = await judge.clean_user(message)
                request = ChatRequest((*messages[:at], cleaned, *messages[at + 1 :]), request.parameters)
        if self.stage == "input":
            return await chain.next(run, request)
        return await _Guarded(self, run, request, chain, judge).answer()

    def __repr__(self) -> str:
        return f"SafeguardAdvisor({self.forbidden!r}, {len(self.checks)} checks, {self.stage}, {self.action})"


class _Guarded:
    """One turn whose answer is judged."""

    def __init__(self, advisor: SafeguardAdvisor, run: Run, request: ChatRequest, chain: Chain, judge: Judge) -> None:
        self._advisor = advisor
        self._run = run
        self._request = request
        self._chain = chain
        self._judge = judge
        self._held = HeldText(chain.emit, judge) if chain.emit is not None else None
        self._kept: tuple[ChatMessage, ...] = ()
        self._earlier = len(run.intermediate_responses)

    async def refuse_question(self, found: Finding) -> Advised:
        """The answer to a question that nobody is asked."""
        await _say(self._run, self._chain, "refused", "input", found)
        response = own_answer(self._advisor.text, FinishReason.REFUSAL, raw="safeguard")
        await show(self._chain.emit, response)
        return self._ended(Advised(response), response, (response.ai_message,))

    async def answer(self) -> Advised:
        """Ask, and ask again where the answer may not pass and may be asked for again."""
        advisor, run, judge = self._advisor, self._run, self._judge
        sink = self._held.put if self._held is not None else None
        advised = await self._chain.next(run, self._request, emit=sink)
        left = advisor.max_reprompts if advisor.action == "reprompt" else 0
        while True:
            found = await judge.finding(_answer(advised))
            if advised.suspended is not None or advised.response is None or found is None:
                return await self._pass(advised)
            if advisor.action == "mask":
                return await self._mask(advised, advised.response, found)
            if left == 0:
                return await self._refuse(advised, advised.response, found)
            left -= 1
            await _say(run, self._chain, "reprompted", "output", found)
            text = advisor.reprompt_text.replace("{reason}", found.words)
            request, self._kept = reprompted(self._request, advised, text, self._kept)
            advised = await self._chain.again(run, request, "the answer may not pass", emit=sink)

    async def _pass(self, advised: Advised) -> Advised:
        """The answer as it is; what else was said of it is cleaned."""
        if advised.suspended is not None:
            if self._kept:
                # What ran in the attempts before belongs to this turn when it is taken up again.
                advised.suspended.given -= len(self._kept) + 1
            return advised
        self._judge.cleaned = None
        response = advised.response
        if response is not None:
            response = await self._judge.clean_reply(response)
        messages = await self._messages(advised.new_messages)
        if self._judge.cleaned is not None:
            await _say(self._run, self._chain, "masked", "output", self._judge.cleaned)
        if response is not None and self._held is not None:
            await self._held.settle(response)
        if response is advised.response and messages == tuple(advised.new_messages):
            return advised
        return self._ended(advised, response, messages)

    async def _mask(self, advised: Advised, response: ChatResponse, found: Finding) -> Advised:
        await _say(self._run, self._chain, "masked", "output", found)
        if advised.returned_directly:
            text = await self._judge.masked(_answer(advised) or "")
            masked = own_answer(text, FinishReason.STOP, raw="safeguard", like=response)
            messages = await self._judge.clean_results(advised.new_messages)
            messages = (*await self._messages(messages), masked.ai_message)
        else:
            masked = await self._judge.clean_reply(response)
            messages = await self._messages(advised.new_messages)
        if self._held is not None:
            await self._held.settle(masked, own=True)
        return self._ended(advised, masked, messages)

    async def _refuse(self, advised: Advised, response: ChatResponse, found: Finding) -> Advised:
        await _say(self._run, self._chain, "refused", "output", found)
        refusal = own_answer(self._advisor.text, FinishReason.REFUSAL, raw="safeguard", like=response)
        rounds = finished_rounds(advised)
        if advised.returned_directly:
            rounds = await self._judge.clean_results(rounds)
        messages = (*await self._messages(rounds), refusal.ai_message)
        if self._held is not None:
            await self._held.settle(refusal, own=True)
        return self._ended(advised, refusal, messages)

    async def _messages(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """All that the turn added, without what may not pass; the run's earlier replies too."""
        replies = self._run.intermediate_responses
        replies[self._earlier :] = [await self._judge.clean_reply(each) for each in replies[self._earlier :]]
        return await self._judge.clean_all((*self._kept, *messages))

    def _ended(self, advised: Advised, response: ChatResponse | None, messages: Sequence[ChatMessage]) -> Advised:
        self._run.messages = History.of((*self._request.messages, *messages))
        direct = advised.returned_directly and response is advised.response
        return replace(advised, response=response, new_messages=tuple(messages), returned_directly=direct)


def _answer(advised: Advised) -> str | None:
    """The text that the user is to get: the last reply's, or that of the tools whose results are the answer. A reply
    whose calls the caller runs is none."""
    if advised.response is None:
        return None
    if advised.returned_directly:
        texts: list[str] = []
        for message in reversed(advised.new_messages):
            if not isinstance(message, ToolExecutionResultMessage):
                break
            texts.append(message.text)
        return "\n".join(reversed(texts))
    message = advised.response.ai_message
    return None if message.has_tool_execution_requests else message.text


def _last_user(messages: Sequence[ChatMessage]) -> int | None:
    return next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], UserMessage)), None)


async def _say(run: Run, chain: Chain, what: str, stage: str, found: Finding) -> None:
    """A notice; it names neither the word nor the pattern, as it is shown."""
    subject = "the question" if stage == "input" else "the answer"
    verb = {"refused": "was refused", "masked": "was masked", "reprompted": "was asked for again"}[what]
    details = {"stage": stage, "kind": found.kind} | ({"reason": found.reason} if found.reason else {})
    await tell(run, chain.emit, f"safeguard_{what}", f"{subject} {verb}: {found.words}", details)


def _check_word(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ConfigurationError(f"{name} is one of {', '.join(map(repr, known))}, not {given!r}")
