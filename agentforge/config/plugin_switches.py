"""The root's ``plugins:``: which plugins a configuration needs, would like, forbids, or allows at all."""

from __future__ import annotations

from dataclasses import dataclass

from agentforge.config import codes
from agentforge.config.diagnostic import did_you_mean
from agentforge.config.faults import Reporter
from agentforge.config.nodes import MappingNode, Mark, Node, ScalarNode, SequenceNode
from agentforge.config.shapes import Names, is_nothing, kind_of, read_texts

__all__ = ("PluginSwitches", "read_plugins")

_KEYS = ("required", "optional", "disabled", "only")


@dataclass(frozen=True, slots=True)
class PluginSwitches:
    """What a configuration says about plugins, each name with its place.

    ``required`` are loaded, and a fault when they cannot be used; ``optional`` are loaded where they can be used;
    ``disabled`` are never loaded; ``only`` are all that may be loaded (``None``: any, empty: none).
    """

    required: Names = ()
    optional: Names = ()
    disabled: Names = ()
    only: Names | None = None


def read_plugins(node: Node | None, reporter: Reporter) -> PluginSwitches:
    """Check the value of ``plugins``: a list of required ones, or a mapping of lists. A faulty one is left out.

    >>> from agentforge.config import from_mapping
    >>> switches = read_plugins(from_mapping({"disabled": ["otel"], "only": []}), Reporter())
    >>> switches.disabled[0][0], switches.only, switches.required
    ('otel', (), ())
    """
    if not isinstance(node, MappingNode):
        return PluginSwitches(required=_read_list(node, reporter))
    found: dict[str, Names | None] = {}
    for key, entry in node.entries.items():
        path = f"plugins.{key}"
        if key not in _KEYS:
            message, step = f"unknown key '{key}' of 'plugins'", did_you_mean(key, _KEYS)
            reporter.report(codes.UNKNOWN_KEY, message, entry.key_mark, next_step=step, path=path)
        elif key == "only" and is_nothing(entry.node):
            # An empty list forbids all; what stands empty by mistake must neither forbid nor allow them.
            message = "'plugins.only' is a list of names, not nothing"
            step = "Write '[]' to allow no plugin, or take the key out to allow any."
            reporter.report(codes.BAD_VALUE, message, entry.key_mark, next_step=step, path=path)
        else:
            found[key] = read_texts(entry.node, path, reporter)
    disabled, only = found.get("disabled") or (), found.get("only")
    required, optional = (
        tuple(each for each in found.get(key) or () if _may_load(*each, key, disabled, only, reporter))
        for key in ("required", "optional")
    )
    return PluginSwitches(required, optional, disabled, only)


def _read_list(node: Node | None, reporter: Reporter) -> Names:
    if node is None or is_nothing(node) or isinstance(node, SequenceNode):
        return read_texts(node, "plugins", reporter)
    message = f"'plugins' is a list of names, or a mapping of such lists, not {kind_of(node)}"
    named = f"[{node.text}]" if isinstance(node, ScalarNode) else "[first, second]"
    reporter.report(codes.BAD_VALUE, message, node.mark, next_step=f"Write '{named}'.", path="plugins")
    return ()


def _may_load(name: str, mark: Mark, key: str, disabled: Names, only: Names | None, reporter: Reporter) -> bool:
    """Whether a plugin that is to be loaded is one that may be; what contradicts that is reported."""
    if any(name == each for each, _ in disabled):
        message, step = f"the plugin '{name}' is {key} and disabled", "Keep one of the two."
    elif only is not None and all(name != each for each, _ in only):
        message = f"the plugin '{name}' is {key}, and not one of those that 'only' allows"
        step = f"Add '{name}' to 'only', or take it out here."
    else:
        return True
    reporter.report(codes.BAD_VALUE, message, mark, next_step=step, path=f"plugins.{key}")
    return False
