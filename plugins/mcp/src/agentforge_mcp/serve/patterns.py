"""Patterns of tool names that fit nothing: a typo in what is kept out must not go unseen."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from agentforge.errors import ConfigurationError

__all__ = ("check_patterns", "fits_any")

_log = logging.getLogger("agentforge.mcp.serve")


def fits_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns fits the name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def check_patterns(settings: Mapping[str, Sequence[str]], names: Collection[str], *, certain: bool) -> None:
    """Look at each setting's patterns. One with wildcards that fits nothing is a warning; a plain name is an error.

    Without ``certain`` a tool of that name may still come, and it is a warning too. Raises `ConfigurationError`.
    """
    for setting, patterns in settings.items():
        for pattern in patterns:
            if any(fnmatchcase(name, pattern) for name in names):
                continue
            message = f"{setting}: no tool on offer is named {pattern!r}"
            step = _near(pattern, names)
            if certain and not any(sign in pattern for sign in "*?["):
                raise ConfigurationError(message, next_step=step)
            _log.warning("%s. %s", message, step)


def _near(pattern: str, names: Collection[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(pattern, list(names), 1)
    return f"Did you mean {found[0]!r}?" if found else f"There is {', '.join(names) or 'none'}."
