"""Prompts with names in braces: ``{shop}`` stands for a value, which goes in as it is, once.

Names only: no attributes, no items, no formats, no code. A value is never read as a template itself, so that a user
who writes ``{secret}`` is quoted and not answered. ``{{`` and ``}}`` stand for braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from agentforge.client.services.faults import ServiceDeclarationError
from agentforge.errors import RunArgumentError, ToolExecutionError
from agentforge.model import ChatMessage, Content

__all__ = ("PromptTemplate", "text_of")

_MARK = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_SHOWN = 60


class PromptTemplate:
    """A text with names in braces. Raises `ServiceDeclarationError`, with line and column,
    for anything else in them.

    >>> template = PromptTemplate("You are a clerk of {shop}. Answer as {{\\"text\\": …}}.")
    >>> template.names
    ('shop',)
    >>> template.render({"shop": "{Tea} & Co."})
    'You are a clerk of {Tea} & Co.. Answer as {"text": …}.'
    """

    __slots__ = ("_parts", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        #: Texts and names in turn, a text first.
        self._parts: tuple[str, ...] = tuple(_parts(text))
        #: The names that stand in it, each once, in the order of the text.
        self.names: tuple[str, ...] = tuple(dict.fromkeys(self._parts[1::2]))

    def render(self, values: Mapping[str, object]) -> str:
        """The text with its values; see `text_of`. Raises `KeyError` for a name without one."""
        made = [text_of(values[part], part) if at % 2 else part for at, part in enumerate(self._parts)]
        return "".join(made)

    def __repr__(self) -> str:
        return f"PromptTemplate({self.text!r})"


def text_of(value: object, name: str | None = None) -> str:
    """What a value is in a prompt: a text as it is, nothing for ``None``, else its JSON, without quotes where that is
    a text. Raises `RunArgumentError`, with the value's name, for what has no JSON form and for parts of messages.

    >>> text_of("as is"), text_of(None), text_of(3.5), text_of(["a", 1])
    ('as is', '', '3.5', '["a", 1]')
    """
    if isinstance(value, str):
        return str.__str__(value)  # of an enum's member the text
    if value is None:
        return ""
    if isinstance(value, ChatMessage | Content):
        raise _no_text(name, f"it is of type {type(value).__name__}")
    from agentforge.tool.execution.conversion import to_json_value

    try:
        plain = to_json_value(value)
    except ToolExecutionError as error:
        raise _no_text(name, error.message.replace("the result", "it", 1)) from None
    try:
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    except ValueError:  # Python writes no number of more than some thousand digits
        raise _no_text(name, "it holds a number with too many digits") from None


def _no_text(name: str | None, reason: str) -> RunArgumentError:
    what = "a value" if name is None else f"the value of {name!r}"
    step = "Give a text, JSON values, a dataclass or a model."
    return RunArgumentError(f"{what} cannot be put into a text: {reason}", next_step=step)


def _parts(text: str) -> list[str]:
    parts, literal, at = [], "", 0
    for mark in _MARK.finditer(text):
        literal += text[at : mark.start()]
        at = mark.end()
        found = mark[0]
        if found in ("{{", "}}"):
            literal += found[0]
            continue
        name = mark[1]
        if name is None or not name.isidentifier():
            raise _refused(text, mark)
        parts += [literal, name]
        literal = ""
    return [*parts, literal + text[at:]]


def _refused(text: str, mark: re.Match[str]) -> ServiceDeclarationError:
    line = text.count("\n", 0, mark.start()) + 1
    column = mark.start() - (text.rfind("\n", 0, mark.start()) + 1) + 1
    found = mark[0] if len(mark[0]) <= _SHOWN else f"{mark[0][:_SHOWN]}…"
    if mark[1] is None:
        what = f"a single {found!r}"
    elif not mark[1].strip():
        what = "braces without a name"
    else:
        what = f"{found!r}, which is no name"
    return ServiceDeclarationError(
        f"the prompt has {what}",
        location=f"{line}:{column}",
        next_step="Write a parameter's name in braces, as in {name}, and {{ or }} for a brace itself.",
    )
