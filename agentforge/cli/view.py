"""What a turn looks like while it goes: as text for people, as JSON for machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from agentforge.cli.console import Console
from agentforge.cli.text import count, indented, shorten
from agentforge.model import Event, FinishReason, Notice, TextDelta, ThinkingDelta, TokenUsage, ToolExecutionRequest
from agentforge.model.price import cost_text
from agentforge.tool.execution import (
    AttemptDiscarded,
    RoundStarted,
    RunSuspended,
    ToolChatResult,
    ToolExecution,
    ToolFinished,
    ToolStarted,
    event_to_json,
    result_to_json,
    rounds_of,
)

__all__ = ("JsonView", "TextView", "TurnView")

_ENDED_WELL = (FinishReason.STOP, FinishReason.TOOL_EXECUTION)


class TurnView(Protocol):
    """Shows one turn after the other: `begin`, its events, then `finish`, or `abort` when it ended early."""

    def begin(self) -> None:
        """A turn begins."""
        ...

    def event(self, event: Event) -> None:
        """Something happened in a streamed turn."""
        ...

    def finish(self, result: ToolChatResult) -> None:
        """The turn is over."""
        ...

    def abort(self) -> None:
        """The turn ended without a result."""
        ...


class JsonView:
    """One object a turn, or when ``streamed`` one line an event; ``model`` is the name where a reply has none."""

    def __init__(
        self, console: Console, model: str, *, streamed: bool, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._console = console
        self._model = model
        self._streamed = streamed
        self._clock = clock
        self._begun = 0.0

    def begin(self) -> None:
        """Start counting the seconds."""
        self._begun = self._clock()

    def event(self, event: Event) -> None:
        """Write it as a line, at once."""
        if self._streamed:
            self._console.data(event_to_json(event, model=self._model, seconds=self._clock() - self._begun))

    def finish(self, result: ToolChatResult) -> None:
        """Write the result; of a streamed turn it was in the last event."""
        if not self._streamed:
            self._console.data(result_to_json(result, model=self._model, seconds=self._clock() - self._begun))

    def abort(self) -> None:
        """Nothing: the error says it."""


class TextView:
    """Calls and results on standard error as they happen, the answer on standard output.

    On a terminal the answer appears piece by piece; elsewhere it is written once, whole.
    """

    def __init__(self, console: Console, model: str, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._console = console
        self._model = model
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Start counting the seconds."""
        self._begun = self._clock()
        self._shown = ""  # the text of this round that is on the screen
        self._thinking = False
        self._started: set[int] = set()
        self._told = 0  # executions
        self._said: set[tuple[str, str]] = set()  # notices, which each round of a turn may bring again

    def event(self, event: Event) -> None:
        """Show it, if it is for people."""
        if isinstance(event, TextDelta):
            self._piece(event.text)
        elif isinstance(event, ThinkingDelta):
            if not self._thinking:
                self._thinking = True
                self._note("(thinking ...)")
        elif isinstance(event, RoundStarted):
            self._break_line()
            self._shown, self._thinking = "", False
            self._started.clear()
        elif isinstance(event, ToolStarted):
            self._started.add(event.position)
            self._call(event.request)
        elif isinstance(event, ToolFinished):
            if event.position not in self._started:  # refused before it began
                self._call(event.execution.request)
            self._result(event.execution)
        elif isinstance(event, Notice):
            self._notice(event)
        elif isinstance(event, AttemptDiscarded):
            self._note(f"! that answer does not count: {event.reason}", "yellow")
            self._shown = ""
        elif isinstance(event, RunSuspended):
            for position, reason in event.waiting.items():
                self._note(f"! call {position + 1} waits for a decision: {reason}", "yellow")

    def finish(self, result: ToolChatResult) -> None:
        """Show what was not shown yet, the answer where it is due, and one line about the turn."""
        for execution in result.tool_executions[self._told :]:
            self._call(execution.request)
            self._result(execution)
        for notice in result.notices:
            self._notice(notice)
        text = result.text
        if text and text != self._shown:
            self._break_line()
            self._console.out(text)
        else:
            self._break_line()
        handed_back = result.handed_back
        for request in handed_back:
            self._call(request)
        if handed_back:
            self._note("! handed back: this client does not run the model's calls", "yellow")
        elif not text and result.suspended is None:
            self._note("! the model gave no text", "yellow")
        self._shown = ""
        self._note(self._summary(result), "dim")

    def abort(self) -> None:
        """Leave the cursor at the begin of a line."""
        self._break_line()

    def _piece(self, text: str) -> None:
        if self._console.on_terminal:
            # A carriage return belongs to a line end that comes with the next piece, or to nothing.
            self._console.out(text.removesuffix("\r"), end="")
            self._shown += text

    def _break_line(self) -> None:
        if self._shown and not self._shown.endswith("\n"):
            self._console.out("")
            self._shown += "\n"

    def _call(self, request: ToolExecutionRequest) -> None:
        arguments = self._laid_out(request.arguments.strip() or "{}", characters=600)
        self._note(f"-> {request.name} {arguments}", "cyan")

    def _result(self, execution: ToolExecution) -> None:
        self._told += 1
        text = self._laid_out(execution.result_text().rstrip(), characters=1_200)
        outcome = "" if not execution.has_failed() else f"{execution.outcome.value}, "
        others = sum(not hasattr(part, "text") for part in execution.result.contents)
        if others:
            text = f"{text} (and {count(others, 'part')} of no text)".lstrip()
        line = f"<- {execution.request.name} ({outcome}{execution.elapsed:.2f} s) {text}".rstrip()
        self._note(line, "red" if outcome else "green")

    def _laid_out(self, text: str, *, characters: int) -> str:
        """Masked before it is cut and moved in: the lines of a secret are then still together, and whole."""
        return indented(shorten(self._console.secrets.mask(text), characters=characters))

    def _notice(self, notice: Notice) -> None:
        """Say it, once a turn."""
        if (notice.code, notice.message) not in self._said:
            self._said.add((notice.code, notice.message))
            self._note(f"! {notice.message} ({notice.code})", "yellow")

    def _note(self, text: str, style: str = "dim") -> None:
        self._break_line()
        self._console.say(self._console.secrets.mask(text), style=style)

    def _summary(self, result: ToolChatResult) -> str:
        response = result.response
        model = (response.model_name if response is not None else None) or self._model
        parts = [
            count(rounds_of(result), "round"),
            count(len(result.tool_executions), "call"),
            *_tokens(result.token_usage),
            *filter(None, [cost_text(result.token_usage)]),
            f"{self._clock() - self._begun:.1f} s",
            f"model {model}",
        ]
        if response is not None and response.finish_reason not in _ENDED_WELL:
            parts.append(f"ended by {response.finish_reason.value}")
        if result.suspended is not None:
            parts.append("suspended")
        return f"-- {', '.join(parts)}"


def _tokens(usage: TokenUsage) -> list[str]:
    if usage.total_tokens is None and usage.input_tokens is None and usage.output_tokens is None:
        return []
    sides = [
        f"{number} {side}" for number, side in ((usage.input_tokens, "in"), (usage.output_tokens, "out")) if number
    ]
    total = (
        usage.total_tokens
        if usage.total_tokens is not None
        else sum(number or 0 for number in (usage.input_tokens, usage.output_tokens))
    )
    return [count(total, "token") + (f" ({', '.join(sides)})" if sides else "")]
