"""What the framework and the application log while a command runs: short lines on standard error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from agentforge.cli.console import Console

__all__ = ("log_level", "logs_on")

_TRACEBACK = "Traceback (most recent call last)"


class _ConsoleHandler(logging.Handler):
    """Says each record; tracebacks only with ``--debug``, and of other libraries only warnings and worse.

    The application's own loggers are those of its ``scan`` roots and of the modules below them.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING and not self._is_own(record.name):
            return
        try:
            text = self.format(record)
        except Exception:  # arguments that do not fit: the message as it stands
            text = str(record.msg)
        if not self._console.debug:
            text = text.partition(_TRACEBACK)[0].rstrip()
        self._console.say(f"{record.levelname.lower()}: {self._console.secrets.mask(text)}", style="yellow")

    def _is_own(self, name: str) -> bool:
        return name.startswith("agentforge") or any(f"{name}.".startswith(f"{own}.") for own in self._console.loggers)


@contextmanager
def logs_on(console: Console) -> Iterator[None]:
    """Show log records for the time of the block, from the level that ``AGENTFORGE_LOG_LEVEL`` names."""
    root = logging.getLogger()
    handler, before = _ConsoleHandler(console), root.level
    root.addHandler(handler)
    log_level(console.environment.get("AGENTFORGE_LOG_LEVEL", "warning"))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def log_level(name: str) -> None:
    """Show records from this level on; a name that is none is left to whoever checks the settings."""
    level = logging.getLevelNamesMapping().get(name.upper())
    if level is not None:
        logging.getLogger().setLevel(level)
