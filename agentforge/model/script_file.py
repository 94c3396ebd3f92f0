"""A script as YAML, where every mistake has a file and a line.

Turns in YAML let a demonstration or a test of another language share its script; what a turn may hold is
`agentforge.model.script`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from agentforge.errors import ConfigurationError
from agentforge.model.script import ScriptError, ScriptPath, only_keys

__all__ = ("read_script",)


_T = TypeVar("_T")


def read_script(path_or_text: str | Path, read: Callable[[Any, ScriptPath], _T]) -> list[_T]:
    """The turns of a YAML script: a list, or a mapping whose ``turns`` is one, each read by ``read``.

    A `Path`, or a one-line text that ends in ``.yaml`` or ``.yml``, names a file; any other text is the script. Raises
    `ConfigurationError` with file and line.
    """
    import yaml

    is_file = isinstance(path_or_text, Path) or ("\n" not in path_or_text and path_or_text.endswith((".yaml", ".yml")))
    source = str(path_or_text) if is_file else "script"
    try:
        text = Path(path_or_text).read_text(encoding="utf-8") if is_file else str(path_or_text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the script cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}",
            location=source,
            next_step="Give the path of a UTF-8 YAML file, or the script itself.",
        ) from error
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        data = loader.construct_document(node) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark is not None else source
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise ConfigurationError(
            f"the script is not valid YAML: {problem}", location=place, next_step="Correct the YAML at this place."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"the script holds a value that cannot be read: {error}",
            location=source,
            next_step="Put the value in quotes, or nest less deeply.",
        ) from error
    inside: ScriptPath = ()
    try:
        if isinstance(data, Mapping):
            only_keys(data, ("turns",), ())
            inside, data = ("turns",), data.get("turns")
        if not isinstance(data, list) or not data:
            raise ScriptError(inside, "a script is a list of turns", "Write one list item for each reply of the model.")
        return [read(turn, (*inside, position)) for position, turn in enumerate(data)]
    except ScriptError as fault:
        line = _line_of(node, fault.path)
        raise ConfigurationError(
            fault.message, location=f"{source}:{line}" if line else source, next_step=fault.next_step
        ) from None


def _line_of(node: Any, path: ScriptPath) -> int | None:
    """The line of the deepest node on ``path`` that exists."""
    if node is None:
        return None
    line: int = node.start_mark.line + 1
    for key in path:
        if node.id == "sequence" and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line + 1
            continue
        pairs = node.value if node.id == "mapping" else ()
        found = next(((name, value) for name, value in pairs if name.value == str(key)), None)
        if found is None:
            return line
        line, node = found[0].start_mark.line + 1, found[1]
    return line
