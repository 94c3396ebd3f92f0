"""``extends``: the definition of one bean laid over that of another, before anything is validated."""

from __future__ import annotations

from agentforge.config import codes
from agentforge.config.bean_options import INHERITED
from agentforge.config.diagnostic import did_you_mean
from agentforge.config.faults import Reporter
from agentforge.config.merge import lay_over
from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode, SequenceNode, node_at
from agentforge.config.shapes import is_nothing

__all__ = ("MAX_INHERITED", "inherit")

#: How many values all beans together may take over from those that they extend: a short line can take a long list.
MAX_INHERITED = 200_000


def inherit(root: MappingNode, reporter: Reporter) -> MappingNode:
    """The tree with every bean's base below it; each value keeps its own mark and layer.

    Type and settings are merged key by key, lists replaced; a bean of another type than its base begins anew. Of the
    base's ``bean:`` block only `INHERITED` is taken over. An unknown base and a circle are reported, and the bean stays
    as it is. A wrong form of ``extends`` is left to `read_options`.

    >>> from agentforge.config import from_mapping, to_value
    >>> base = {"type": "scripted", "repeat": True}
    >>> tree = from_mapping({"beans": {"base": base, "one": {"bean": {"extends": "base"}, "turns": ["a"]}}})
    >>> to_value(inherit(tree, Reporter()))["beans"]["one"]
    {'type': 'scripted', 'repeat': True, 'bean': {'extends': 'base'}, 'turns': ['a']}
    """
    beans = root.get("beans")
    if not isinstance(beans, MappingNode) or not any(_base_of(entry.node) for entry in beans.entries.values()):
        return root
    heirs = _Heirs(beans, reporter)
    entries = {bean_id: Entry(entry.key_mark, heirs.whole(bean_id)) for bean_id, entry in beans.entries.items()}
    beans_entry = Entry(root.entries["beans"].key_mark, MappingNode(entries, beans.mark, beans.layer))
    return MappingNode({**root.entries, "beans": beans_entry}, root.mark, root.layer)


_CORRECT = "Correct the name."


class _Heirs:
    """The beans of a tree, each made whole once."""

    def __init__(self, beans: MappingNode, reporter: Reporter) -> None:
        self._beans = beans
        self._reporter = reporter
        self._whole: dict[str, Node] = {}
        self._sizes: dict[str, int] = {}
        self._taken = 0

    def whole(self, bean_id: str) -> Node:
        """The bean over its bases; a chain of any length costs no recursion."""
        chain: list[str] = []
        current = bean_id
        while current not in self._whole:
            chain.append(current)
            base = _base_of(self._beans.entries[current].node)
            if base is None or self._is_spent or not self._is_fit(current, *base, chain):
                self._whole[current] = self._beans.entries[current].node
                break
            current = base[0]
        for heir in reversed(chain):
            base = _base_of(self._beans.entries[heir].node)
            if heir not in self._whole and base is not None:
                self._whole[heir] = self._taken_over(heir, *base)
        return self._whole[bean_id]

    @property
    def _is_spent(self) -> bool:
        return self._taken > MAX_INHERITED

    def _taken_over(self, heir: str, base: str, mark: Mark) -> Node:
        """The bean over its base, as long as all that is taken over stays within bounds."""
        own = self._beans.entries[heir].node
        if self._is_spent:
            return own
        if base not in self._sizes:
            self._sizes[base] = _size(self._whole[base])
        self._taken += self._sizes[base]
        if self._is_spent:
            self._reporter.report(
                codes.TOO_LARGE,
                f"beans take over more than {MAX_INHERITED:,} values from those that they extend",
                mark,
                next_step="Extend smaller beans, or put the long values into beans of their own.",
                path=f"beans.{heir}.bean.extends",
            )
            return own
        return _over(self._whole[base], own)

    def _is_fit(self, bean_id: str, base: str, mark: Mark, chain: list[str]) -> bool:
        path = f"beans.{bean_id}.bean.extends"
        if "${" in base:
            message = "'extends' takes no placeholder: definitions are merged before placeholders are filled"
            step = "Write the name itself, or choose with a profile."
            self._reporter.report(codes.BAD_PLACEHOLDER, message, mark, next_step=step, path=path, settles=True)
        elif base not in self._beans.entries:
            message = f"'{bean_id}' extends '{base}', and no bean is called that"
            others = () if self._reporter.has_enough else self._beans.entries
            step = did_you_mean(base, [each for each in others if each != bean_id]) if others else _CORRECT
            self._reporter.report(codes.UNKNOWN_BASE, message, mark, next_step=step, path=path)
        elif not isinstance(self._beans.entries[base].node, MappingNode):
            message = f"'{bean_id}' extends '{base}', which is no definition"
            step = "Extend a bean that is a mapping with a 'type'."
            self._reporter.report(codes.UNKNOWN_BASE, message, mark, next_step=step, path=path)
        elif base in chain:
            circle = " -> ".join((*chain[chain.index(base) :], base))
            message = f"beans extend one another: {circle}"
            step = "Take one 'extends' away."
            self._reporter.report(codes.EXTENDS_CYCLE, message, mark, next_step=step, path=path)
        else:
            return True
        return False


def _size(node: Node) -> int:
    """How many values a tree holds."""
    count, waiting = 0, [node]
    while waiting:
        current = waiting.pop()
        count += 1
        if isinstance(current, MappingNode):
            waiting.extend(entry.node for entry in current.entries.values())
        elif isinstance(current, SequenceNode):
            waiting.extend(current.items)
    return count


def _base_of(node: Node) -> tuple[str, Mark] | None:
    found = node_at(node, ("bean", "extends"))
    if isinstance(found, ScalarNode) and found.text and not is_nothing(found):
        return found.text, found.mark
    return None


def _over(base: Node, heir: Node) -> Node:
    assert isinstance(base, MappingNode) and isinstance(heir, MappingNode)  # both have been looked at
    entries = {key: entry for key, entry in base.entries.items() if key != "bean"}
    block = base.entries.get("bean")
    if block is not None and isinstance(block.node, MappingNode):
        kept = {key: entry for key, entry in block.node.entries.items() if key in INHERITED}
        if kept:
            entries["bean"] = Entry(block.key_mark, MappingNode(kept, block.node.mark, block.node.layer))
    merged = lay_over(MappingNode(entries, base.mark, base.layer), heir)
    return MappingNode(merged.entries, heir.mark, heir.layer)
