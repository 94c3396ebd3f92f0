"""Which parts of regular expressions a strict mode refuses, found without reading one as an expression."""

from __future__ import annotations

import re

from agentforge.tool.spec.subset import SchemaSubset

__all__ = ("refused_in_pattern",)

_TOKEN = re.compile(
    r"""\\(?P<escaped>.)|(?P<open>\[\^?\]?)|(?P<close>\])|(?P<look>\(\?<?[=!])|(?P<named>\(\?P=)
    |\{(?P<low>\d*),?(?P<high>\d*)\}|.""",
    re.VERBOSE | re.DOTALL,
)


def refused_in_pattern(pattern: str, subset: SchemaSubset) -> str | None:
    """What ``subset`` does not take in ``pattern``, in words; ``None`` where it takes all of it.

    >>> from agentforge.tool.spec.subset import STANDARD
    >>> refused_in_pattern("^(?=a)", STANDARD), refused_in_pattern("[(?=]", STANDARD)
    ('look-around', None)
    """
    in_class = False
    for token in _TOKEN.finditer(pattern):
        escaped = token["escaped"]
        if in_class:
            in_class = token["close"] is None
        elif escaped is not None:
            if subset.no_back_references and (escaped in "123456789" or escaped == "k"):
                return "back-references"
            if subset.no_word_boundaries and escaped in "bB":
                return "word boundaries"
        elif token["open"] is not None:
            in_class = True
        elif token["look"] is not None and subset.no_look_around:
            return "look-around"
        elif token["named"] is not None and subset.no_back_references:
            return "back-references"
        elif token["low"] is not None and _is_more(token["low"], token["high"], subset.most_repeats):
            return f"more than {subset.most_repeats} repetitions"
    return None


def _is_more(low: str, high: str, most: int | None) -> bool:
    return most is not None and max(int(low or 0), int(high or 0)) > most
