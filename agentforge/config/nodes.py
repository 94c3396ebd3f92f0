"""A configuration as a tree of values that know where they were written and which layer set them.

Nothing here knows YAML: the same nodes come from a file, the environment, the command line and Python, so that
whatever is found wrong later can say where, and `explain` can say who.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agentforge.masking import MASK

__all__ = (
    "LINE_BREAK",
    "Entry",
    "MappingNode",
    "Mark",
    "Node",
    "ObjectNode",
    "ScalarNode",
    "SecretNode",
    "SequenceNode",
    "node_at",
)

#: What ends a line for a `Mark`: the breaks of YAML.
LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a file: ``line`` and ``column`` count from 1.

    >>> str(Mark("agentforge.yaml", 3, 7))
    'agentforge.yaml:3:7'
    >>> str(Mark.outside("environment AGENTFORGE_BEANS__MODEL__MODEL"))
    'environment AGENTFORGE_BEANS__MODEL__MODEL'
    """

    file: str
    line: int
    column: int

    @classmethod
    def outside(cls, layer: str) -> Mark:
        """The mark of a value that stands in no file; ``layer`` says where it comes from."""
        return cls(layer, 0, 0)

    @property
    def in_file(self) -> bool:
        """Whether there is a line to show."""
        return self.line > 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.in_file else self.file


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value as it was written; ``plain`` means without quotes, so that its text decides its type."""

    text: str
    plain: bool
    mark: Mark
    layer: str


@dataclass(frozen=True, slots=True)
class SecretNode:
    """A value that holds a secret; its text is in no ``repr``."""

    text: str = field(repr=False)
    mark: Mark
    layer: str

    def __str__(self) -> str:
        return MASK


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """A Python object that a program put into its mapping, taken as it is."""

    value: object
    mark: Mark
    layer: str


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    items: tuple[Node, ...]
    mark: Mark
    layer: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A key's place and its value."""

    key_mark: Mark
    node: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    """Keys and values in the order of the text; ``entries`` is read-only.

    >>> root = MappingNode({}, Mark.outside("python"), "python")
    >>> root.get("beans") is None
    True
    """

    entries: Mapping[str, Entry]
    mark: Mark
    layer: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", MappingProxyType(dict(self.entries)))

    def get(self, key: str) -> Node | None:
        """The value of a key; ``None`` when it is not there."""
        entry = self.entries.get(key)
        return None if entry is None else entry.node


Node = ScalarNode | SequenceNode | MappingNode | SecretNode | ObjectNode


def node_at(node: Node, path: Iterable[str]) -> Node | None:
    """The node below the keys of ``path``, from mapping to mapping; ``None`` where there is none.

    >>> root = MappingNode({}, Mark.outside("python"), "python")
    >>> node_at(root, ()) is root, node_at(root, ("beans", "model"))
    (True, None)
    """
    found: Node | None = node
    for key in path:
        found = found.get(key) if isinstance(found, MappingNode) else None
    return found
