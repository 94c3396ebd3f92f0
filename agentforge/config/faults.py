"""All faults of a configuration at once: where they are collected, and the error that carries them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from agentforge.config.diagnostic import Diagnostic, render
from agentforge.config.nodes import Mark
from agentforge.errors import ConfigurationError

__all__ = ("ConfigurationFaults", "Reporter")


#: How many faults the text of an error shows; nobody reads more, and all are in `diagnostics`.
_SHOWN = 100
#: After so many faults nobody looks for near misses any more, which costs more than all else.
_ENOUGH = 2 * _SHOWN
#: A name or a text in a fault is shown up to these lengths.
_LONGEST_WORD = 200
_LONGEST_TEXT = 2_000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


class ConfigurationFaults(ConfigurationError):  # noqa: N818 - it is many faults
    """A configuration that cannot be used; ``diagnostics`` are all its faults, in the order of the files.

    The code is that of the first fault; ``str()`` shows each as a block with its line.
    """

    def __init__(
        self,
        diagnostics: Iterable[Diagnostic],
        sources: Mapping[str, str] | None = None,
        *,
        hidden: Iterable[str] = (),
    ) -> None:
        # One value that several beans have, by `extends` or by an alias, is one fault.
        distinct: dict[tuple[str, Mark, str], Diagnostic] = {}
        for found in diagnostics:
            distinct.setdefault((found.code, found.mark, found.message), found)
        self.diagnostics = tuple(sorted(distinct.values(), key=lambda found: found.place))
        if not self.diagnostics:
            raise ValueError("ConfigurationFaults needs at least one diagnostic")
        first = self.diagnostics[0]
        more = f" (and {len(self.diagnostics) - 1} more)" if len(self.diagnostics) > 1 else ""
        super().__init__(first.message + more, location=str(first.mark), next_step=first.next_step)
        self.code = first.code
        #: The texts by file name, for excerpts; hidden words are starred out, columns stay.
        self.sources: Mapping[str, str] = {file: _starred(text, hidden) for file, text in (sources or {}).items()}

    def __str__(self) -> str:
        blocks = [render(diagnostic, self.sources) for diagnostic in self.diagnostics[:_SHOWN]]
        if len(self.diagnostics) > _SHOWN:
            blocks.append(f"... and {len(self.diagnostics) - _SHOWN} more faults, which are not shown here")
        return "\n\n".join(blocks)

    def __repr__(self) -> str:
        return f"ConfigurationFaults({', '.join(f'{found.code} at {found.mark}' for found in self.diagnostics)})"


def _starred(text: str, hidden: Iterable[str]) -> str:
    for word in sorted(hidden, key=len, reverse=True):
        text = text.replace(word, "*" * len(word))
    return text


def _shortened(text: str) -> str:
    """The text with what is too long for anybody to read cut short: a name of many thousand letters, say."""
    if len(text) <= _LONGEST_WORD:
        return text
    text = _LONG_WORD.sub(lambda word: f"{word[0][: _LONGEST_WORD // 2]}…{word[0][-20:]}", text)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


class Reporter:
    """Collects faults, so that one run shows them all; ``sources`` are the texts that were read so far.

    >>> reporter = Reporter()
    >>> reporter.report("AF109", "the bean has no type", Mark("app.yaml", 2, 3), path="beans.model")
    >>> reporter.raise_if_any()
    Traceback (most recent call last):
        ...
    agentforge.config.faults.ConfigurationFaults: [AF109] app.yaml:2:3: the bean has no type
    """

    def __init__(self, sources: Mapping[str, str] | None = None) -> None:
        self.sources: dict[str, str] = dict(sources or {})
        self._found: list[Diagnostic] = []
        self._hidden: set[str] = set()
        self._settled: set[Mark] = set()

    def hide(self, text: str) -> None:
        """Keep a literal secret out of every excerpt; as with `Secrets`, a very short one would tear words apart."""
        if len(text) >= 4:
            self._hidden.add(text)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was reported so far, in the order of the reports."""
        return tuple(self._found)

    @property
    def has_enough(self) -> bool:
        """Whether there are more faults than anybody reads, so that near misses are not worth their price."""
        return len(self._found) >= _ENOUGH

    def report(
        self,
        code: str,
        message: str,
        mark: Mark,
        *,
        next_step: str | None = None,
        path: str = "",
        private: bool = False,
        settles: bool = False,
    ) -> None:
        """Note one fault; see `Diagnostic`. With ``settles`` whatever else is found at this mark follows from it, such
        as that a value whose placeholder could not be filled is no number, and is not noted."""
        if mark in self._settled:
            return
        if settles:
            self._settled.add(mark)
        step = None if next_step is None else _shortened(next_step)
        self._found.append(Diagnostic(code, _shortened(message), mark, step, path, private))

    def settle(self, mark: Mark) -> None:
        """Note nothing more that is found at this mark: it follows from what was reported elsewhere."""
        self._settled.add(mark)

    def is_settled(self, mark: Mark) -> bool:
        """Whether what is wrong at this mark was reported, so that what follows from it is no news."""
        return mark in self._settled

    def take(self, faults: ConfigurationFaults) -> None:
        """Add the faults and texts of an error that was caught."""
        self._found.extend(faults.diagnostics)
        self.sources.update(faults.sources)

    def raise_if_any(self) -> None:
        """Raise `ConfigurationFaults` with all that was reported; nothing when there is none."""
        if self._found:
            raise ConfigurationFaults(self._found, self.sources, hidden=self._hidden)
