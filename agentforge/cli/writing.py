"""Files that a command writes: whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from agentforge.errors import ConfigurationError

__all__ = ("write_whole",)


def write_whole(path: Path, text: str) -> None:
    """Write the text as UTF-8, so that nobody ever reads half of it; folders on the way are made.

    A link stays one, and what it leads to is written. A device or a pipe is written to and never replaced. Raises
    `ConfigurationError` for a place that cannot be written; what stood there before then still does.
    """
    named = path
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")
            return
        path = path.resolve()
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(text, "utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # a circle of links is a RuntimeError
        raise ConfigurationError(
            f"the file '{named}' cannot be written: {getattr(error, 'strerror', None) or error}",
            next_step="Name another place, or make this one writable.",
        ) from error
