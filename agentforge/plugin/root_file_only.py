"""The mark of a setting that runs something outside: it counts only where code may be named."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentforge.plugin.reference import settings_in

__all__ = ("RootFileOnly", "root_file_only_fields")


@dataclass(frozen=True, slots=True)
class RootFileOnly:
    """Marks a setting that counts only in the root file, its profiles and Python: ``command: Annotated[tuple[str, ...],
    RootFileOnly()]``.

    From an include, the environment or the command line it is a fault, and in a file of strangers
    (``trust="data"``) as well.
    """


@lru_cache(maxsize=256)  # asked for every bean, and there are more beans than classes of settings
def root_file_only_fields(settings: Any) -> tuple[tuple[str, ...], ...]:
    """The ways, as in a file, to the fields of a settings class that are marked so, those of settings inside it too."""
    found: list[tuple[str, ...]] = []
    for name, field in settings.model_fields.items():
        key = field.alias or name
        if any(isinstance(each, RootFileOnly) for each in field.metadata):
            found.append((key,))
        elif (inner := settings_in(field.annotation)) is not None:
            found += [(key, *way) for way in root_file_only_fields(inner)]
    return tuple(found)
