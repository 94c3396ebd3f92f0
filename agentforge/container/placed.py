"""Settings that count only where code may be named: in the root file, its profiles, and Python."""

from __future__ import annotations

from collections.abc import Iterator

from agentforge.config import MappingNode, Node, Reporter, SequenceNode
from agentforge.config.codes import NOT_FROM_HERE, NOT_TRUSTED
from agentforge.config.nodes import node_at
from agentforge.config.trust import Trust
from agentforge.plugin.bean_settings import BeanSettings
from agentforge.plugin.root_file_only import root_file_only_fields

__all__ = ("report_misplaced",)


def report_misplaced(
    node: MappingNode, settings: type[BeanSettings], trust: Trust, reporter: Reporter, path: str
) -> None:
    """Report each setting marked `RootFileOnly` that stands anywhere else."""
    for way in root_file_only_fields(settings):
        found = node_at(node, way)
        if found is None:
            continue
        name = ".".join(way)
        where = f"{path}.{name}"
        if trust == "data":
            message = f"'{name}' chooses what is run, and this configuration is read as data"
            step = "Take it out, or load the file with trust='code' if you believe it."
            reporter.report(NOT_TRUSTED, message, found.mark, next_step=step, path=where)
            continue
        stray = next((each for each in _all(found) if not _may_name_code(each.layer)), None)
        if stray is not None:
            message = f"'{name}' cannot be set from here ({stray.layer}): it chooses what is run"
            step = f"Write '{name}' into the configuration file or a profile, or give it in Python."
            reporter.report(NOT_FROM_HERE, message, stray.mark, next_step=step, path=where)


def _may_name_code(layer: str) -> bool:
    return layer in ("file", "python") or layer.startswith("profile ")


def _all(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, MappingNode):
        for entry in node.entries.values():
            yield from _all(entry.node)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _all(item)
