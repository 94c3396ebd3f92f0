"""Conversations in this process: for tests, for one process, and where nothing has to outlive it."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

from agentforge.errors import ConfigurationError
from agentforge.memory.conversation import Conversation
from agentforge.memory.key import ALL_TENANTS, AllTenants, MemoryKey
from agentforge.memory.store import conflict

__all__ = ("InMemoryStore",)

_log = logging.getLogger("agentforge.memory")


class InMemoryStore:
    """A `MemoryStore` that ends with its process; safe to share between event loops and threads.

    With ``max_conversations`` the one that was not used for longest goes when there would be more (a suspended one only
    where all are), which is logged; without it there is no bound. It refuses what JSON cannot hold, as a store on a
    disk would.
    """

    def __init__(self, *, max_conversations: int | None = None) -> None:
        bound = max_conversations
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool) or bound < 1):
            raise ConfigurationError(f"max_conversations must be a whole number of at least 1, not {bound!r}")
        self._max = bound
        self._lock = threading.Lock()
        self._last_version = 0
        self._kept: OrderedDict[MemoryKey, Conversation] = OrderedDict()

    async def load(self, key: MemoryKey) -> Conversation | None:
        """The conversation, or ``None``."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
        return replace(found)  # with copies of what could be changed

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        """Store it under its new version. Raises `MemoryConflictError` or `RunStateError`."""
        conversation.to_json()
        with self._lock:
            found = self._kept.get(key)
            version = found.version if found is not None else 0
            if version != expected_version:
                raise conflict(key, expected_version, version)
            self._last_version += 1
            stored = self._kept[key] = replace(conversation, version=self._last_version)
            self._kept.move_to_end(key)
            gone = self._surplus(key)
        if gone is not None:
            _log.info("the conversation %s was forgotten: more than %s are kept", gone, self._max)
        return stored

    def _surplus(self, key: MemoryKey) -> MemoryKey | None:
        if self._max is None or len(self._kept) <= self._max:
            return None
        # The longest unused comes first.
        gone = next((each for each in self._kept if each != key and self._kept[each].suspended is None), None)
        if gone is None:
            gone = next(each for each in self._kept if each != key)
        del self._kept[gone]
        return gone

    async def delete(self, key: MemoryKey) -> bool:
        """Forget the conversation; whether there was one."""
        with self._lock:
            return self._kept.pop(key, None) is not None

    async def keys(self, tenant: str | AllTenants | None) -> AsyncIterator[MemoryKey]:
        """The keys that are there now."""
        with self._lock:
            found = [key for key in self._kept if tenant is ALL_TENANTS or key.tenant == tenant]
        for key in found:
            yield key

    async def expire(self, older_than: datetime) -> int:
        """Delete what was last updated before that; how many."""
        with self._lock:
            old = [key for key, conversation in self._kept.items() if conversation.updated < older_than]
            for key in old:
                del self._kept[key]
        return len(old)

    async def aclose(self) -> None:
        """Nothing to release; what is kept stays."""

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"InMemoryStore({len(self)} conversations)"
