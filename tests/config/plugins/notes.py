"""A plugin that works: a type, and secrets under the names that begin with ``app/``."""

from __future__ import annotations

from collections.abc import Callable

from agentforge.plugin import BeanSettings, BeanType, SecretStr, hookimpl


class PadSettings(BeanSettings):
    """Settings of a pad."""

    title: str
    """What stands on its cover."""
    pages: int = 10
    """How many pages it has."""
    key: SecretStr | None = None
    """What opens it."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""


class Pad:
    """A bean that no contract of the core describes."""

    def __init__(self, settings: PadSettings) -> None:
        self.settings = settings


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """One type."""
    register(BeanType("notes.pad", PadSettings, Pad, Pad, "Paper."))


@hookimpl
def agentforge_secret(name: str) -> str | None:
    """A vault of one entry."""
    return "k-from-the-vault" if name == "app/key" else None
