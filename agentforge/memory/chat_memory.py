"""The memory of conversations: turns that follow each other, are stored whole, and may wait for a decision."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from agentforge.errors import ConfigurationError, RunStateError
from agentforge.memory.conversation import Conversation, Suspension
from agentforge.memory.faults import ConversationSuspendedError, TurnStateError, UnreadableConversationError
from agentforge.memory.key import AllTenants, MemoryKey
from agentforge.memory.queueing import TurnQueue
from agentforge.memory.settings import DEFAULT_MAX_MESSAGES, MemorySettings, utc_now
from agentforge.memory.store import MemoryStore
from agentforge.memory.summarising import Condenser
from agentforge.memory.turn import Turn
from agentforge.memory.windows import MessageWindow, Window
from agentforge.model.messages import ChatMessage

__all__ = ("ChatMemory",)


class ChatMemory:
    """Conversations in ``store``, each cut by ``window`` (default: the last 100 messages in whole turns).

    What the window keeps is what is stored, so that a conversation has a bound and its summary is written once; with
    ``stores="everything"`` the whole conversation is stored and the window only decides what is sent. A turn that
    failed leaves nothing behind, or with ``on_failure="keep"`` what there is of it. After ``ttl`` (seconds or a
    `timedelta`) without a turn a conversation is as good as gone. ``max_state_bytes`` (64 KiB) bounds the state map.
    ``clock`` gives the time, with its zone.

    Turns of one conversation wait for each other in the order of arrival, those of different ones run side by side.
    That holds within this object; where several processes share a store, the second to store a turn gets
    `MemoryConflictError`. The store is not closed here.

    >>> import asyncio
    >>> from agentforge.memory import InMemoryStore
    >>> from agentforge.model import AiMessage, UserMessage
    >>> async def talk(memory: ChatMemory, question: str) -> int:
    ...     async with memory.turn(MemoryKey("acme", "42")) as turn:
    ...         sent = await turn.fit([UserMessage(question)])
    ...         await turn.commit([UserMessage(question), AiMessage("Yes.")])
    ...         return len(sent)
    >>> async def twice() -> list[int]:
    ...     memory = ChatMemory(InMemoryStore())
    ...     return [await talk(memory, "Is it noon?"), await talk(memory, "Still?")]
    >>> asyncio.run(twice())
    [1, 3]
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        window: Window | Condenser | None = None,
        stores: Literal["window", "everything"] = "window",
        on_failure: Literal["discard", "keep"] = "discard",
        ttl: float | timedelta | None = None,
        max_state_bytes: int = 64 * 1024,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.store = store
        self._settings = MemorySettings(
            window if window is not None else MessageWindow(DEFAULT_MAX_MESSAGES),
            stores,
            on_failure,
            _duration("ttl", ttl),
            max_state_bytes,
            clock,
        )
        self._queue = TurnQueue()

    @property
    def open_turns(self) -> int:
        """How many conversations have a turn that is open or waits."""
        return len(self._queue)

    # -- turns -------------------------------------------------------------------------------------

    def turn(self, key: MemoryKey) -> AbstractAsyncContextManager[Turn]:
        """``async with memory.turn(key) as turn:`` is one turn, begun when those before it have ended.

        Raises `ConversationSuspendedError` while one waits for a decision, `UnreadableConversationError`, and
        `TurnStateError` inside of a turn of the same conversation.
        """
        return self._turn(key, resumed=False)

    def resume(self, key: MemoryKey) -> AbstractAsyncContextManager[Turn]:
        """The suspended turn goes on: ``turn.suspended.run`` is the saved run. Ends as any turn; one that fails (or
        ends without a word) leaves the suspension for another try. Raises `TurnStateError` when nothing is suspended.
        """
        return self._turn(key, resumed=True)

    async def give_up(self, key: MemoryKey, messages: Sequence[ChatMessage] = ()) -> Suspension | None:
        """Let go of the suspended turn, so that a new one can begin. ``messages`` are stored in its place (its question
        and what the aborted run made of it); without them nothing of it stays. Returns what was suspended, if any."""
        async with self._queue.hold(key):
            conversation, stored_version = await self._load(key)
            if conversation.suspended is None:
                return None
            given_up = replace(conversation, suspended=None, updated=self._settings.clock())
            if messages:
                await Turn(key, self.store, self._settings, given_up, stored_version).commit(messages)
            else:
                await self.store.save(key, given_up, expected_version=stored_version)
            return conversation.suspended

    # -- conversations -----------------------------------------------------------------------------

    async def get(self, key: MemoryKey) -> Conversation | None:
        """The conversation as it is stored now, without waiting for a turn; ``None`` for none."""
        found = await self.store.load(key)
        return None if found is None or self._is_over(found) else found

    async def list(self, tenant: str | AllTenants | None) -> tuple[MemoryKey, ...]:
        """The keys of a tenant's conversations, sorted; ``None``: those without a tenant, `ALL_TENANTS`: every one.
        Those whose time is over are listed until `expire`."""
        found = [key async for key in self.store.keys(tenant)]
        return tuple(sorted(found, key=lambda key: (key.tenant is not None, key.tenant or "", key.memory_id)))

    async def export(self, key: MemoryKey) -> dict[str, Any] | None:
        """The conversation as a JSON object, for `import_`; ``None`` for none."""
        found = await self.get(key)
        return None if found is None else found.to_json()

    async def import_(
        self, key: MemoryKey, data: Mapping[str, Any] | str | bytes, *, replace: bool = False
    ) -> Conversation:
        """Store what `export` gave, an object or JSON text, under ``key``, as it is: the window has its say at the next
        turn. Raises `UnreadableConversationError`, and `MemoryConflictError` where there is a conversation already,
        unless ``replace``; one that cannot be read has to be cleared first."""
        try:
            read = Conversation.from_json(data)
        except RunStateError as error:
            raise UnreadableConversationError(
                f"what is to be imported as conversation {key} cannot be read: {error.message}",
                location=error.location,
                next_step=error.next_step,
            ) from None
        async with self._queue.hold(key):
            there = await self.store.load(key)
            expected = there.version if there is not None and (replace or self._is_over(there)) else 0
            return await self.store.save(key, read, expected_version=expected)

    async def clear(self, key: MemoryKey) -> bool:
        """Forget the conversation and what is suspended in it, when the turns that were begun have ended; whether there
        was one. Serves for one that cannot be read, too."""
        async with self._queue.hold(key):
            return await self.store.delete(key)

    async def expire(self, older_than: float | timedelta | None = None) -> int:
        """Delete all conversations, suspended ones too, whose last turn is longer ago than that (seconds or a
        `timedelta`; default: the ``ttl``); how many. Raises `ConfigurationError` where there is neither."""
        age = _duration("older_than", older_than) or self._settings.ttl
        if age is None:
            raise ConfigurationError(
                "this memory has no ttl, and no age was given", next_step="Give expire() an age, or the memory a ttl."
            )
        return await self.store.expire(self._settings.clock() - age)

    def __repr__(self) -> str:
        return f"ChatMemory({self.store!r}, window={self._settings.window!r})"

    # -- inside ------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _turn(self, key: MemoryKey, *, resumed: bool) -> AsyncIterator[Turn]:
        async with self._queue.hold(key):
            conversation, stored_version = await self._load(key)
            waiting = conversation.suspended
            if waiting is not None and not resumed:
                raise ConversationSuspendedError(
                    f"the conversation {key} waits for a decision since {waiting.since.isoformat()}, "
                    "and takes no new turn",
                    next_step="Go on with prompt.resume(state), or let go of it with memory.give_up(key).",
                )
            if waiting is None and resumed:
                raise TurnStateError(
                    f"nothing is suspended in the conversation {key}",
                    next_step="It was resumed or given up already, or its time is over; begin a new turn.",
                )
            turn = Turn(key, self.store, self._settings, conversation, stored_version)
            try:
                yield turn
            finally:
                turn.close()

    async def _load(self, key: MemoryKey) -> tuple[Conversation, int]:
        """The conversation, a new one where there is none or its time is over, and the version that the store has."""
        found = await self.store.load(key)
        if found is not None and not self._is_over(found):
            return found, found.version
        now = self._settings.clock()
        return Conversation(created=now, updated=now), found.version if found is not None else 0

    def _is_over(self, conversation: Conversation) -> bool:
        ttl = self._settings.ttl
        return ttl is not None and conversation.updated < self._settings.clock() - ttl


def _duration(name: str, value: float | timedelta | None) -> timedelta | None:
    if value is None or isinstance(value, timedelta):
        return value
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
        raise ConfigurationError(f"{name} must be above 0 seconds, not {value!r}")
    return timedelta(seconds=value)
