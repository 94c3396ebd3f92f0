"""One fault of a configuration as data, and the one block of text that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agentforge.config.nodes import LINE_BREAK, Mark
from agentforge.masking import MASK

__all__ = ("Diagnostic", "did_you_mean", "nearest", "render")

_WIDEST = 120
# A longer line is no text for people, and shows nothing.
_LONGEST_LINE = 2_000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# A literal secret in a file must not be repeated by the excerpt of a fault beside it.
_USERINFO = re.compile(r"(://[^/\s:@]*:)[^@/\s]+(?=@)")
_SECRET_VALUE = re.compile(
    r"""(?ix) ((?<!\$\{)(?:[\w.-]*(?:key|token|secret|passw|pwd|credential|authorization|bearer))[\w.-]*["']?\s*[:=]\s*)
    (?!\s*["']?\$\{ [^}]* \}["']?\s*(?:[,}\]\#]|$))   # a placeholder alone shows nothing
    ( "(?:[^"\\]|\\.)*"? | '[^']*'? | (?=[^\s,}\]\[{]) (?: \$\{[^}]*\} | [^,}\]] )* )"""
)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong (``message``), where (``mark``, and ``path`` in dots), what to do (``next_step``).

    ``private`` marks a value that must not be shown: the excerpt ends where the value begins.
    """

    code: str
    message: str
    mark: Mark
    next_step: str | None = None
    path: str = ""
    private: bool = False

    @property
    def place(self) -> tuple[bool, str, int, int]:
        """The order of faults: by file and line; those that stand in no file come last."""
        return (not self.mark.in_file, self.mark.file, self.mark.line, self.mark.column)


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """The fault as one block: code, place and message, the line with a caret, the next step.

    Args:
        diagnostic: The fault.
        sources: The texts by file name, for the excerpt; a file that is not there has none.

    >>> fault = Diagnostic("AF107", "unknown key 'bens'", Mark("app.yaml", 1, 1), "Did you mean 'beans'?")
    >>> print(render(fault, {"app.yaml": "bens: {}"}))
    [AF107] app.yaml:1:1: unknown key 'bens'
      1 | bens: {}
        | ^
      next: Did you mean 'beans'?
    """
    lines = [_printable(f"[{diagnostic.code}] {diagnostic.mark}: {diagnostic.message}")]
    lines += _excerpt(diagnostic, sources.get(diagnostic.mark.file))
    if diagnostic.next_step:
        lines.append(_printable(f"  next: {diagnostic.next_step}"))
    return "\n".join(lines)


def _excerpt(diagnostic: Diagnostic, source: str | None) -> list[str]:
    mark = diagnostic.mark
    if source is None or not mark.in_file:
        return []
    found = LINE_BREAK.split(source)
    if mark.line > len(found) or not 0 < len(found[mark.line - 1].strip()) <= _LONGEST_LINE:
        return []
    line, column = found[mark.line - 1], mark.column - 1
    start = 0 if column < _WIDEST - 20 else column - _WIDEST // 2
    shown = line[:column] + MASK if diagnostic.private else line
    # Masked before it is cut, so that no cut can hide the key that makes a value a secret.
    masked, before = (
        _SECRET_VALUE.sub(lambda match: match[1] + MASK, _USERINFO.sub(lambda match: match[1] + MASK, text))
        for text in (shown, line[:column])
    )
    caret = len(before) if masked.startswith(before) else min(column, len(masked))
    text = masked[start : start + _WIDEST]
    number = str(mark.line)
    return [
        f"  {number} | {_UNPRINTABLE.sub(' ', text)}".rstrip(),
        f"  {' ' * len(number)} | {' ' * max(caret - start, 0)}^",
    ]


def _printable(text: str) -> str:
    # Names come from files; none may steer a terminal or break the block apart.
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is closest to, or ``None``.

    >>> nearest("modle", ["model", "memory"])
    'model'
    """
    from difflib import get_close_matches

    by_folded = {candidate.casefold(): candidate for candidate in known}
    found = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The next step for a name that does not exist: the near miss, else what there is.

    >>> did_you_mean("x", ["beans", "scan"])
    'Known here: beans, scan.'
    """
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"Did you mean '{near}'?"
    return f"Known here: {', '.join(names)}." if names else "Nothing is known here."
