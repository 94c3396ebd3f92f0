"""A bean while the plan is made, and the way its references are found in its settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.config import BeanDefinition, BeanOptions, Entry, MappingNode, Mark, Node, ObjectNode, SequenceNode
from agentforge.config.nodes import node_at
from agentforge.container.plan import Pending, ProviderOf, Target

if TYPE_CHECKING:
    from agentforge.plugin import BeanSettings, BeanType, RefField

__all__ = ("Draft", "Reference", "grouped", "reasons_of", "references_in", "with_node", "with_pending")


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of a bean: by whom, in which setting or parameter, where it is written, and what it must be.

    ``path`` is shown; ``slot`` is the setting or parameter that is filled. ``provider``: what fills it is a callable
    that gives the bean, so that the bean need not be there first. ``reason`` says why it has its place in a list.
    """

    path: str
    target: str
    mark: Mark
    wanted: type
    slot: str
    key: str = ""
    provider: bool = False
    reason: str = ""


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
    node: MappingNode | None = None
    """The settings with `Pending` where beans are named."""
    references: list[Reference] = field(default_factory=list)
    arguments: list[Reference] = field(default_factory=list)
    many: set[str] = field(default_factory=set)
    """Settings that take a list of beans, so that one bean stays a list of one."""
    named: set[str] = field(default_factory=set)
    """Settings that take a mapping of beans."""
    lists: set[str] = field(default_factory=set)
    """Parameters that take a list of beans, an empty one too."""
    mappings: set[str] = field(default_factory=set)
    """Parameters that take a mapping of beans, an empty one too."""
    arranged: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """The order that a list really gets, where its type's check has noted one."""

    @classmethod
    def of_object(cls, bean_id: str, value: object, mark: Mark, *, anonymous: bool = False) -> Draft:
        """An object that the program gave: what it is, or the source of the tools that it declares."""
        from agentforge.plugin.builtin_tools import source_of

        value = source_of(value, bean_id) or value
        return cls(bean_id, mark, BeanOptions(), provides=type(value), given=value, is_given=True, anonymous=anonymous)

    @property
    def everything_needed(self) -> list[Reference]:
        """References of settings and of the constructor, without those that are asked for later."""
        return [each for each in (*self.references, *self.arguments) if not each.provider]

    @property
    def component(self) -> str | None:
        """The name of the class or function that its settings name; ``None`` for a bean of another type."""
        if self.bean_type is None or self.bean_type.component is None or self.settings is None:
            return None
        return str(getattr(self.settings, self.bean_type.component))


def references_in(node: MappingNode, path: str, reference: RefField) -> Iterator[tuple[str, str, Node]]:
    """The nodes at a reference field, each with its path and its key in a mapping; those of a list one by one."""
    found = node_at(node, path.split("."))
    if found is None:
        return
    if reference.by_name:
        if isinstance(found, MappingNode):
            yield from ((f"{path}.{key}", key, entry.node) for key, entry in found.entries.items())
    elif not reference.many:
        yield path, "", found
    elif isinstance(found, SequenceNode):
        yield from ((f"{path}.{number}", str(number), item) for number, item in enumerate(found.items))
    # Anything else is no list or mapping, which the settings model says.


def with_pending(node: Node, path: Sequence[str], pending: Pending, written: Node) -> Node:
    """The tree with ``pending`` at ``path``, in the place of what is ``written`` there."""
    return with_node(node, path, ObjectNode(pending, written.mark, written.layer))


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


def grouped(references: Iterable[Reference], many: Iterable[str], named: Iterable[str]) -> dict[str, Target]:
    """The targets by setting or parameter; those in ``many`` have a list and those in ``named`` a mapping, of one bean
    too."""
    lists, mappings = {*many}, {*named}
    found: dict[str, Any] = {}
    for each in references:
        if each.slot in lists:
            found.setdefault(each.slot, []).append(each.target)
        elif each.slot in mappings:
            found.setdefault(each.slot, {})[each.key] = each.target
        else:
            found[each.slot] = ProviderOf(each.target) if each.provider else each.target
    return {slot: tuple(target) if isinstance(target, list) else target for slot, target in found.items()}


def reasons_of(draft: Draft) -> Mapping[str, tuple[str, ...]]:
    """Why each bean of a list has its place, by setting; a parameter's name stands behind ``arguments.``"""
    found: dict[str, tuple[str, ...]] = {}
    for before, references, lists in (("", draft.references, draft.many), ("arguments.", draft.arguments, draft.lists)):
        for each in references:
            if each.slot in lists:
                place = before + each.slot
                found[place] = (*found.get(place, ()), each.reason)
    return found
