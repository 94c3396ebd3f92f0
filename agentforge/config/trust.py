"""How far a configuration is believed: as code, like a Makefile, or as the data of a stranger."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

__all__ = ("Trust", "is_inside")

Trust = Literal["code", "data"]
"""``code``: it may name what is imported and any file. ``data``: neither, and it stays in its own folder."""


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, its links followed, is in a folder or below it.

    >>> is_inside(Path("prompts/../system.txt"), Path()), is_inside(Path("../system.txt"), Path())
    (True, False)
    """
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a circle of links, a zero byte
        return False
