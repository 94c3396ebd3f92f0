"""By what a change of a file is noticed without reading it."""

from __future__ import annotations

from pathlib import Path

__all__ = ("Stamp", "stamp_of")

Stamp = tuple[int, int, int] | None
"""The time of the last change, the size and the identity of a file; ``None`` where there is none."""


def stamp_of(path: Path) -> Stamp:
    """The stamp of a file as it is now."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
