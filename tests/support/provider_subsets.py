"""The subsets of JSON Schema that the provider plugins of this checkout have, with the rows that use them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentforge.provider import EndpointRow, VendorTable
from agentforge.tool.spec import PORTABLE, STANDARD, SchemaSubset

__all__ = ("KnownSubset", "known_subsets")

_PLUGINS = Path(__file__).parents[2] / "plugins"
#: The modules of a plugin that hold its data.
_DATA = ("subset", "rows", "vendors")


@dataclass(slots=True)
class KnownSubset:
    """A subset, and the names of the rows that hold models to it, and of those that send other tools in it."""

    subset: SchemaSubset
    strict: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)


def known_subsets() -> dict[str, KnownSubset]:
    """All of them by name; some stand beside the rows, for some models of a row."""
    found = {subset.name: KnownSubset(subset) for subset in (STANDARD, PORTABLE)}
    for folder in sorted(_PLUGINS.glob("*/src/agentforge_*")):
        for value in _data_of(folder.name):
            if isinstance(value, SchemaSubset):
                found.setdefault(value.name, KnownSubset(value))
            elif isinstance(value, VendorTable):
                for row in value.rows.values():
                    _add(row, found)
    return found


def _data_of(package: str) -> Iterator[object]:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if any(word in module.name for word in _DATA):
            yield from vars(importlib.import_module(module.name)).values()


def _add(row: EndpointRow, found: dict[str, KnownSubset]) -> None:
    for subset, is_strict in ((row.subset, True), (row.schemas, False)):
        if subset is not None and (not is_strict or row.capabilities.strict_tools or row.strict_base):
            known = found.setdefault(subset.name, KnownSubset(subset))
            names = known.strict if is_strict else known.plain
            if row.name not in names:
                names.append(row.name)
