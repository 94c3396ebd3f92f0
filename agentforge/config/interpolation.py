"""Placeholders in values: ``${NAME}``, ``${NAME:default}``, ``${secret:NAME}``, and ``$${`` for a plain ``${``.

They are replaced in the nodes and never in the text of a file, so that no value can change the structure around it;
what a variable holds is taken as it is and never looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from agentforge.config import codes
from agentforge.config.diagnostic import nearest
from agentforge.config.faults import Reporter
from agentforge.config.nodes import Entry, MappingNode, Node, ScalarNode, SecretNode, SequenceNode
from agentforge.masking import Secrets

__all__ = ("LITERAL_LAYERS", "Variables", "interpolate")

#: Layers whose values are taken as they are: what a variable holds is never expanded.
LITERAL_LAYERS = frozenset({".env", "environment"})

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(r"\$\$\{|\$\{|\}")
_HEAD = re.compile(rf"(?:secret:(?P<secret>{_NAME}(?:[.-][A-Za-z0-9_]+)*)|(?P<name>(?!secret:){_NAME}))(?P<rest>[:}}])")
#: A default may hold a placeholder with a default, and that is the end of it.
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Variables:
    """Where placeholders find their values; ``secrets`` collects every secret that was used.

    Args:
        environment: Names and values.
        secrets_dir: A folder with one file for each secret, asked after the environment.
    """

    environment: Mapping[str, str] = field(repr=False)
    secrets_dir: Path | None = None
    secrets: Secrets = field(default_factory=Secrets)

    def secret(self, name: str) -> str | None:
        """The value of a secret: the environment's, else the file's without its last line break; ``None`` if unset."""
        if name in self.environment:
            return self.environment[name]
        if self.secrets_dir is None:
            return None
        try:
            text = (self.secrets_dir / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return text.removesuffix("\n").removesuffix("\r")


def interpolate(node: Node, variables: Variables, reporter: Reporter) -> Node:
    """The tree with its placeholders replaced; keys, and the values of `LITERAL_LAYERS`, stay as they are.

    A value that held a secret becomes a `SecretNode`. A fault is reported at its value, which then stays as it was.

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
            return _Expansion(node, variables, reporter, path).run()
        case _:
            return node


class _FaultError(Exception):
    """The value cannot be expanded; what is wrong has been reported."""


class _Expansion:
    """One value being expanded, from left to right."""

    def __init__(self, node: ScalarNode, variables: Variables, reporter: Reporter, path: str) -> None:
        self._node = node
        self._text = node.text
        self._variables = variables
        self._reporter = reporter
        self._path = path
        self._secret = False

    def run(self) -> Node:
        try:
            text, _ = self._until(0, depth=0, used=True)
        except _FaultError:
            return self._node
        if not self._secret:
            return ScalarNode(text, self._node.plain, self._node.mark, self._node.layer)
        return SecretNode(text, self._node.mark, self._node.layer)

    def _until(self, start: int, *, depth: int, used: bool) -> tuple[str, int]:
        """The text from ``start`` to the end, or inside a placeholder to its brace, and where that ended.

        ``used`` is false for the default of a variable that is set: it is read for its form alone.
        """
        parts: list[str] = []
        while True:
            token = _TOKEN.search(self._text, start)
            if token is None:
                if depth:
                    self._fail(codes.BAD_PLACEHOLDER, "a placeholder is not closed", "Close it with '}'.")
                return "".join([*parts, self._text[start:]]), len(self._text)
            parts.append(self._text[start : token.start()])
            start = token.end()
            match token[0]:
                case "$${":
                    parts.append("${")
                    # Its closing brace belongs to the text, inside a default as well.
                    closing = self._text.find("}", start) if depth else -1
                    if closing >= 0:
                        parts.append(self._text[start : closing + 1])
                        start = closing + 1
                case "${":
                    value, start = self._placeholder(start, depth=depth + 1, used=used)
                    parts.append(value)
                case _ if depth:
                    return "".join(parts), start
                case _:
                    parts.append("}")

    def _placeholder(self, start: int, *, depth: int, used: bool) -> tuple[str, int]:
        if depth > _DEEPEST:
            step = "A default may hold one placeholder, and that one a plain default."
            self._fail(codes.BAD_PLACEHOLDER, "placeholders are nested too deep", step)
        head = _HEAD.match(self._text, start)
        if head is None:
            self._fail(
                codes.BAD_PLACEHOLDER,
                "a placeholder cannot be read",
                "Write ${NAME}, ${NAME:default} or ${secret:NAME}; for the characters themselves write $${.",
            )
        name = head["secret"] or head["name"]
        secret = head["secret"] is not None
        value = self._variables.secret(name) if secret else self._variables.environment.get(name)
        default: str | None = None
        end = head.end()
        if head["rest"] == ":":
            default, end = self._until(end, depth=depth, used=used and value is None)
        if not used:
            return "", end
        if secret:
            self._secret = True
            # A default is a word of the file; to mask it everywhere would tear texts apart.
            self._variables.secrets.add(value or "")
        if value is None and default is None:
            self._unset(name, secret)
        return (value if value is not None else default or ""), end

    def _unset(self, name: str, secret: bool) -> NoReturn:
        near = nearest(name, self._variables.environment)
        hint = f"Did you mean '{near}'? Otherwise set" if near else "Set"
        if secret:
            folder = self._variables.secrets_dir
            where = f", or write it into {folder / name}" if folder else ""
            step = f"{hint} {name} in the environment or in a .env file beside the configuration{where}."
            self._fail(codes.UNSET_SECRET, f"the secret {name} is not set", step)
        step = f"{hint} {name} in the environment or in a .env file beside the configuration, or give a default: " + (
            f"${{{name}:value}}."
        )
        self._fail(codes.UNSET_VARIABLE, f"the variable {name} is not set and has no default", step)

    def _fail(self, code: str, message: str, next_step: str) -> NoReturn:
        self._reporter.report(code, message, self._node.mark, next_step=next_step, path=self._path)
        raise _FaultError
