"""What a bean type may find out about its settings before anything is made: the context and the findings of a check.

Declared with `BeanType.check`: a plain function of the settings and a `CheckContext` that yields `Finding`, for what
no single setting shows, such as two tools of one name. It makes nothing and calls nothing outside; each finding
becomes a fault at the place of the setting that it names. What settings of several types have in common is found by a
method ``findings(context)`` of theirs, which is asked as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentforge.plugin.bean_settings import BeanSettings
    from agentforge.plugin.bean_type import BeanType
    from agentforge.plugin.components import Components

__all__ = ("CheckContext", "CheckedBean", "Finding")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what, in which setting (its dotted path, such as ``tools.1``), and what to do. ``code``
    is the stable code of an error that says the same; unset: that of a value that does not fit."""

    message: str
    path: str = ""
    next_step: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedBean:
    """A bean that a setting names, as far as it is known: nothing is made yet.

    ``bean_type`` is ``None`` for an object that the program gave (``given``); ``settings`` are ``None`` when they have
    faults; ``provides`` is the bean's contract, ``None`` when it could not be found out. ``folder`` is that of the file
    it stands in.
    """

    id: str
    bean_type: BeanType | None
    provides: type | None
    settings: BeanSettings | None
    given: object = None
    folder: Path = Path()


def _nothing(value: object) -> CheckedBean | None:
    return None


def _no_vendors(family: str) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check may look at beside the settings, in which every bean is a stand-in that only `bean` can read.

    ``folder`` is that of the file the bean stands in, ``components`` are those of the ``scan`` roots, ``environment``
    are the variables, ``.env`` below them. ``shared`` is kept for all checks of one configuration, for what several of
    them find out. ``inside`` is set where the configuration is a stranger's: the folder that its files may not leave,
    which `outside` looks after. In ``arranged`` a check may note for `agentforge explain` the order that a list of
    beans really gets: for the setting, the name of each and why it stands there. ``vendor_profiles`` gives the vendors
    that plugins bring for a family of wires.
    """

    bean_id: str
    folder: Path
    components: Components
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    look_up: Callable[[object], CheckedBean | None] = field(default=_nothing, repr=False)
    shared: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    arranged: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict, repr=False, compare=False)
    inside: Path | None = None
    vendor_profiles: Callable[[str], Mapping[str, Any]] = field(default=_no_vendors, repr=False)

    def bean(self, value: Any) -> CheckedBean | None:
        """The bean behind a setting's value; ``None`` when it could not be found, which is reported already."""
        return self.look_up(value)

    def at(self, bean: CheckedBean) -> CheckContext:
        """The context of another bean: its id, and the folder that its files are looked for in."""
        return replace(self, bean_id=bean.id, folder=bean.folder)

    def outside(self, file: str, path: str) -> Finding | None:
        """What is wrong with the file that the setting ``path`` names, where it may not be named."""
        from agentforge.config.codes import NOT_TRUSTED
        from agentforge.config.trust import is_inside

        if self.inside is None or is_inside(self.folder / file, self.inside):
            return None
        message = f"the file '{file}' is outside the folder of the configuration, which is read as data"
        return Finding(message, path, "Put the file into that folder, or load with trust='code'.", NOT_TRUSTED)
