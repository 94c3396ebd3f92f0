"""Which conversation: a tenant and a memory id, kept apart wherever they are written down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Final
from uuid import UUID

from agentforge.memory.faults import MemoryKeyError

__all__ = ("ALL_TENANTS", "MAX_ID_CHARS", "AllTenants", "MemoryKey")

MAX_ID_CHARS = 1_000
"""The longest tenant and the longest memory id, in characters."""


class AllTenants(Enum):
    """The kind of `ALL_TENANTS`."""

    ALL = "all tenants"


ALL_TENANTS: Final = AllTenants.ALL
"""Where keys are listed: those of every tenant. ``None`` is no such thing, it means those without a tenant."""


@dataclass(frozen=True, slots=True, init=False)
class MemoryKey:
    """What a conversation is kept under. Two tenants never share one, whatever their memory ids are.

    ``tenant`` is a text, or ``None`` where an application has no tenants (which is a place of its own). ``memory_id``
    is a text, a whole number or a `UUID`; the last two stand for their text, so ``42`` and ``"42"`` are one
    conversation. Raises `MemoryKeyError` for anything else, for an empty text and for more than 1,000 characters.

    >>> MemoryKey("acme", 42)
    MemoryKey(tenant='acme', memory_id='42')
    """

    tenant: str | None
    memory_id: str

    def __init__(self, tenant: str | None, memory_id: object) -> None:
        if tenant is not None:
            _check("tenant", tenant)
        if memory_id is None:
            raise MemoryKeyError(
                "a conversation needs a memory id, and none was given",
                next_step="Give the turn a memory id, or leave the memory out.",
            )
        if isinstance(memory_id, UUID) or (isinstance(memory_id, int) and not isinstance(memory_id, bool)):
            memory_id = str(memory_id)
        object.__setattr__(self, "tenant", tenant)
        object.__setattr__(self, "memory_id", _check("memory id", memory_id))

    @property
    def encoded(self) -> str:
        """One ASCII text for stores that have one key; `decode` reads it. Different keys have different texts.

        >>> MemoryKey("a", "b:c").encoded
        '["a","b:c"]'
        """
        return json.dumps([self.tenant, self.memory_id], separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> MemoryKey:
        """Read what `encoded` made. Raises `MemoryKeyError` for anything else."""
        try:
            tenant, memory_id = json.loads(text)
            key = cls(tenant, memory_id)
        except (TypeError, ValueError) as error:
            if isinstance(error, MemoryKeyError):
                raise
            raise MemoryKeyError("this is no text of a conversation's key") from None
        if key.encoded != text:
            raise MemoryKeyError("this is no text of a conversation's key")
        return key

    def __str__(self) -> str:
        """For messages: ``'42' of tenant 'acme'``."""
        return repr(self.memory_id) if self.tenant is None else f"{self.memory_id!r} of tenant {self.tenant!r}"


def _check(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise MemoryKeyError(
            f"a {what} is a text, not {type(value).__name__}",
            next_step="Give a text; a whole number or a UUID will do for a memory id.",
        )
    if not value:
        raise MemoryKeyError(f"a {what} is a text with at least one character")
    if len(value) > MAX_ID_CHARS:
        raise MemoryKeyError(f"a {what} has at most {MAX_ID_CHARS} characters, this one has {len(value)}")
    return value
