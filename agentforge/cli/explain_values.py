"""The values of a configuration with who set them, masked where they are secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentforge.config import MappingNode, Mark, Node, ObjectNode, ScalarNode, SecretNode, SequenceNode, to_value
from agentforge.masking import MASK

__all__ = ("Origins", "Privacy", "is_private", "leaves", "plain")

Privacy = Literal["secret", "plain", "unknown"]
"""Whether a setting is declared as a secret, as something else, or not at all."""

_PLACEHOLDER = re.compile(r"(?<!\$)\$\{(secret:|file:)?([^}:?]+)")
_PRIVATE_KEY = re.compile(r"(?i)(key|token|secret|passw|pwd|credential|authorization|bearer)")
_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@/\s]+(?=@)")


def leaves(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """The single values below a node, each with its keys; a list of single values, and an empty one, is one value."""
    if isinstance(node, MappingNode) and node.entries:
        for key, entry in node.entries.items():
            yield from leaves(entry.node, (*path, key))
    elif isinstance(node, SequenceNode) and any(isinstance(item, MappingNode | SequenceNode) for item in node.items):
        for number, item in enumerate(node.items):
            yield from leaves(item, (*path, str(number)))
    else:
        yield path, node


def plain(node: Node, path: tuple[str, ...], privacy: Callable[[Sequence[str]], Privacy]) -> Any:
    """The value as data; what is a secret, by its kind, by its type or by the name of its key, is masked.

    ``privacy`` says what is known of the setting at a path.
    """
    known = privacy(path)
    if isinstance(node, SecretNode) or known == "secret":
        return MASK
    if isinstance(node, ObjectNode):
        return f"<{type(node.value).__name__}>"
    if isinstance(node, MappingNode):
        return {key: plain(entry.node, (*path, key), privacy) for key, entry in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [plain(item, (*path, str(number)), privacy) for number, item in enumerate(node.items)]
    value = to_value(node)
    if not isinstance(value, str):
        return value
    # Where a type says nothing of secrets, the name of the key does.
    named = next((key for key in reversed(path) if not key.isdecimal()), "")
    if known == "unknown" and value and _PRIVATE_KEY.search(named):
        return MASK
    return _PASSWORD.sub(lambda found: found[1] + MASK, value)


def is_private(value: object) -> bool:
    """Whether a checked setting is a secret."""
    return hasattr(value, "get_secret_value")


class Origins:
    """Which placeholders a value was written with, and where their values came from.

    The files are read again: a tree whose placeholders are filled has forgotten them.
    """

    def __init__(self, environment: Mapping[str, str], all_variables: Mapping[str, str]) -> None:
        self._environment = environment
        self._all = all_variables
        self._files: dict[str, Mapping[tuple[int, int], str]] = {}

    def of(self, mark: Mark) -> list[str]:
        """Sentence parts, such as ``${NAME} from the environment``; none for a value that is written out."""
        if not mark.in_file:
            return []
        if mark.file not in self._files:
            self._files[mark.file] = _texts_of(mark.file)
        text = self._files[mark.file].get((mark.line, mark.column), "")
        return [self._part(found[1] or "", found[2]) for found in _PLACEHOLDER.finditer(text)]

    def _part(self, kind: str, name: str) -> str:
        if kind == "file:":
            return f"${{file:{name}}}"
        if name in self._environment:
            where = "from the environment"
        elif name in self._all:
            where = "from .env"
        else:
            where = "from the secret sources" if kind else "by its default"
        return f"${{{kind}{name}}} {where}"


def _texts_of(file: str) -> Mapping[tuple[int, int], str]:
    from agentforge.config import ConfigurationFaults, read_yaml

    try:
        root = read_yaml(Path(file).read_text("utf-8-sig"), file, layer="file")
    except (OSError, UnicodeDecodeError, ConfigurationFaults):  # a .env file, or one that has just changed
        return {}
    found: dict[tuple[int, int], str] = {}
    waiting: list[Node] = [] if root is None else [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ScalarNode):
            found[node.mark.line, node.mark.column] = node.text
        elif isinstance(node, MappingNode):
            waiting += [entry.node for entry in node.entries.values()]
        elif isinstance(node, SequenceNode):
            waiting += node.items
    return found
