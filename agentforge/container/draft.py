"""A bean while the plan is made, and the way its references are found in its settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.config import BeanDefinition, BeanOptions, Entry, MappingNode, Mark, Node, ObjectNode, SequenceNode
from agentforge.config.nodes import node_at
from agentforge.container.plan import Pending, Target

if TYPE_CHECKING:
    from agentforge.plugin import BeanSettings, BeanType, RefField

__all__ = ("Draft", "Reference", "grouped", "references_in", "with_node", "with_pending")


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of a bean: by whom, in which setting or parameter, where it is written, and what it must be."""

    path: str
    target: str
    mark: Mark
    wanted: type


@dataclass(slots=True)
class Draft:
    """A bean that is being planned; what could not be found out is ``None`` and has been reported."""

    id: str
    mark: Mark
    options: BeanOptions
    definition: BeanDefinition | None = None
    bean_type: BeanType | None = None
    provides: type | None = None
    settings: BeanSettings | None = None
    given: object = None
    is_given: bool = False
    anonymous: bool = False
    references: list[Reference] = field(default_factory=list)
    arguments: list[Reference] = field(default_factory=list)
    many: set[str] = field(default_factory=set)
    """Settings that take a list of beans, so that one bean stays a list of one."""
    lists: set[str] = field(default_factory=set)
    """Parameters that take a list of beans, an empty one too."""

    @classmethod
    def of_object(cls, bean_id: str, value: object, mark: Mark, *, anonymous: bool = False) -> Draft:
        """An object that the program gave: what it is, or the source of the tools that it declares."""
        from agentforge.plugin.builtin_tools import source_of

        value = source_of(value, bean_id) or value
        return cls(bean_id, mark, BeanOptions(), provides=type(value), given=value, is_given=True, anonymous=anonymous)

    @property
    def everything_needed(self) -> list[Reference]:
        """References of settings and of the constructor."""
        return [*self.references, *self.arguments]


def references_in(node: MappingNode, path: str, reference: RefField) -> Iterator[tuple[str, Node]]:
    """The nodes at a reference field, each with its path; those of a list one by one."""
    found = node_at(node, path.split("."))
    if found is None:
        return
    if not reference.many:
        yield path, found
    elif isinstance(found, SequenceNode):
        yield from ((f"{path}.{number}", item) for number, item in enumerate(found.items))
    # Anything else is no list, which the settings model says.


def with_pending(node: Node, path: Sequence[str], pending: Pending) -> Node:
    """The tree with ``pending`` at ``path``, which is there."""
    return with_node(node, path, ObjectNode(pending, node.mark, node.layer))


def with_node(node: Node, path: Sequence[str], new: Node) -> Node:
    """The tree with ``new`` at ``path``, which is there."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(node, MappingNode):
        entry = node.entries[key]
        changed = Entry(entry.key_mark, with_node(entry.node, rest, new))
        return MappingNode({**node.entries, key: changed}, node.mark, node.layer)
    assert isinstance(node, SequenceNode)
    items = list(node.items)
    items[int(key)] = with_node(items[int(key)], rest, new)
    return SequenceNode(tuple(items), node.mark, node.layer)


def grouped(references: Sequence[Reference], many: Collection[str]) -> dict[str, Target]:
    """The targets by setting or parameter; those in ``many`` have a list, of one bean too."""
    found: dict[str, Any] = {}
    for reference in references:
        field, _, number = reference.path.rpartition(".")
        if number.isdecimal() and field in many:
            found[field] = (*found.get(field, ()), reference.target)
        elif reference.path in many:
            found[reference.path] = (*found.get(reference.path, ()), reference.target)
        else:
            found[reference.path] = reference.target
    return found
