"""The ``bean:`` block: what the container does with a bean, apart from the settings of the bean's own type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from agentforge.config import codes
from agentforge.config.diagnostic import did_you_mean
from agentforge.config.faults import Reporter
from agentforge.config.nodes import MappingNode, Mark, Node, ObjectNode, ScalarNode, SecretNode, SequenceNode
from agentforge.config.scalars import plain_value

__all__ = ("BeanOptions", "Condition", "kind_of", "read_options", "read_texts")

#: Words of the format that this version does not carry out.
_LATER = ("when", "extends")
_SCOPES = ("singleton", "prototype")
_KINDS: dict[type[Any], str] = {
    SequenceNode: "a list",
    MappingNode: "a mapping",
    SecretNode: "a secret",
    ObjectNode: "an object",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of ``when``; a bean is in when all of its conditions hold.

    ``profile``: one of ``values`` is active. ``property``, ``plugin``, ``missing_bean``: each of them holds. A value
    with ``!`` in front holds when it would not without.
    """

    kind: Literal["profile", "property", "plugin", "missing_bean"]
    values: tuple[str, ...]
    mark: Mark


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
    scope: Literal["singleton", "prototype", "invocation"] = "singleton"
    primary: bool = False
    aliases: tuple[tuple[str, Mark], ...] = ()
    order: int | None = None
    extends: tuple[str, Mark] | None = None
    abstract: bool = False
    when: tuple[Condition, ...] = ()
    provider: bool = False


def kind_of(node: Node) -> str:
    """What a node is, in words that show no value.

    >>> kind_of(ScalarNode("", True, Mark("app.yaml", 1, 1), "file"))
    'nothing'
    """
    if isinstance(node, ScalarNode):
        return "nothing" if node.plain and plain_value(node.text) is None else "a single value"
    return _KINDS[type(node)]


def read_texts(node: Node | None, path: str, reporter: Reporter) -> tuple[tuple[str, Mark], ...]:
    """A list of names, each with its place; nothing stands for an empty list."""
    if node is None or kind_of(node) == "nothing":
        return ()
    if not isinstance(node, SequenceNode):
        message = f"'{path}' is a list of names, not {kind_of(node)}"
        step = f"Write '[{node.text}]'." if isinstance(node, ScalarNode) else "Write a list: [first, second]."
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path=path)
        return ()
    found = []
    for number, item in enumerate(node.items):
        if isinstance(item, ScalarNode) and item.text:
            found.append((item.text, item.mark))
        else:
            message = f"'{path}' is a list of names, and this one is {kind_of(item)}"
            reporter.report(codes.BAD_VALUE, message, item.mark, path=f"{path}.{number}")
    return tuple(found)


def read_options(node: Node | None, path: str, reporter: Reporter) -> BeanOptions:
    """Check a ``bean:`` block; a faulty option is reported and keeps its default."""
    if node is None or kind_of(node) == "nothing":
        return BeanOptions()
    if not isinstance(node, MappingNode):
        message = f"'bean' is a mapping of the container's options, not {kind_of(node)}"
        step = "Such as 'bean: {lazy: true}'."
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=step, path=path)
        return BeanOptions()
    found: dict[str, Any] = {}
    for key, entry in node.entries.items():
        where = f"{path}.{key}"
        if key in _LATER:
            step = "Remove it."
            reporter.report(
                codes.NOT_SUPPORTED, f"'{key}' is not supported yet", entry.key_mark, next_step=step, path=where
            )
        elif key not in _READERS:
            message = f"unknown option '{key}' of the container"
            step = did_you_mean(key, _READERS)
            reporter.report(codes.UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=where)
        else:
            value = _READERS[key](entry.node, where, reporter)
            if value is not None:
                found[key] = value
    return BeanOptions(**found)


def _bad(node: Node, path: str, reporter: Reporter, wanted: str, step: str | None = None) -> None:
    shown = f"'{node.text}'" if isinstance(node, ScalarNode) and node.text else kind_of(node)
    name = path.rpartition(".")[2]
    reporter.report(codes.BAD_VALUE, f"'{name}' is {wanted}, not {shown}", node.mark, next_step=step, path=path)


def _truth(node: Node, path: str, reporter: Reporter) -> bool | None:
    value = plain_value(node.text) if isinstance(node, ScalarNode) else None
    if isinstance(value, bool):
        return value
    _bad(node, path, reporter, "true or false")
    return None


def _number(node: Node, path: str, reporter: Reporter) -> int | None:
    value = plain_value(node.text) if isinstance(node, ScalarNode) else None
    if type(value) is int:
        return value
    _bad(node, path, reporter, "a whole number")
    return None


def _method(node: Node, path: str, reporter: Reporter) -> str | None:
    if isinstance(node, ScalarNode) and node.text.isidentifier() and not node.text.startswith("_"):
        return node.text
    _bad(node, path, reporter, "the name of a public method", "Name a method of the bean, without dots.")
    return None


def _scope(node: Node, path: str, reporter: Reporter) -> str | None:
    text = node.text if isinstance(node, ScalarNode) else ""
    if text in _SCOPES:
        return text
    if text == "invocation":
        reporter.report(
            codes.NOT_SUPPORTED,
            "the scope 'invocation' is not supported yet",
            node.mark,
            next_step="Known here: singleton, prototype.",
            path=path,
        )
    else:
        _bad(node, path, reporter, "'singleton' or 'prototype'", did_you_mean(text, _SCOPES))
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
}
