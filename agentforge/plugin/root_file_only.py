"""The mark of a setting that runs something outside: it counts only where code may be named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ("RootFileOnly", "root_file_only_fields")


@dataclass(frozen=True, slots=True)
class RootFileOnly:
    """Marks a setting that counts only in the root file, its profiles and Python: ``command: Annotated[tuple[str, ...],
    RootFileOnly()]``.

    From an include, the environment or the command line it is a fault, and in a file of strangers
    (``trust="data"``) as well.
    """


def root_file_only_fields(settings: Any) -> tuple[str, ...]:
    """The names, as in a file, of the fields of a settings class that are marked so."""
    return tuple(
        field.alias or name
        for name, field in settings.model_fields.items()
        if any(isinstance(each, RootFileOnly) for each in field.metadata)
    )
