"""The written form of a reference: ``{ref: NAME}``; with ``provider: true`` it is a callable that gives the bean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentforge.config import MappingNode, Node, Reporter, ScalarNode, SequenceNode, did_you_mean, to_value
from agentforge.config.codes import BAD_VALUE, UNKNOWN_KEY

__all__ = ("Named", "is_reference", "read_reference", "written_references")

_KEYS = ("ref", "provider")


@dataclass(frozen=True, slots=True)
class Named:
    """A bean's name as it is written, and whether a callable that gives the bean is asked for."""

    node: ScalarNode
    provider: bool = False


def is_reference(node: Node) -> bool:
    """Whether a mapping is a reference and not a definition or plain data."""
    return isinstance(node, MappingNode) and "ref" in node.entries and "type" not in node.entries


def written_references(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], MappingNode]]:
    """Every reference in plain data, nested too, with the way to it."""
    if isinstance(node, MappingNode):
        # Data may hold a key of that name: a reference has the keys of one and no others.
        if is_reference(node) and not {*node.entries} - {*_KEYS}:
            yield path, node
            return
        for key, entry in node.entries.items():
            yield from written_references(entry.node, (*path, key))
    elif isinstance(node, SequenceNode):
        for number, item in enumerate(node.items):
            yield from written_references(item, (*path, str(number)))


def read_reference(node: MappingNode, where: str, reporter: Reporter) -> Named | None:
    """What a reference says; what is wrong with its form is reported, and ``None`` returned."""
    name, provider = node.get("ref"), node.get("provider")
    problems = len(reporter.diagnostics)
    for key, entry in node.entries.items():
        if key not in _KEYS:
            message, step = f"unknown key '{key}' of a reference", did_you_mean(key, _KEYS)
            reporter.report(UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=f"{where}.{key}")
    if not isinstance(name, ScalarNode) or not name.text or to_value(name) is None:
        message, step = "'ref' is the name of a bean", "Such as {ref: store}."
        reporter.report(BAD_VALUE, message, (name or node).mark, next_step=step, path=f"{where}.ref")
        return None
    wanted = to_value(provider) if isinstance(provider, ScalarNode) else None
    if provider is not None and not isinstance(wanted, bool):
        message = "'provider' of a reference is true or false"
        step = "Write {ref: " + name.text + ", provider: true} for a callable that gives the bean."
        reporter.report(BAD_VALUE, message, provider.mark, next_step=step, path=f"{where}.provider")
    return None if len(reporter.diagnostics) > problems else Named(name, provider=bool(wanted))
