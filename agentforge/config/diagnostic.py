"""One fault of a configuration as data, and the one block of text that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentforge.config.nodes import LINE_BREAK, Mark
from agentforge.masking import MASK

__all__ = ("Diagnostic", "did_you_mean", "listed", "nearest", "render", "with_article")

_WIDEST = 120
# Names beyond these are no names of people, and the closest of very many is looked for by one letter alone.
_LONGEST_NAME = 100
_MANY_NAMES = 300
#: How many names a sentence lists; nobody reads more.
_LISTED = 20
# A longer line is no text for people, and shows nothing.
_LONGEST_LINE = 2_000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# A literal secret in a file must not be repeated by the excerpt of a fault beside it.
_USERINFO = re.compile(r"(://[^/\s:@]*:)[^@/\s]+(?=@)")
# A name is looked at from its first letter and once: tried from every letter, a long one would take minutes.
_SECRET_VALUE = re.compile(
    r"""(?ix) ((?<![\w.-])(?!(?<=\$\{)secret:)
    (?=[\w.-]*?(?:key|token|secret|passw|pwd|credential|authorization|bearer)) [\w.-]++["']?\s*+[:=]\s*+)
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

    if len(name) > _LONGEST_NAME:
        return None
    folded = name.casefold()
    by_folded = {candidate.casefold(): candidate for candidate in known if len(candidate) <= _LONGEST_NAME}
    if len(by_folded) > _MANY_NAMES:
        return next((by_folded[each] for each in _one_letter_away(folded) if each in by_folded), None)
    found = get_close_matches(folded, by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def _one_letter_away(name: str) -> Iterator[str]:
    """The name itself, and what it becomes with two letters swapped, one left out, another or one more."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
    parts = [(name[:cut], name[cut:]) for cut in range(len(name) + 1)]
    yield name
    yield from (f"{head}{tail[1]}{tail[0]}{tail[2:]}" for head, tail in parts if len(tail) > 1)
    yield from (f"{head}{tail[1:]}" for head, tail in parts if tail)
    yield from (f"{head}{letter}{tail[1:]}" for head, tail in parts if tail for letter in letters)
    yield from (f"{head}{letter}{tail}" for head, tail in parts for letter in letters)


def listed(names: Iterable[str]) -> str:
    """Names in a sentence; of very many the first ones and how many more there are.

    >>> listed(["model", "tools"])
    'model, tools'
    """
    found = list(names)
    more = len(found) - _LISTED
    return ", ".join(found) if more <= 1 else f"{', '.join(found[:_LISTED])} and {more:,} more"


def with_article(noun: str) -> str:
    """A word with its article, by its first letter.

    >>> with_article("Advisor"), with_article("ChatModel")
    ('an Advisor', 'a ChatModel')
    """
    return f"{'an' if noun[:1].upper() in tuple('AEIO') else 'a'} {noun}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The next step for a name that does not exist: the near miss, else what there is.

    >>> did_you_mean("x", ["beans", "scan"])
    'Known here: beans, scan.'
    """
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"Did you mean '{near}'?"
    return f"Known here: {listed(names)}." if names else "Nothing is known here."
