"""Laying one tree over another: mappings merge key by key, everything else is replaced by the winner and its place.

A bean that gets another ``type`` begins anew: the settings of one type mean nothing to another.
"""

from __future__ import annotations

from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode, node_at

__all__ = ("former_type", "lay_over", "merge", "put")

#: Where the beans of a configuration stand, counted from its root; deeper, a key ``type`` may be anybody's.
_BEANS = 2


def merge(below: MappingNode, above: MappingNode) -> MappingNode:
    """Both trees as one; where both have a value ``above`` wins, with its mark and layer. Lists are replaced.

    Of a bean that gets another ``type`` only the container's options (``bean``) of ``below`` stay.

    >>> from agentforge.config import from_mapping, to_value
    >>> to_value(merge(from_mapping({"a": {"x": 1, "y": 2}}), from_mapping({"a": {"y": 3}})))
    {'a': {'x': 1, 'y': 3}}
    """
    return _merged(below, above, 0)


def lay_over(base: MappingNode, bean: MappingNode) -> MappingNode:
    """The mapping of one bean over that of another, by the rules of `merge`: another ``type`` begins anew."""
    return _merged(base, bean, _BEANS)


def _merged(below: MappingNode, above: MappingNode, depth: int) -> MappingNode:
    if depth == _BEANS and former_type(below, above) is not None:
        kept = {key: entry for key, entry in below.entries.items() if key == "bean"}
        below = MappingNode(kept, above.mark, above.layer)
    entries = dict(below.entries)
    for key, entry in above.entries.items():
        known = entries.get(key)
        if known is not None and isinstance(known.node, MappingNode) and isinstance(entry.node, MappingNode):
            # The key keeps the place where the mapping began, as its rest still stands there.
            anew = depth + 1 == _BEANS and former_type(known.node, entry.node) is not None
            place = entry.key_mark if anew else known.key_mark
            entries[key] = Entry(place, _merged(known.node, entry.node, depth + 1))
        else:
            entries[key] = entry
    return MappingNode(entries, below.mark, below.layer)


def former_type(below: MappingNode, above: MappingNode) -> str | None:
    """The type of a bean that gets another one from above; ``None`` where it does not."""
    old, new = below.get("type"), above.get("type")
    return old.text if isinstance(old, ScalarNode) and isinstance(new, ScalarNode) and old.text != new.text else None


def put(root: MappingNode, path: tuple[str, ...], node: Node, mark: Mark) -> MappingNode | tuple[str, ...]:
    """The tree with ``node`` at ``path``, or the part of the path that is no mapping where it cannot be put there."""
    for length in range(1, len(path)):
        parent = node_at(root, path[:length])
        if parent is not None and not isinstance(parent, MappingNode):
            return path[:length]
    above = node
    for key in reversed(path[1:]):
        above = MappingNode({key: Entry(mark, above)}, mark, node.layer)
    return merge(root, MappingNode({path[0]: Entry(mark, above)}, mark, node.layer))
