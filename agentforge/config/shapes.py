"""What a node is, in words, and the reading of the small forms that several keys share: names and lists of names."""

from __future__ import annotations

from typing import Any

from agentforge.config import codes
from agentforge.config.faults import Reporter
from agentforge.config.nodes import MappingNode, Mark, Node, ObjectNode, ScalarNode, SecretNode, SequenceNode
from agentforge.config.scalars import plain_value

__all__ = ("ROOT_KEYS", "Names", "is_nothing", "kind_of", "read_texts", "report_bad", "report_unfit")

#: The keys of a configuration's root; there are no others.
ROOT_KEYS = ("agentforge", "scan", "include", "plugins", "beans")

Names = tuple[tuple[str, Mark], ...]
"""Names, each with its place."""

_KINDS: dict[type[Any], str] = {
    SequenceNode: "a list",
    MappingNode: "a mapping",
    SecretNode: "a secret",
    ObjectNode: "an object",
}


def kind_of(node: Node) -> str:
    """What a node is, in words that show no value.

    >>> kind_of(ScalarNode("", True, Mark("app.yaml", 1, 1), "file"))
    'nothing'
    """
    if isinstance(node, ScalarNode):
        return "nothing" if is_nothing(node) else "a single value"
    return _KINDS[type(node)]


def is_nothing(node: Node | None) -> bool:
    """Whether there is no value: no node, an empty one, or ``null``."""
    return node is None or (isinstance(node, ScalarNode) and node.plain and plain_value(node.text) is None)


def read_texts(node: Node | None, path: str, reporter: Reporter) -> Names:
    """A list of names, each with its place; nothing stands for an empty list."""
    if node is None or is_nothing(node):
        return ()
    if not isinstance(node, SequenceNode):
        message = f"'{path}' is a list of names, not {kind_of(node)}"
        step = f"Write '[{node.text}]'." if isinstance(node, ScalarNode) else "Write a list: [first, second]."
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path=path)
        return ()
    found = []
    for number, item in enumerate(node.items):
        if isinstance(item, ScalarNode) and item.text and not is_nothing(item):
            found.append((item.text, item.mark))
        else:
            message = f"'{path}' is a list of names, and this one is {kind_of(item)}"
            step = "Write each name as a text of its own."
            reporter.report(codes.BAD_VALUE, message, item.mark, next_step=step, path=f"{path}.{number}")
    return tuple(found)


def report_bad(node: Node, path: str, reporter: Reporter, wanted: str, step: str | None = None) -> None:
    """Report that the value at ``path`` is not what its key wants; a text of the file is repeated."""
    report_unfit(node, path, reporter, f"'{path.rpartition('.')[2]}' is {wanted}", step)


def report_unfit(node: Node, path: str, reporter: Reporter, rule: str, step: str | None = None) -> None:
    """Report that a rule does not hold for the value at ``path``: the rule, and what stands there."""
    shown = f"'{node.text}'" if isinstance(node, ScalarNode) and not is_nothing(node) else kind_of(node)
    reporter.report(codes.BAD_VALUE, f"{rule}, not {shown}", node.mark, next_step=step, path=path)
