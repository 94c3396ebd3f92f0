"""The ``bean:`` block: what the container does with a bean, apart from the settings of the bean's own type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agentforge.config import codes
from agentforge.config.conditions import Condition, read_conditions
from agentforge.config.diagnostic import did_you_mean
from agentforge.config.faults import Reporter
from agentforge.config.nodes import MappingNode, Mark, Node, ScalarNode
from agentforge.config.scalars import plain_value
from agentforge.config.shapes import is_nothing, kind_of, read_texts, report_bad

__all__ = ("INHERITED", "BeanOptions", "Condition", "in_its_block", "read_options")

#: What a bean takes over from the ``bean:`` block of the one that it extends.
INHERITED = ("scope", "lazy", "init", "destroy")
#: What has no meaning for a bean that is written in place: nobody can name it, and it comes and goes with its user.
_NOT_IN_PLACE = ("abstract", "aliases", "extends", "when")
_Scope = Literal["singleton", "prototype", "invocation"]
_SCOPES = get_args(_Scope)


@dataclass(frozen=True, slots=True)
class BeanOptions:
    """The container's options for a bean.

    ``lazy``: built at its first use, not at the start. ``init`` and ``destroy``: methods called after it is built and
    before it is let go. ``scope``: one for all, a new one for each use, or one for each conversation run. ``primary``:
    taken where several fit. ``order``: lower comes first in a list of all beans of a type. ``extends``: the bean whose
    definition lies below this one. ``abstract``: only there to be extended. ``when``: the conditions under which it is
    there. ``provider``: its users get a callable that gives it.
    """

    lazy: bool = False
    depends_on: tuple[tuple[str, Mark], ...] = ()
    init: str | None = None
    destroy: str | None = None
    scope: _Scope = "singleton"
    primary: bool = False
    aliases: tuple[tuple[str, Mark], ...] = ()
    order: int | None = None
    extends: tuple[str, Mark] | None = None
    abstract: bool = False
    when: tuple[Condition, ...] = ()
    provider: bool = False


def read_options(node: Node | None, path: str, reporter: Reporter, *, in_place: bool = False) -> BeanOptions:
    """Check a ``bean:`` block; a faulty option is reported and keeps its default.

    ``in_place``: the bean stands inside the settings of another, where some options have no meaning.
    """
    if node is None or is_nothing(node):
        return BeanOptions()
    if not isinstance(node, MappingNode):
        message = f"'bean' is a mapping of the container's options, not {kind_of(node)}"
        step = "Such as 'bean: {lazy: true}'."
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path=path)
        return BeanOptions()
    found: dict[str, Any] = {}
    for key, entry in node.entries.items():
        where = f"{path}.{key}"
        if key not in _READERS:
            message = f"unknown option '{key}' of the container"
            step = did_you_mean(key, _READERS)
            reporter.report(codes.UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=where)
        elif in_place and key in _NOT_IN_PLACE:
            message = f"'{key}' has no meaning for a bean that is written in place"
            step = "Declare the bean under 'beans', and name it here."
            reporter.report(codes.UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=where)
        else:
            value = _READERS[key](entry.node, where, reporter)
            if value is not None:
                found[key] = value
    return BeanOptions(**found)


def _truth(node: Node, path: str, reporter: Reporter) -> bool | None:
    value = plain_value(node.text) if isinstance(node, ScalarNode) else None
    if isinstance(value, bool):
        return value
    report_bad(node, path, reporter, "true or false", "Write true or false; yes, no, on and off are texts.")
    return None


def _number(node: Node, path: str, reporter: Reporter) -> int | None:
    value = plain_value(node.text) if isinstance(node, ScalarNode) else None
    if type(value) is int:
        return value
    report_bad(node, path, reporter, "a whole number", "Write digits, such as 10; a lower number comes first.")
    return None


def _method(node: Node, path: str, reporter: Reporter) -> str | None:
    if isinstance(node, ScalarNode) and node.text.isidentifier() and not node.text.startswith("_"):
        return node.text
    step = "Name a method of the bean, without dots."
    report_bad(node, path, reporter, "the name of a public method", step)
    return None


def _scope(node: Node, path: str, reporter: Reporter) -> str | None:
    text = node.text if isinstance(node, ScalarNode) else ""
    if text in _SCOPES:
        return text
    report_bad(node, path, reporter, "'singleton', 'prototype' or 'invocation'", did_you_mean(text, _SCOPES))
    return None


def _name(node: Node, path: str, reporter: Reporter) -> tuple[str, Mark] | None:
    if isinstance(node, ScalarNode) and node.text and not is_nothing(node):
        return node.text, node.mark
    report_bad(node, path, reporter, "the name of a bean", "Name the one bean whose definition lies below this one.")
    return None


_READERS: dict[str, Callable[[Node, str, Reporter], object]] = {
    "lazy": _truth,
    "depends_on": read_texts,
    "init": _method,
    "destroy": _method,
    "scope": _scope,
    "primary": _truth,
    "aliases": read_texts,
    "order": _number,
    "extends": _name,
    "abstract": _truth,
    "when": read_conditions,
    "provider": _truth,
}


def in_its_block(name: str) -> str | None:
    """The next step for an option that stands among the settings of a bean; ``None`` for what is no option.

    >>> in_its_block("lazy")
    "It is an option of the container: write it under 'bean', as bean: {lazy: …}."
    """
    if name not in _READERS:
        return None
    return f"It is an option of the container: write it under 'bean', as bean: {{{name}: …}}."
