"""A plugin that works until it is asked for a secret."""

from __future__ import annotations

from agentforge.plugin import hookimpl


@hookimpl
def agentforge_secret(name: str) -> str | None:
    """Fails, with words that must not be shown."""
    raise ConnectionError("the answer was k-from-the-vault")
