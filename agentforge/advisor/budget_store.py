"""Where it is kept what a conversation has spent: a protocol, and the store inside the process."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol, runtime_checkable

from agentforge.errors import ConfigurationError
from agentforge.memory import MemoryKey

__all__ = ("BudgetStore", "InProcessBudgetStore")

_log = logging.getLogger("agentforge.advisor")


@runtime_checkable
class BudgetStore(Protocol):
    """Sums by name (``calls``, ``tokens``, …) for each conversation. Every method is atomic, so that runs of one
    conversation at once, in one process or in many, never take more together than there is."""

    async def take(self, key: MemoryKey, name: str, amount: int, limit: int) -> int:
        """Add as much of ``amount`` as ``limit`` leaves, and say how much that was."""
        ...

    async def add(self, key: MemoryKey, amounts: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
        """Add what was spent (below 0: give back), and say what it is now, of everything."""
        ...

    async def first(self, key: MemoryKey, mark: str) -> bool:
        """Whether nobody has asked for this mark before."""
        ...

    async def forget(self, key: MemoryKey) -> None:
        """The conversation begins anew."""
        ...


@dataclass(slots=True)
class _Spent:
    amounts: dict[str, Decimal] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)


class InProcessBudgetStore:
    """Keeps the ``max_conversations`` (10,000) that spent last, and forgets with the process. One that is dropped for
    want of room begins anew, and the log says so. Safe to use from several threads and event loops."""

    def __init__(self, max_conversations: int = 10_000) -> None:
        if not isinstance(max_conversations, int) or isinstance(max_conversations, bool) or max_conversations < 1:
            raise ConfigurationError(f"max_conversations must be at least 1, not {max_conversations!r}")
        self.max_conversations = max_conversations
        self._kept: OrderedDict[MemoryKey, _Spent] = OrderedDict()
        self._lock = threading.Lock()

    async def take(self, key: MemoryKey, name: str, amount: int, limit: int) -> int:
        """As `BudgetStore.take`."""
        with self._lock:
            amounts = self._of(key).amounts
            before = amounts.get(name, Decimal(0))
            taken = max(0, min(amount, limit - int(before)))
            amounts[name] = before + taken
            return taken

    async def add(self, key: MemoryKey, amounts: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
        """As `BudgetStore.add`."""
        with self._lock:
            spent = self._of(key).amounts
            for name, amount in amounts.items():
                spent[name] = max(Decimal(0), spent.get(name, Decimal(0)) + amount)
            return dict(spent)

    async def first(self, key: MemoryKey, mark: str) -> bool:
        """As `BudgetStore.first`."""
        with self._lock:
            marks = self._of(key).marks
            known = mark in marks
            marks.add(mark)
            return not known

    async def forget(self, key: MemoryKey) -> None:
        """As `BudgetStore.forget`."""
        with self._lock:
            self._kept.pop(key, None)

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"InProcessBudgetStore({len(self)} conversations)"

    def _of(self, key: MemoryKey) -> _Spent:
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = _Spent()
            if len(self._kept) > self.max_conversations:
                self._kept.popitem(last=False)
                _log.warning("the budget store is full: what the conversation idle longest has spent is forgotten")
        else:
            self._kept.move_to_end(key)
        return found
