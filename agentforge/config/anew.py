"""Beans that began anew, as a layer gave them another type: what was left out by it, to be said where it is missed.

Whoever changes a type from the environment or the command line sees the setting in the file, and is told otherwise that
it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from agentforge.config.merge import former_type
from agentforge.config.nodes import MappingNode
from agentforge.config.overrides import PREFIX

__all__ = ("Anew", "beans_begun_anew")


@dataclass(frozen=True, slots=True)
class Anew:
    """A bean that another ``layer`` gave another type: ``former`` is the type that it had, ``keys`` the settings that
    were left out with it."""

    bean_id: str
    former: str
    keys: frozenset[str]
    layer: str

    def says(self, name: str) -> str:
        """How the sentence goes on that says that the setting ``name`` is missing."""
        if name not in self.keys:
            return ""
        return f": with another type the bean begins anew, without what was set for '{self.former}'"

    def next_step(self, name: str, known: Iterable[str]) -> str:
        """How the setting ``name`` is given in the same layer, and which of those that are ``known`` to the new type
        and not given anew were left out with it."""
        if self.layer == "command line":
            place = f"Give it, too: --set beans.{self.bean_id}.{name}=…"
        elif self.layer in ("environment", ".env"):
            place = f"Give it, too: {PREFIX}BEANS__{self.bean_id.upper()}__{name.upper()}=…"
        else:
            place = f"Add '{name}: …' beside the new type"
        others = sorted(self.keys.intersection(known) - {name})
        return f"{place}; also left out: {', '.join(others)}." if others else f"{place}."


def beans_begun_anew(stages: Iterable[MappingNode]) -> Mapping[str, Anew]:
    """The beans whose type changed between one stage of a tree and the next, by their ids."""
    found: dict[str, Anew] = {}
    for before, after in pairwise(stages):
        old, new = before.get("beans"), after.get("beans")
        if old is new or not isinstance(old, MappingNode) or not isinstance(new, MappingNode):
            continue
        for bean_id, entry in old.entries.items():
            node = new.get(bean_id)
            if node is entry.node or not isinstance(node, MappingNode) or not isinstance(entry.node, MappingNode):
                continue
            former = former_type(entry.node, node)
            if former is not None:
                keys = frozenset(entry.node.entries) - {"type", "bean"}
                earlier = found[bean_id].keys if bean_id in found else frozenset()
                found[bean_id] = Anew(bean_id, former, keys | earlier, node.entries["type"].node.layer)
    return found
