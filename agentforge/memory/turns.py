"""A conversation seen as its instructions and its whole turns, which is what windows cut at.

A turn is a question and everything up to the next one, so that no cut ever parts a call from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agentforge.model.history import History
from agentforge.model.messages import ChatMessage, SystemMessage, ToolExecutionResultMessage, UserMessage

__all__ = ("Turns", "find", "first_running", "instructions_of", "question_places", "without_instructions")


@dataclass(frozen=True, slots=True)
class Turns:
    """``instructions`` go in front and always stay; of ``turns``, oldest first, the last ``protected`` are not cut."""

    instructions: tuple[SystemMessage, ...]
    turns: tuple[tuple[ChatMessage, ...], ...]
    protected: int

    @classmethod
    def of(cls, messages: Sequence[ChatMessage], running: int = 0) -> Turns:
        """The turns of a conversation. Protected are the last one and those that the last ``running`` messages are in.

        The last system messages (one, or several that stand together) replace all before them. Neighbouring user
        messages are one question.
        """
        history = History.of(messages)
        begins = first_running(history, messages, running)
        turns: list[list[ChatMessage]] = []
        protected = 0
        before: ChatMessage | None = None
        for at, message in enumerate(history):
            if isinstance(message, SystemMessage):
                continue
            if before is None or (isinstance(message, UserMessage) and not isinstance(before, UserMessage)):
                turns.append([])
                protected = protected + 1 if at >= begins else 0
            elif at >= begins:
                protected = max(protected, 1)
            turns[-1].append(message)
            before = message
        return cls(instructions_of(history), tuple(map(tuple, turns)), max(protected, 1) if turns else 0)

    def newest(self, bound: int, cost: Callable[[Sequence[ChatMessage]], int]) -> History:
        """The instructions and as many of the newest turns, without a gap, as ``bound`` allows; those that are
        protected in any case."""
        first = len(self.turns) - self.protected
        spent = cost(self.instructions) + sum(map(cost, self.turns[first:]))
        while first > 0:
            spent += cost(self.turns[first - 1])
            if spent > bound:
                break
            first -= 1
        return self.history(self.turns[first:])

    def history(self, turns: Sequence[Sequence[ChatMessage]]) -> History:
        """The instructions and these of the turns."""
        return History((*self.instructions, *(message for turn in turns for message in turn)))


def first_running(history: Sequence[ChatMessage], messages: Sequence[ChatMessage], running: int) -> int:
    """Where the last ``running`` of the messages begin in their mended form: mending adds and leaves out results alone,
    so it is the other messages that are counted. A result belongs to the call before it."""
    tail = messages[max(0, len(messages) - running) :]
    left = sum(not isinstance(message, ToolExecutionResultMessage) for message in tail)
    left += bool(tail) and isinstance(tail[0], ToolExecutionResultMessage)
    at = len(history)
    while left > 0 and at > 0:
        at -= 1
        left -= not isinstance(history[at], ToolExecutionResultMessage)
    return at


def instructions_of(messages: Sequence[ChatMessage]) -> tuple[SystemMessage, ...]:
    """The system messages that hold: the last one, with those that stand directly before it."""
    last: list[SystemMessage] = []
    adjacent = False
    for message in messages:
        if isinstance(message, SystemMessage):
            last = [*last, message] if adjacent else [message]
        adjacent = isinstance(message, SystemMessage)
    return tuple(last)


def without_instructions(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The messages but for the system messages."""
    return tuple(message for message in messages if not isinstance(message, SystemMessage))


def question_places(said: Sequence[ChatMessage]) -> Iterator[int]:
    """Where whole turns begin after the first, in messages without instructions."""
    for at in range(1, len(said)):
        if isinstance(said[at], UserMessage) and not isinstance(said[at - 1], UserMessage):
            yield at


def find(part: Sequence[ChatMessage], messages: Sequence[ChatMessage]) -> int | None:
    """Where ``part``, which is not empty, stands in ``messages`` without a gap; ``None`` where it does not."""
    part, messages = tuple(part), tuple(messages)
    if not part:
        return None
    starts = range(len(messages) - len(part) + 1)
    return next((at for at in starts if messages[at : at + len(part)] == part), None)
