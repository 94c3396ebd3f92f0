"""Which plugins are installed, read from the distributions' metadata; none of them is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = (
    "ENTRY_POINT_GROUP",
    "Found",
    "discover",
    "distinct",
    "how_to_get",
    "known_distribution",
    "usual_distribution",
)

_KIT = "agentforge-kit"
_EXTRA = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)[^;]*;\s*extra\s*==\s*['\"](?P<extra>[\w.-]+)['\"]\s*\Z")
#: The entry-point group of plugins; an entry's name is the prefix of its bean types.
ENTRY_POINT_GROUP = "agentforge_kit.plugin"


@dataclass(frozen=True, slots=True)
class Found:
    """One installed plugin: its name, the module it names, the distribution and version that bring it."""

    name: str
    value: str
    distribution: str
    version: str

    def load(self) -> Any:
        """Import what ``value`` names; whatever that raises passes through."""
        from importlib.metadata import EntryPoint

        return EntryPoint(self.name, self.value, ENTRY_POINT_GROUP).load()


def discover() -> tuple[Found, ...]:
    """The installed plugins by name. One that a distribution is seen to bring twice (an editable installation beside a
    built one) is listed once; a name of two targets or two distributions is listed twice, and neither will be
    loaded."""
    from importlib.metadata import entry_points

    return distinct(
        Found(
            entry.name,
            entry.value,
            entry.dist.name if entry.dist is not None else "unknown",
            entry.dist.version if entry.dist is not None else "unknown",
        )
        for entry in entry_points(group=ENTRY_POINT_GROUP)
    )


def distinct(entries: Iterable[Found]) -> tuple[Found, ...]:
    """The entries by name, each name and target of a distribution once."""
    first: dict[tuple[str, str, str], Found] = {}
    for entry in entries:
        distribution = entry.distribution.lower().replace("_", "-").replace(".", "-")
        first.setdefault((entry.name, entry.value, distribution), entry)
    return tuple(sorted(first.values(), key=lambda entry: (entry.name, entry.distribution, entry.value)))


def usual_distribution(name: str) -> str:
    """The distribution that by the naming rule brings a plugin.

    >>> usual_distribution("my_vendor")
    'agentforge-plugin-my-vendor'
    """
    return f"agentforge-plugin-{name.replace('_', '-')}"


def known_distribution(name: str) -> str | None:
    """The distribution of ours that brings the plugin: that of our own extra of this name. Any other name is one that
    somebody else may own, and nobody should be told to install it.

    >>> known_distribution("my_vendor") is None
    True
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        wanted = requires(_KIT) or ()
    except PackageNotFoundError:
        return None
    ours = (found["name"] for each in wanted if (found := _EXTRA.fullmatch(each)) is not None)
    usual = usual_distribution(name)
    return usual if usual in ours else None


def how_to_get(name: str) -> str:
    """What to do where no plugin of this name is installed."""
    known = known_distribution(name)
    if known is not None:
        return f"Install {known}."
    return f"Correct the name, or look for a distribution that brings {name!r} in the group {ENTRY_POINT_GROUP}."
