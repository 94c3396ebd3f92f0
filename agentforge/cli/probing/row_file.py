"""What was found as a file: a vendor's row for the bean, to be laid over its configuration as a profile."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agentforge.cli.probing.session import Verdict
from agentforge.cli.text import visible

__all__ = ("profile_of_file", "row_name", "row_text")

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_-]+")
#: Words that YAML would read as something else, and characters that it takes for its own.
_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)$)[a-z][a-z0-9_-]*")
_WIDTH = 110


def profile_of_file(file: Path, configuration: Path) -> str | None:
    """The name under which a file beside a configuration is a profile of it; ``None`` for one that is none.

    >>> profile_of_file(Path("desk/agentforge-fast.yaml"), Path("desk/agentforge.yaml"))
    'fast'
    """
    begin = f"{configuration.stem}-"
    same_folder = file.resolve().parent == configuration.resolve().parent
    if not same_folder or file.suffix != configuration.suffix or not file.stem.startswith(begin):
        return None
    return file.stem.removeprefix(begin) or None


def row_name(wanted: str, taken: Collection[str]) -> str:
    """A name that a row can have, made of the wanted one.

    >>> row_name("House 7", ()), row_name("house", ("house",))
    ('house-7', 'house-probed')
    """
    name = _NOT_IN_NAMES.sub("-", wanted.lower()).strip("-_") or "probed"
    if not name[0].isalpha():
        name = f"row-{name}"
    while name in taken:
        name += "-probed"
    return name


def row_text(
    bean: str,
    row: Mapping[str, object],
    verdicts: Sequence[Verdict],
    *,
    further: Mapping[str, object],
    title: str,
    use: str,
    left_out: Sequence[str] = (),
) -> str:
    """The file. ``row`` are the fields of ``vendor``, ``further`` other settings of the bean; ``title`` says what was
    asked and when, ``use`` how the file is used, ``left_out`` names what was found and a row has no field for."""
    lines = [f"# {title}", f"# {use}", "#", *_found(verdicts, left_out)]
    if left_out:
        lines += ["#", f"# No row can say this, so it is not in this one: {', '.join(left_out)}."]
    if not any(verdict.agrees is False for verdict in verdicts):
        lines += ["#", "# Nothing differs from the profile of that day: the row holds it as it was found."]
    lines += ["agentforge: 1", "beans:", f"  {bean}:", "    vendor:"]
    lines += _mapping(row, "      ")
    lines += _mapping(further, "    ")
    return "\n".join(lines) + "\n"


def _found(verdicts: Sequence[Verdict], left_out: Collection[str]) -> Iterator[str]:
    width = max(len(verdict.capability.name) for verdict in verdicts)
    for verdict in verdicts:
        found = verdict.found
        differs = f" (the profile said {verdict.says})" if verdict.agrees is False else ""
        if verdict.capability.name in left_out:
            differs = f" (the profile said {verdict.says}; not in the row)"
        words = visible(" ".join(f"{found.status}: {found.note}".split()))
        text = f"#   {verdict.capability.name:{width}}  {words}"
        yield (text if len(text) <= _WIDTH else text[: _WIDTH - 3].rstrip() + "...") + differs


def _mapping(values: Mapping[str, object], indent: str) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield f"{indent}{_scalar(name)}:"
            yield from _mapping(value, indent + "  ")
        else:
            yield f"{indent}{_scalar(name)}: {_flow(value)}"


def _flow(value: object) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(map(_flow, sorted(value) if isinstance(value, (set, frozenset)) else value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(str(key))}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value) if isinstance(value, (int, float)) else _scalar(str(value))


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'"
