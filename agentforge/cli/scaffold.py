"""Folders of files to begin with: templates that are filled in, and written as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ("rendered", "write_new")

_SUFFIX = ".template"
#: Files whose names in a template folder do not begin with the dot that they have in the end.
_HIDDEN = ("env.example", "gitignore")


def rendered(template: str, marks: Mapping[str, str]) -> dict[str, str]:
    """The files of a template by their paths with ``/``; each mark (such as ``__NAME__``) of paths and texts is
    replaced."""
    found = {}
    for path, text in _read(files("agentforge.cli").joinpath("templates", template), ""):
        for mark, value in marks.items():
            path, text = path.replace(mark, value), text.replace(mark, value)
        found[path] = text
    return dict(sorted(found.items()))


def write_new(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files below ``folder``, which is made where it is missing.

    Raises `ConfigurationError` when one of them is there already, and when one cannot be written; in both cases none
    of them is there because of us.
    """
    there = [path for path in texts if os.path.lexists(folder / path)]
    if there:
        raise ConfigurationError(
            f"'{folder}' has {', '.join(there)} already; nothing was written",
            next_step="Name another folder, or move these files away.",
        )
    written: list[Path] = []
    made: list[Path] = []
    try:
        for path, text in texts.items():
            place = folder / path
            missing = [parent for parent in (place.parent, *place.parent.parents) if not parent.exists()]
            for parent in reversed(missing):
                parent.mkdir()
                made.append(parent)
            with open(place, "x", encoding="utf-8", newline="\n") as file:
                written.append(place)
                file.write(text)
    except OSError as error:
        for place in written:
            place.unlink(missing_ok=True)
        for parent in reversed(made):
            parent.rmdir()
        raise ConfigurationError(
            f"'{error.filename or folder}' cannot be written: {error.strerror or error}; nothing was kept",
            next_step="Name another folder, or make this one writable.",
        ) from error


def _read(folder: Traversable, above: str) -> Iterator[tuple[str, str]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _read(item, f"{above}{item.name}/")
        elif item.name.endswith(_SUFFIX):
            name = item.name.removesuffix(_SUFFIX)
            yield f"{above}{'.' if name in _HIDDEN else ''}{name}", item.read_text("utf-8")
