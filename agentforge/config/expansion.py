"""One value whose placeholders are replaced, from left to right, each looked at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from agentforge.config import codes
from agentforge.config.diagnostic import nearest
from agentforge.config.faults import Reporter
from agentforge.config.nodes import Node, ScalarNode, SecretNode
from agentforge.config.text_file import TextFileError, read_text_file
from agentforge.config.trust import is_inside
from agentforge.config.variables import MAX_FILLED, Variables
from agentforge.errors import AgentForgeError

__all__ = ("Expansion",)

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PART = r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*"
_TOKEN = re.compile(r"\$\$\{|\$\{|\}")
_HEAD = re.compile(
    rf"""(?: secret: (?: (?P<plugin>[A-Za-z][A-Za-z0-9_-]*) / (?P<path>{_PART}(?:/{_PART})*)
                       | (?P<secret>{_NAME}(?:[.-][A-Za-z0-9_]+)*) )
           | file: (?P<file>[^{{}}$\n]*[^{{}}$\s])\s* (?=\}})
           | (?! (?:secret|file): ) (?P<name>{_NAME}) )
         (?P<rest>[:?}}])""",
    re.VERBOSE,
)
#: A default may hold a placeholder with a default, and that is the end of it.
_DEEPEST = 2
_FORMS = "${NAME}, ${NAME:default}, ${NAME?message}, ${secret:NAME}, ${secret:PLUGIN/NAME} or ${file:PATH}"
_PLACE = "in the environment or in a .env file beside the configuration"
#: Keys whose value says what is imported or run; no file may say it.
_CHOOSES_CODE = frozenset({"type", "component", "command"})


class _FaultError(Exception):
    """The value cannot be expanded; what is wrong has been reported."""


class Expansion:
    """A scalar on its way to its value; faults are reported at its place under its dotted path."""

    def __init__(self, node: ScalarNode, variables: Variables, reporter: Reporter, path: str) -> None:
        self._node = node
        self._text = node.text
        self._variables = variables
        self._reporter = reporter
        self._path = path
        self._secret = False
        self._file = False

    def run(self) -> Node:
        """The node with its value, a `SecretNode` where a secret is in it; the node itself where it has a fault."""
        try:
            text, _ = self._until(0, depth=0, used=True)
        except _FaultError:
            return self._node
        mark, layer = self._node.mark, self._node.layer
        # A secret that is empty is none, and reads as any other empty value does.
        if self._secret and (text or not self._node.plain):
            return SecretNode(text, mark, layer)
        return ScalarNode(text, self._node.plain and not self._file, mark, layer)

    def _until(self, start: int, *, depth: int, used: bool) -> tuple[str, int]:
        """The text from ``start`` to the end, or inside a placeholder to its brace, and where that ended.

        ``used`` is false for the default of a variable that is set: it is read for its form alone.
        """
        parts: list[str] = []
        while True:
            token = _TOKEN.search(self._text, start)
            if token is None:
                if depth:
                    self._not_closed()
                return "".join([*parts, self._text[start:]]), len(self._text)
            parts.append(self._text[start : token.start()])
            start = token.end()
            match token[0]:
                case "$${":
                    parts.append("${")
                    # Its closing brace belongs to the text, inside a default as well.
                    if depth:
                        closing = self._text.find("}", start) + 1
                        if not closing:
                            self._not_closed()
                        parts.append(self._text[start:closing])
                        start = closing
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
        if head is None and "}" not in self._text[start:]:
            self._not_closed()
        if head is None:
            step = f"Write {_FORMS}; for the characters themselves write $${{."
            self._fail(codes.BAD_PLACEHOLDER, "a placeholder cannot be read", step)
        if head["file"] is not None:
            return (self._counted(self._text_of(head["file"].strip())) if used else ""), head.end()
        value = self._value(head) if used else None
        default: str | None = None
        message, end = "", head.end()
        if head["rest"] == ":":
            default, end = self._until(end, depth=depth, used=used and value is None)
        elif head["rest"] == "?":
            message, end = self._message(end)
        if not used:
            return "", end
        if value is None and default is None:
            self._unset(head, message)
        return (self._counted(value) if value is not None else default or ""), end

    def _counted(self, text: str) -> str:
        """A text that comes from outside the file, as long as all of them together stay within bounds."""
        spent = not self._variables.fill("")
        if spent:  # which is reported where it came to be
            self._reporter.settle(self._node.mark)
            raise _FaultError
        if not self._variables.fill(text):
            message = f"placeholders bring in more than {MAX_FILLED:,} characters"
            self._fail(codes.TOO_LARGE, message, "Take long texts in fewer times.")
        return text

    def _message(self, start: int) -> tuple[str, int]:
        """The text between ``?`` and the closing brace, which holds no placeholder."""
        closing = self._text.find("}", start)
        if closing < 0:
            self._not_closed()
        message = self._text[start:closing]
        if "${" in message:
            self._fail(codes.BAD_PLACEHOLDER, "a message holds a placeholder", "Write the message as plain text.")
        return message.strip(), closing + 1

    def _value(self, head: re.Match[str]) -> str | None:
        if head["name"]:
            return self._variables.environment.get(head["name"])
        self._secret = True
        name = head["path"] or head["secret"]
        try:
            value = self._variables.secret(name, head["plugin"])
        except AgentForgeError as error:
            self._fail(codes.SECRET_SOURCE_FAILED, error.message, error.next_step or "Correct the plugin.")
        except Exception as error:  # its words may hold anything
            message = f"the secret {name} cannot be asked for: {type(error).__name__}"
            self._fail(codes.SECRET_SOURCE_FAILED, message, f"Give it {_PLACE}, or correct the plugin.")
        # A default is a word of the file; to mask it everywhere would tear texts apart.
        self._variables.secrets.add(value or "")
        return value

    def _text_of(self, name: str) -> str:
        if self._node.layer == "command line":
            step = "Write it into the configuration file, or give it in Python."
            self._fail(codes.NOT_FROM_HERE, "a file's text cannot be taken in from here", step)
        key = self._path.rpartition(".")[2]
        if key in _CHOOSES_CODE:
            message = f"'{key}' takes no file's text: it chooses what is loaded or run"
            self._fail(codes.NOT_FROM_HERE, message, "Write the name itself, or choose with a profile.")
        mark = self._node.mark
        path = (Path(mark.file).parent if mark.in_file else self._variables.folder) / name
        if self._variables.trust == "data" and not is_inside(path, self._variables.folder):
            message = f"the file '{path}' is outside the folder of the configuration, which is read as data"
            self._fail(codes.NOT_TRUSTED, message, "Put the file into that folder, or load with trust='code'.")
        try:
            text = read_text_file(path)
        except TextFileError as error:
            self._fail(error.code, error.message, error.next_step)
        self._file = True
        return text

    def _unset(self, head: re.Match[str], message: str) -> NoReturn:
        name = head["name"] or head["path"] or head["secret"]
        why = f": {message}" if message else ""
        if head["plugin"]:
            step = f"Add it there, or give another name after '{head['plugin']}/'."
            self._fail(codes.UNSET_SECRET, f"the plugin '{head['plugin']}' has no secret {name}{why}", step)
        near = nearest(name, self._variables.environment)
        hint = f"Did you mean '{near}'? Otherwise set" if near else "Set"
        if head["secret"]:
            folder = self._variables.secrets_dir
            where = f", or write it into {folder / name}" if folder else ""
            self._fail(codes.UNSET_SECRET, f"the secret {name} is not set{why}", f"{hint} {name} {_PLACE}{where}.")
        if head["rest"] == "?":
            self._fail(codes.UNSET_VARIABLE, f"the variable {name} is not set{why}", f"{hint} {name} {_PLACE}.")
        step = f"{hint} {name} {_PLACE}, or give a default: ${{{name}:value}}."
        self._fail(codes.UNSET_VARIABLE, f"the variable {name} is not set and has no default", step)

    def _not_closed(self) -> NoReturn:
        self._fail(codes.BAD_PLACEHOLDER, "a placeholder is not closed", "Close it with '}'.")

    def _fail(self, code: str, message: str, next_step: str) -> NoReturn:
        self._reporter.report(code, message, self._node.mark, next_step=next_step, path=self._path, settles=True)
        raise _FaultError
