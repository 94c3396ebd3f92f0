"""Where conversations are kept: the contract of a store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol, runtime_checkable

from agentforge.memory.conversation import Conversation
from agentforge.memory.faults import MemoryConflictError
from agentforge.memory.key import AllTenants, MemoryKey

__all__ = ("MemoryStore", "conflict")


@runtime_checkable
class MemoryStore(Protocol):
    """Keeps whole conversations. Safe to use from many tasks at once; each method is atomic, also when its task is
    cancelled: it has happened, or it has not.

    A conversation's version is the store's to give. It grows with each `save` and is never used twice for one key, also
    not after `delete`: what was deleted cannot come back through somebody who still holds it.
    """

    async def load(self, key: MemoryKey) -> Conversation | None:
        """The conversation with its version, or ``None``. Raises `UnreadableConversationError` for one that cannot be
        read."""
        ...

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        """Store it if the stored version is still ``expected_version`` (0: there is none); returns it with its new
        version. Raises `MemoryConflictError` otherwise, and `RunStateError` naming what JSON cannot hold; then nothing
        has changed. ``conversation.version`` plays no part. An unreadable conversation is replaced only by who deletes
        it first."""
        ...

    async def delete(self, key: MemoryKey) -> bool:
        """Forget the conversation, readable or not; whether there was one."""
        ...

    def keys(self, tenant: str | AllTenants | None) -> AsyncIterator[MemoryKey]:
        """The keys of one tenant (``None``: those without one) or of all, in no certain order. What is stored or
        deleted meanwhile may be in it or not."""
        ...

    async def expire(self, older_than: datetime) -> int:
        """Delete what was last updated before that, suspended or not; how many."""
        ...

    async def aclose(self) -> None:
        """Release what is held; safe to call twice."""
        ...


def conflict(key: MemoryKey, expected: int, found: int) -> MemoryConflictError:
    """The error for a version that is not the expected one; for those who write stores."""
    if not found:
        what = "is no longer there"
    elif not expected:
        what = "is there already"
    else:
        what = f"has version {found}, not {expected}"
    return MemoryConflictError(
        f"the conversation {key} {what}: somebody else changed it meanwhile, and nothing was stored",
        next_step="Load it again and repeat the turn; where several processes serve, send one conversation to one.",
    )
