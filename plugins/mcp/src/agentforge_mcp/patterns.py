"""Names and patterns of tools in a file, and those that fit nothing: a typo in what is kept out must not go unseen."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from agentforge.errors import ConfigurationError

__all__ = ("check_patterns", "fits_any", "has_wildcards")

_log = logging.getLogger("agentforge.mcp.serve")


def fits_any(names: Collection[str], patterns: Iterable[str]) -> bool:
    """Whether one of the patterns is, or fits, one of the names.

    >>> fits_any(["get[1]", "get_1"], ["get[1]"]), fits_any(["get_1"], ["put_*"])
    (True, False)
    """
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns for name in names)


def has_wildcards(pattern: str) -> bool:
    """Whether it may stand for several names."""
    return any(sign in pattern for sign in "*?[")


def check_patterns(settings: Mapping[str, Sequence[str]], names: Collection[str], *, certain: bool) -> None:
    """Look at each setting's patterns. One with wildcards that fits nothing is a warning; a plain name is an error.

    Without ``certain`` a tool of that name may still come, and it is a warning too. Raises `ConfigurationError`.
    """
    for setting, patterns in settings.items():
        for pattern in patterns:
            if fits_any(names, [pattern]):
                continue
            message = f"{setting}: no tool on offer is named {pattern!r}"
            step = _near(pattern, names)
            if certain and not has_wildcards(pattern):
                raise ConfigurationError(message, next_step=step)
            _log.warning("%s. %s", message, step)


def _near(pattern: str, names: Collection[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(pattern, list(names), 1)
    return f"Did you mean {found[0]!r}?" if found else f"There is {', '.join(names) or 'none'}."
