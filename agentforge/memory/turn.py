"""One turn of a conversation: what to send, and its end, which is stored whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentforge.memory.conversation import Conversation, Suspension
from agentforge.memory.faults import MemoryLimitError, TurnStateError
from agentforge.memory.key import MemoryKey
from agentforge.memory.settings import MemorySettings
from agentforge.memory.store import MemoryStore
from agentforge.memory.summarising import Condenser
from agentforge.memory.turns import find, instructions_of, question_places, without_instructions
from agentforge.memory.windows import Everything
from agentforge.model.events import Notice
from agentforge.model.history import History, mend_history
from agentforge.model.messages import ChatMessage, SystemMessage
from agentforge.model.usage import TokenUsage

__all__ = ("Turn",)


@dataclass(frozen=True, slots=True)
class _Origin:
    """The conversation as it was, under which version the store has it, and where its end goes."""

    store: MemoryStore
    settings: MemorySettings
    conversation: Conversation
    stored_version: int


class Turn:
    """An open turn; made by `ChatMemory.turn` and `ChatMemory.resume`, for one task.

    Ends with one of `commit`, `suspend` and `fail`, or without any: then the store is as it was. Each raises
    `TurnStateError` once the turn is over. ``state`` may be written; it is stored with `commit` and `suspend`.
    ``notices`` tell what was mended or summed up, ``token_usage`` what summaries cost.
    """

    def __init__(
        self,
        key: MemoryKey,
        store: MemoryStore,
        settings: MemorySettings,
        conversation: Conversation,
        stored_version: int,
    ) -> None:
        self.key = key
        self.notices: list[Notice] = []
        self.token_usage = TokenUsage()
        #: The suspended run that this turn goes on with; ``None`` for a new turn.
        self.suspended: Suspension | None = conversation.suspended
        #: The conversation's notes for advisors, as JSON values.
        self.state: dict[str, Any] = dict(self.suspended.state if self.suspended is not None else conversation.state)
        self._origin = _Origin(store, settings, conversation, stored_version)
        self._open = True
        self._condensing = True
        #: What of the conversation the turn's messages hold themselves, once that is known.
        self._known: Sequence[ChatMessage] | None = None
        self._sent: tuple[ChatMessage, ...] = ()
        #: What goes before the turn: the conversation, cut to the window as far as that was needed yet.
        self._base = conversation.messages
        if not isinstance(settings.window, Condenser):
            self._base = settings.window.fit(conversation.messages)

    @property
    def messages(self) -> History:
        """The conversation before this turn, as the window keeps it."""
        return self._base

    async def fit(self, messages: Sequence[ChatMessage]) -> History:
        """What to send: the conversation and this turn's ``messages`` so far, as the window keeps them.

        The turn's own messages are all kept. Where they hold the conversation already (complete or as the window kept
        it), it is not added again. A summary that becomes necessary is asked for here, once a turn where it fails.
        """
        self._expect_open()
        own: tuple[ChatMessage, ...] = self._mended(messages)
        at, known = self._known_in(own)
        if at is not None:
            first, own = own[:at], own[at + known :]
            whole = _following(self._base, (*first, *own), insert_at=len(first))
        else:
            first, whole = (), _following(self._base, own)
        fitted = await self._fitted(whole, len(own))
        if not without_instructions(first):
            said = without_instructions(fitted)
            before = said[: len(said) - len(without_instructions(own))]
            self._base = History((*instructions_of(self._base), *before))
            self._sent = said
        return fitted

    def new_in(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The part of a turn's messages that is new: without the conversation, where they hold it already."""
        own = tuple(messages)
        at, known = self._known_in(own)
        return own if at is None else (*own[:at], *own[at + known :])

    async def commit(self, new_messages: Sequence[ChatMessage]) -> Conversation:
        """Store the whole turn: its question, all that followed, and the state map. Returns what is stored now.

        Raises `MemoryConflictError` (somebody else stored meanwhile), `MemoryLimitError`, `RunStateError` for what JSON
        cannot hold; then nothing was stored.
        """
        self._expect_open()
        return await self._store(self._mended(new_messages), condensing=True)

    async def fail(self, partial_messages: Sequence[ChatMessage] = ()) -> Conversation | None:
        """End a turn that failed. By the memory's setting nothing is stored (``discard``), or what there is of it
        (``keep``), with a result made up for each call that has none. Returns what was stored.

        A suspension that was resumed stays as it was with ``discard``; with ``keep`` it is over.
        """
        self._expect_open()
        own = self._mended(partial_messages)
        if self._origin.settings.on_failure == "discard" or not without_instructions(own):
            self._open = False
            return None
        return await self._store(own, condensing=False)

    async def suspend(self, run_state: Mapping[str, Any]) -> Conversation:
        """Store the run that waits (a JSON object, such as `ToolLoopState.to_json` makes); the messages stay as they
        were. The conversation takes no new turn until it is resumed or given up. Raises as `commit`."""
        self._expect_open()
        now = self._now()
        was = self._origin.conversation
        self._check_size()
        return await self._save(
            Conversation(
                created=was.created,
                updated=now,
                messages=was.messages,
                state=was.state,
                suspended=Suspension(run_state, now, self.state),
            )
        )

    def close(self) -> None:
        """The turn is over, however it ended."""
        self._open = False

    # -- inside ----------------------------------------------------------------------------------

    async def _store(self, own: History, *, condensing: bool) -> Conversation:
        settings = self._origin.settings
        was = self._origin.conversation
        self._check_size()
        if settings.stores == "everything":
            kept = Everything().fit(_following(was.messages, own), running=len(own))
        else:
            self._condensing = self._condensing and condensing
            kept = await self._fitted(_following(self._base, own), len(own))
        return await self._save(Conversation(created=was.created, updated=self._now(), messages=kept, state=self.state))

    async def _save(self, conversation: Conversation) -> Conversation:
        origin = self._origin
        stored = await origin.store.save(self.key, conversation, expected_version=origin.stored_version)
        self._open = False
        return stored

    async def _fitted(self, whole: Sequence[ChatMessage], running: int) -> History:
        window = self._origin.settings.window
        if not isinstance(window, Condenser):
            return window.fit(whole, running=running)
        if not self._condensing:
            return Everything().fit(whole, running=running)
        condensed = await window.condense(whole, running=running)
        self.token_usage += condensed.token_usage
        for notice in condensed.notices:
            self.notices.append(notice)
            if notice.code == "memory_summary_failed":
                self._condensing = False
        return condensed.messages

    def _mended(self, messages: Sequence[ChatMessage]) -> History:
        mended, notices = mend_history(tuple(messages))
        self.notices.extend(notices)
        return History(mended)

    def _known_in(self, own: Sequence[ChatMessage]) -> tuple[int | None, int]:
        """Where the conversation stands in the turn's messages already, and how long it is there.

        What of it they hold is decided when they are first seen: later on the turn may have come to say the same."""
        if self._known is None:
            at, length = self._found_in(own)
            self._known = own[at : at + length] if at is not None else ()
            return at, length
        known = self._known
        if not known and self._sent and without_instructions(own)[: len(self._sent)] == self._sent:
            known = without_instructions(self._base)  # what `fit` gave is given back
        at = find(known, own)
        return (None, 0) if at is None else (at, len(known))

    def _found_in(self, own: Sequence[ChatMessage]) -> tuple[int | None, int]:
        """The whole conversation, its newest whole turns as a window keeps them, or what the window made of it."""
        said = without_instructions(self._origin.conversation.messages)
        if said and said[-1] in own:
            for first in (0, *question_places(said)):
                at = find(said[first:], own)
                if at is not None:
                    return at, len(said) - first
        # A summary stands in the window alone.
        said = without_instructions(self._base)
        at = find(said, own)
        return (None, 0) if at is None else (at, len(said))

    def _check_size(self) -> None:
        size = len(json.dumps(self.state, default=str).encode("utf-8", "surrogatepass"))
        allowed = self._origin.settings.max_state_bytes
        if size > allowed:
            raise MemoryLimitError(
                f"the state map of the conversation {self.key} has {size} bytes; {allowed} are allowed",
                next_step="Keep less in it, or set max_state_bytes.",
            )

    def _expect_open(self) -> None:
        if not self._open:
            raise TurnStateError(
                f"this turn of the conversation {self.key} is over",
                next_step="A turn ends once, inside of its 'async with'; begin another.",
            )

    def _now(self) -> datetime:
        return self._origin.settings.clock()

    def __repr__(self) -> str:
        return f"Turn({self.key}, {len(self._base)} messages before it{'' if self._open else ', over'})"


def _following(
    base: Sequence[ChatMessage], own: Sequence[ChatMessage], *, insert_at: int = 0
) -> tuple[ChatMessage, ...]:
    """The conversation and then the turn's messages, the first ``insert_at`` of which stand before it. Instructions of
    the turn replace those of the conversation."""
    if any(isinstance(message, SystemMessage) for message in own):
        base = without_instructions(base)
    return (*own[:insert_at], *base, *own[insert_at:])
