"""Files that a command writes: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from agentforge.errors import ConfigurationError

__all__ = ("write_whole",)


def write_whole(path: Path, text: str) -> None:
    """Write the text as UTF-8, so that nobody ever reads half of it; folders on the way are made.

    Raises `ConfigurationError` for a place that cannot be written; what stood there before then still does.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(text, "utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"the file '{path}' cannot be written: {error.strerror or error}",
            next_step="Name another place, or make this one writable.",
        ) from error
