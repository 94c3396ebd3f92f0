"""Placeholders in values: variables, secrets, texts of files, and ``$${`` for a plain ``${``.

They are replaced in the nodes and never in the text of a file, so that no value can change the structure around it;
what a variable or a file holds is taken as it is and never looked at again.
"""

from __future__ import annotations

from agentforge.config import codes
from agentforge.config.expansion import Expansion
from agentforge.config.faults import Reporter
from agentforge.config.nodes import Entry, MappingNode, Mark, Node, ScalarNode, SequenceNode
from agentforge.config.overrides import FILE_ONLY_KEYS
from agentforge.config.variables import Variables

__all__ = ("LITERAL_LAYERS", "interpolate")

#: Layers whose values are taken as they are: what a variable holds is never expanded.
LITERAL_LAYERS = frozenset({".env", "environment"})


def interpolate(node: Node, variables: Variables, reporter: Reporter) -> Node:
    """The tree with its placeholders replaced; keys, and the values of `LITERAL_LAYERS`, stay as they are.

    ``${NAME}``, ``${NAME:default}`` and ``${NAME?message}`` are a variable; ``${secret:NAME}`` and
    ``${secret:PLUGIN/NAME}`` a secret; ``${file:PATH}`` the text of a file. A value that held a secret becomes a
    `SecretNode`. A fault is reported at its value, which then stays as it was; so is a placeholder below a key that
    chooses what is loaded.

    >>> from agentforge.config import from_mapping, to_value
    >>> node = from_mapping({"url": "http://${HOST:localhost}/v1"})
    >>> to_value(interpolate(node, Variables({}), Reporter()))
    {'url': 'http://localhost/v1'}
    """
    return _interpolate(node, variables, reporter, "")


def _interpolate(node: Node, variables: Variables, reporter: Reporter, path: str) -> Node:
    prefix = f"{path}." if path else ""
    match node:
        case MappingNode():
            entries = {
                key: Entry(entry.key_mark, _interpolate(entry.node, variables, reporter, prefix + key))
                for key, entry in node.entries.items()
            }
            return MappingNode(entries, node.mark, node.layer)
        case SequenceNode():
            items = (
                _interpolate(item, variables, reporter, f"{prefix}{number}") for number, item in enumerate(node.items)
            )
            return SequenceNode(tuple(items), node.mark, node.layer)
        case ScalarNode() if "${" in node.text and node.layer not in LITERAL_LAYERS:
            key = path.partition(".")[0]
            if key in FILE_ONLY_KEYS:
                _report_chosen(key, node.mark, reporter, path)
                return node
            return Expansion(node, variables, reporter, path).run()
        case _:
            return node


def _report_chosen(key: str, mark: Mark, reporter: Reporter, path: str) -> None:
    message = f"'{key}' takes no placeholder: the environment may not choose what is loaded"
    step = "Write the name itself, or choose with a profile."
    reporter.report(codes.NOT_FROM_HERE, message, mark, next_step=step, path=path)
