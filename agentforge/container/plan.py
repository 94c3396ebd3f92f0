"""What will be built, and in which order: a configuration after every check, before the first object exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from agentforge.config import BeanDefinition, BeanOptions, MappingNode, Mark
from agentforge.config.trust import Trust
from agentforge.masking import Secrets

if TYPE_CHECKING:
    from agentforge.plugin import BeanSettings, BeanType, Components

__all__ = ("ConditionResult", "Pending", "Plan", "PlannedBean", "ProviderOf", "Target", "Uses")


@dataclass(frozen=True, slots=True)
class ProviderOf:
    """Stands for a callable that gives the bean ``id``: asked for later, so no edge of the build order."""

    id: str


Target: TypeAlias = "str | tuple[str, ...] | Mapping[str, str] | ProviderOf"
"""What fills one place: a bean, a list of beans, beans by name, or a callable that gives one."""

Uses: TypeAlias = "Mapping[str, Target]"
"""Which beans fill what: a settings field by its dotted path, a place inside a component's ``arguments`` by the slot of
its `Pending`, or a constructor's parameter by its name."""


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Why a conditional bean is in or out: one sentence a condition, in the order of the file."""

    bean_id: str
    mark: Mark
    included: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """Stands in checked settings where the bean ``id`` will be; ``slot`` is the name of the place in `Uses`."""

    id: str
    slot: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedBean:
    """One bean: what it is, what it is made of, where it was declared.

    ``bean_type`` is ``None`` for an object that the program gave (``given``). ``provides`` is the contract by which
    others ask for it. ``settings`` are checked, with `Pending` where beans belong. ``uses`` and ``arguments`` name the
    beans for settings and for a component's constructor. ``arranged`` is the order that a list gets where its
    type arranges it, by name and reason; ``reasons`` says of each list of beans (``tools``,
    ``arguments.clocks``) why each of them has its place, in words.
    """

    id: str
    bean_type: BeanType | None
    provides: type
    mark: Mark
    folder: Path
    options: BeanOptions = field(default_factory=BeanOptions)
    settings: BeanSettings | None = None
    uses: Uses = field(default_factory=dict)
    arguments: Uses = field(default_factory=dict)
    given: object = None
    anonymous: bool = False
    definition: BeanDefinition | None = None
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arranged: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    @property
    def type_name(self) -> str:
        """The name in ``type:``, or for a given object that of its class."""
        return self.bean_type.name if self.bean_type is not None else type(self.given).__name__

    @property
    def lazy(self) -> bool:
        """Whether it waits for its first use."""
        return self.options.lazy

    @property
    def needs(self) -> tuple[str, ...]:
        """The ids of all beans that must exist before this one, each once."""
        found: dict[str, None] = {}
        for target in (*self.uses.values(), *self.arguments.values()):
            found.update(dict.fromkeys(_ids_of(target)))
        found.update(dict.fromkeys(name for name, _ in self.options.depends_on))
        return tuple(found)

    def __repr__(self) -> str:
        return f"PlannedBean({self.id!r}, {self.type_name!r}, at {self.mark})"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All beans in the order in which they are built, each after those it needs.

    ``declared`` are the ids of the file in its order, ``aliases`` other names for them. ``conditions`` says of every
    conditional bean why it is in or out. ``tree`` is the configuration with all layers merged and placeholders filled,
    where each value still knows who set it. ``environment`` are the variables, ``.env`` below them, ``trust`` how far
    the configuration is believed.
    """

    beans: Mapping[str, PlannedBean]
    declared: tuple[str, ...]
    aliases: Mapping[str, str]
    components: Components
    secrets: Secrets
    warnings: tuple[str, ...] = ()
    conditions: tuple[ConditionResult, ...] = ()
    tree: MappingNode | None = field(default=None, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    trust: Trust = "code"

    def __post_init__(self) -> None:
        object.__setattr__(self, "beans", MappingProxyType(dict(self.beans)))

    def id_of(self, name: str) -> str | None:
        """The id of a declared bean by its id or alias; ``None`` when there is none."""
        found = self.aliases.get(name, name)
        return found if found in self.declared else None

    def closure(self, *ids: str) -> frozenset[str]:
        """These beans and all that they need."""
        found: set[str] = set()
        waiting = list(ids)
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting.extend(self.beans[current].needs)
        return frozenset(found)

    def __repr__(self) -> str:
        return f"Plan({' -> '.join(self.beans)})"


def _ids_of(target: Target) -> tuple[str, ...]:
    if isinstance(target, str):
        return (target,)
    if isinstance(target, ProviderOf):
        return ()
    return tuple(target.values()) if isinstance(target, Mapping) else target
