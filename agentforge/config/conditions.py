"""The conditions of ``when:``, read and checked for their form; whether they hold is found out by the container."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from agentforge.config import codes
from agentforge.config.diagnostic import did_you_mean, nearest
from agentforge.config.faults import Reporter
from agentforge.config.nodes import MappingNode, Mark, Node, ScalarNode, SequenceNode
from agentforge.config.shapes import ROOT_KEYS, is_nothing, kind_of, report_unfit

__all__ = ("Condition", "ConditionKind", "read_conditions")

ConditionKind = Literal["profile", "property", "plugin", "missing_bean"]
"""What a condition can ask for."""

_KINDS = get_args(ConditionKind)
_EXAMPLE = "Such as 'when: {profile: local}'."
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of ``when``; a bean is in when all of its conditions hold.

    ``profile``: one of ``values`` is active. ``property``, ``plugin``, ``missing_bean``: each of them holds. A value
    with ``!`` in front holds when it would not without.
    """

    kind: ConditionKind
    values: tuple[str, ...]
    mark: Mark


def read_conditions(node: Node, path: str, reporter: Reporter) -> tuple[Condition, ...] | None:
    """The conditions in the order of the file; what is faulty is reported and left out."""
    if not isinstance(node, MappingNode) or not node.entries:
        found = "an empty mapping" if isinstance(node, MappingNode) else kind_of(node)
        message = f"'when' is a mapping of conditions, not {found}"
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=_EXAMPLE, path=path)
        return None
    conditions = []
    for key, entry in node.entries.items():
        where = f"{path}.{key}"
        if key not in _KINDS:
            message, step = f"unknown condition '{key}'", did_you_mean(key, _KINDS)
            reporter.report(codes.UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=where)
            continue
        kind = cast("ConditionKind", key)
        values = _values(entry.node, kind, where, reporter)
        if values:
            conditions.append(Condition(kind, values, entry.key_mark))
    return tuple(conditions)


def _values(node: Node, kind: ConditionKind, path: str, reporter: Reporter) -> tuple[str, ...]:
    several = isinstance(node, SequenceNode)
    items = node.items if isinstance(node, SequenceNode) else (node,)
    if not items:
        message = f"'{kind}' is a text or a list of texts, not an empty list"
        reporter.report(codes.BAD_VALUE, message, node.mark, next_step=f"Name one: '{kind}: NAME'.", path=path)
    found = []
    for number, item in enumerate(items):
        where = f"{path}.{number}" if several else path
        if not isinstance(item, ScalarNode) or is_nothing(item) or not item.text.removeprefix("!").strip():
            rule, step = f"'{kind}' is a text or a list of texts", f"Name one: '{kind}: NAME'."
            report_unfit(item, where, reporter, rule, step)
        elif kind != "property" or _is_property(item, where, reporter):
            found.append(item.text)
    return tuple(found)


def _is_property(node: ScalarNode, path: str, reporter: Reporter) -> bool:
    name = node.text.removeprefix("!").partition("=")[0]
    first, dot, _ = name.partition(".")
    rule = "'property' names a variable or a place of the file"
    if dot and all(name.split(".")):
        if first in ROOT_KEYS:
            return True
        near = nearest(first, ROOT_KEYS)
        step = f"Did you mean '{near}{name.removeprefix(first)}'?" if near else f"Begin with one of {_listed()}."
    elif _VARIABLE.match(name):
        return True
    else:
        step = "Write NAME, NAME=value, or a place such as beans.model.type=scripted."
    report_unfit(node, path, reporter, rule, step)
    return False


def _listed() -> str:
    return ", ".join(ROOT_KEYS)
