"""Indexes by the set of tools that they are of: made again only for a set that was not seen lately."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from agentforge.errors import ConfigurationError
from agentforge.model.specification import ToolSpecification
from agentforge.tool.search.index import ToolIndex

__all__ = ("BuiltIndexes", "fingerprint_of")


def fingerprint_of(specifications: Sequence[ToolSpecification]) -> str:
    """The same text for the same names, descriptions and parameters in the same order, and for no others."""
    digest = hashlib.sha256()
    for each in specifications:
        said = [each.name, each.description, each.parameters.schema]
        digest.update(json.dumps(said, sort_keys=True, default=repr).encode())
        digest.update(b"\n")
    return digest.hexdigest()


class BuiltIndexes:
    """The indexes of the ``capacity`` sets of tools that were searched last, made of ``index`` by its `rebuild`.

    Conversations with the same tools share one, whoever holds them.
    """

    def __init__(self, index: ToolIndex, capacity: int = 16) -> None:
        if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
            raise ConfigurationError(f"the capacity is a whole number from 1, not {capacity!r}")
        self.index = index
        self.capacity = capacity
        self._built: dict[str, ToolIndex] = {}

    def of(self, specifications: Sequence[ToolSpecification], fingerprint: str | None = None) -> ToolIndex:
        """The index of these tools; ``fingerprint`` is theirs, where it is known already."""
        key = fingerprint if fingerprint is not None else fingerprint_of(specifications)
        found = self._built.pop(key, None)
        if found is None:
            found = self.index.rebuild(specifications)
        self._built[key] = found  # the newest is last
        while len(self._built) > self.capacity:
            self._built.pop(next(iter(self._built)), None)
        return found

    def clear(self) -> None:
        """Forget all; each set is indexed again at its next search."""
        self._built.clear()

    def __len__(self) -> int:
        return len(self._built)

    def __repr__(self) -> str:
        return f"BuiltIndexes({self.index!r}, {len(self._built)} of {self.capacity})"
