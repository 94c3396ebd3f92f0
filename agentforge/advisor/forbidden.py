"""Which words and patterns a text must not hold: found however they are written, and masked where they stand.

Words are compared as Unicode compares them without case (NFKC, casefold), whatever the process's locale: full-width
letters, ligatures, accents in two characters and signs that nobody sees make no difference, nor does the dot of an i.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from agentforge.errors import ConfigurationError

__all__ = ("Forbidden", "texts_of")

# Written without spaces, or with particles attached: a word of these is found inside of others.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
_SPACED_SIGN: Final = rf"[^\W_{_UNSPACED}]"
# Signs without width: soft hyphens, joiners, marks of direction, variation selectors.
_UNSEEN: Final = dict.fromkeys(
    (
        *(0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
    )
)
# One repeated sign, repeated: `(a+)+`. It takes for ever on a text that nearly fits, and `a+` says the same.
_REPEATED_REPEAT: Final = re.compile(r"\((?:\?:|\?P<\w+>)?[^()|][+*]\??\)(?:[+*]|\{\d*,\})(?!\+)")
_ONE_SIGN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class Forbidden:
    """Words and regular expressions that a text must not hold.

    A word of letters with spaces between words is found as a whole word, one of a script without (Chinese, Japanese,
    Korean, Thai and the like) anywhere. Patterns are searched in the text as it is, up to ``max_characters`` of it: a
    longer text counts as one that holds what is forbidden, for nobody has looked. Raises `ConfigurationError` for
    blank words, patterns that do not compile, that fit an empty text, or that repeat a repetition.

    >>> Forbidden(["Bomb", "炸弹"]).masked("A BOMB, not bombastic; 自制炸弹", "***")
    'A ***, not bombastic; 自制***'
    """

    def __init__(self, words: Iterable[str] = (), patterns: Iterable[str] = (), max_characters: int = 100_000) -> None:
        if not isinstance(max_characters, int) or isinstance(max_characters, bool) or max_characters < 1:
            raise ConfigurationError(f"max_characters must be at least 1, not {max_characters!r}")
        self.words = texts_of("words", words)
        self.patterns = texts_of("patterns", patterns)
        self.max_characters = max_characters
        self._words = _word_pattern(self.words)
        self._patterns = tuple(_compiled(each) for each in self.patterns)

    def found(self, text: str) -> str | None:
        """What kind of thing it holds: ``word``, ``pattern``, ``length``; ``None`` when nothing."""
        if self._words is not None and self._words.search(_folded(text)):
            return "word"
        if self._patterns:
            if len(text) > self.max_characters:
                return "length"
            if any(pattern.search(text) for pattern in self._patterns):
                return "pattern"
        return None

    def masked(self, text: str, mask: str) -> str:
        """The text with ``mask`` wherever it holds what it must not; only the mask, where that cannot be told."""
        found = self.found(text)
        if found is None or found == "length":
            return text if found is None else mask
        text = unicodedata.normalize("NFC", text)
        spans = sorted((*self._word_spans(text), *self._pattern_spans(text)))
        parts: list[str] = []
        end = 0
        for start, stop in spans:
            if start >= end:
                parts += (text[end:start], mask)
            end = max(end, stop)
        made = "".join((*parts, text[end:]))
        return mask if self.found(made) else made

    def _word_spans(self, text: str) -> Iterator[tuple[int, int]]:
        if self._words is None:
            return
        folded: list[str] = []
        of: list[tuple[int, int]] = []  # for each folded character the characters that it comes from
        for start, stop in _groups(text):
            made = _folded(text[start:stop])
            folded.append(made)
            of += [(start, stop)] * len(made)
        for match in self._words.finditer("".join(folded)):
            yield of[match.start()][0], of[match.end() - 1][1]

    def _pattern_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                if match.end() > match.start():
                    yield match.span()

    def __bool__(self) -> bool:
        return self._words is not None or bool(self._patterns)

    def __repr__(self) -> str:
        return f"Forbidden({len(self.words)} words, {len(self.patterns)} patterns)"


def texts_of(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """A setting that is a list of texts; one text alone is a list of one. Raises `ConfigurationError`."""
    listed: tuple[object, ...] = (values,) if isinstance(values, str) else tuple(values)
    made: list[str] = []
    for each in listed:
        if not isinstance(each, str) or not each.strip():
            shown = "a blank one" if isinstance(each, str) else type(each).__name__
            raise ConfigurationError(f"{name} is a list of texts, and one of them is {shown}")
        made.append(each)
    return tuple(made)


def _folded(text: str) -> str:
    """The form in which texts are compared."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text.translate(_UNSEEN)).casefold()
    # The dotted and the dotless i of Turkish, in whichever case.
    return unicodedata.normalize("NFKC", text.translate(_UNSEEN)).replace("i\u0307", "i").replace("\u0131", "i")


def _groups(text: str) -> Iterator[tuple[int, int]]:
    """The places of characters, those that combine with the one before them taken together with it."""
    start = 0
    for at in range(1, len(text)):
        first = unicodedata.normalize("NFKD", text[at])[:1]
        if not (unicodedata.combining(first) or "\u1160" <= first <= "\u11ff"):
            yield start, at
            start = at
    if text:
        yield start, len(text)


def _word_pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """One pattern for all words, the longest first; what is between the parts of a phrase may be any space."""
    made: list[str] = []
    for word in sorted(words, key=len, reverse=True):
        parts = _folded(word).split()
        if not parts:
            raise ConfigurationError(f"the word {word!r} has no sign that could be compared")
        first, last = parts[0][0], parts[-1][-1]
        before = f"(?<!{_SPACED_SIGN})" if re.match(_SPACED_SIGN, first) else ""
        after = f"(?!{_SPACED_SIGN})" if re.match(_SPACED_SIGN, last) else ""
        made.append(before + r"\s+".join(map(re.escape, parts)) + after)
    return re.compile("|".join(made)) if made else None


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        made = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigurationError(f"the pattern {pattern!r} is no regular expression: {error}") from None
    if made.search(""):
        raise ConfigurationError(
            f"the pattern {pattern!r} fits an empty text, and so every text", next_step="Have it ask for a character."
        )
    if _REPEATED_REPEAT.search(_ONE_SIGN.sub("x", pattern)):
        raise ConfigurationError(
            f"the pattern {pattern!r} repeats a repetition, which can take for ever",
            next_step="One of the two repetitions says the same: 'a+' for '(a+)+'.",
        )
    return made
