"""From a text to the words that are looked up: names split, endings cut, and pairs of characters where words have no
spaces between them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

__all__ = ("query_words", "words_of")

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_HUMP: Final = re.compile(rf"(?<=[{_LOWER}0-9])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])")
# Kana, Han, Hangul.
_PAIRED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_WORD: Final = re.compile(rf"([{_PAIRED}]+)|[^\W_{_PAIRED}]+")
# fmt: off
_IDLE: Final = frozenset((
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "get", "give", "had", "has", "have", "how", "i", "if", "in", "into", "is",
    "it", "its", "just", "let", "like", "me", "my", "need", "no", "not", "of", "on", "or", "our", "out", "please",
    "show", "should", "so", "some", "tell", "that", "the", "their", "them", "there", "these", "they", "this", "to",
    "us", "want", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would",
    "you", "your",
))
# fmt: on


def words_of(text: str) -> list[str]:
    """The words of a text, in order, small and without endings.

    Names come apart at ``_`` and between small and capital letters; Chinese, Japanese and Korean runs become pairs of
    neighbours, a single character stays.

    >>> words_of("cancelOrder_v2: cancels HTTPRequests")
    ['cancel', 'order', 'v2', 'cancel', 'http', 'request']
    >>> words_of("取消订单")
    ['取消', '消订', '订单']
    """
    return [_stem(piece) for piece in _pieces(text)]


def query_words(text: str) -> list[str]:
    """The distinct words of a question, without those that say nothing, unless it has no others.

    >>> query_words("Could you cancel the order, and the ORDERS?")
    ['cancel', 'order']
    """
    pieces = list(_pieces(text))
    telling = [piece for piece in pieces if piece not in _IDLE] or pieces
    return list(dict.fromkeys(map(_stem, telling)))


def _pieces(text: str) -> Iterator[str]:
    # A capital dotted I becomes an i with a dot above, in every locale.
    plain = _HUMP.sub(" ", unicodedata.normalize("NFKC", text)).casefold().replace("\u0307", "")
    for match in _WORD.finditer(plain):
        run = match[1]
        if run is None or len(run) == 1:
            yield match[0]
        else:
            for at in range(len(run) - 1):
                yield run[at : at + 2]


def _stem(word: str) -> str:
    """An English word without its ending, roughly: what matters is that forms of one word become the same."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith(("sses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
