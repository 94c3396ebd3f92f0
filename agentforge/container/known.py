"""The beans of a configuration by name while the plan is made, and the words for a name that no bean has."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FunctionType

from agentforge.config import did_you_mean, nearest
from agentforge.container.draft import Draft
from agentforge.plugin import fits

__all__ = ("Absent", "Known", "takes_callable")


@dataclass(frozen=True, slots=True)
class Absent:
    """A bean that stands in the file and is not there: ``reason`` ends the sentence "the bean is not there:"."""

    reason: str
    abstract: bool = False


@dataclass(slots=True)
class Known:
    """All drafts by id, other names for them, and the beans that are abstract or out."""

    drafts: dict[str, Draft] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    absent: dict[str, Absent] = field(default_factory=dict)

    def id_of(self, name: str) -> str | None:
        """The id of the declared bean of this name or alias."""
        found = self.aliases.get(name, name)
        there = self.drafts.get(found)
        return None if there is None or there.anonymous else found

    def declared(self, *, but: Draft | None = None) -> dict[str, Draft]:
        """The declared beans, without the one that asks."""
        return {each.id: each for each in self.drafts.values() if not each.anonymous and each is not but}

    def unknown(
        self, name: str, asks: Draft | None, fitting: Iterable[str] = (), more: str = "", *, suggest: bool = True
    ) -> tuple[str, str]:
        """What is wrong with a name that no bean has, and what to do; ``fitting`` are the names that are meant before
        all others, ``more`` ends the sentence. Without ``suggest`` no near miss is looked for."""
        absent = self.absent.get(name)
        if absent is not None and absent.abstract:
            return (
                f"the bean '{name}' is abstract: it is only there to be extended",
                f"Name a bean that extends it, or declare one: bean: {{extends: {name}}}.",
            )
        if absent is not None:
            return f"the bean '{name}' is not there: {absent.reason}", "Name another bean, or give both one condition."
        if not suggest:
            return f"no bean is called '{name}'{more}", "Correct the name, or declare the bean."
        declared = self.declared(but=asks)
        first = list(fitting)
        near = nearest(name, [*first, *declared, *self.aliases])
        step = f"Did you mean '{near}'?" if near else did_you_mean(name, first or declared)
        return f"no bean is called '{name}'{more}", step


def takes_callable(kind: type) -> bool:
    """Whether a callable without arguments can stand where this is wanted: anything, or such a protocol.

    >>> takes_callable(object), takes_callable(str)
    (True, False)
    """
    if kind is object:
        return True
    if not getattr(kind, "_is_protocol", False) or not fits(FunctionType, kind):
        return False
    try:
        inspect.signature(vars(kind)["__call__"]).bind(None)
    except (KeyError, TypeError, ValueError):
        return False
    return True
