"""What a server writes beside the protocol: kept short, masked, one line an entry, and never in the way.

A server may write without end. So the last kilobytes are kept as they came, lines go to the log only as fast as a
person could read them, and what does not fit is counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from agentforge.masking import Secrets

__all__ = ("ServerLog", "shown")

_log = logging.getLogger("agentforge.mcp")
_KEPT = 16 * 1024  # bytes of standard error
_MARGIN = 4 * 1024  # bytes that are longer than any secret
_LINE = 500  # characters of a line that are shown
_LINES = 20  # last lines that an error shows
_BURST = 50  # lines that are logged in a window, of each kind
_WINDOW = 10.0  # seconds


def shown(text: str, limit: int = _LINE) -> str:
    """The text on one line, with whatever could steer a terminal or forge an entry written as an escape."""
    cut = text[: limit + 1]
    made = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in cut[:limit])
    return f"{made}…" if len(cut) > limit else made


class ServerLog:
    """The standard error of one server, and the noise on its standard output."""

    def __init__(self, name: str, secrets: Secrets, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._secrets = secrets
        self._clock = clock
        self._tail = b""
        self._cut = False
        self._rest = b""
        #: Whether the rest is inside of a line whose beginning was not kept: that could be half a secret.
        self._inside = False
        self._windows: dict[str, tuple[float, int]] = {}

    def feed(self, data: bytes) -> None:
        """Bytes of standard error, as they come."""
        self._cut = self._cut or len(self._tail) + len(data) > _KEPT
        self._tail = (self._tail + data)[-_KEPT:] if len(data) < _KEPT else data[-_KEPT:]
        if not _log.isEnabledFor(logging.INFO) or not self._may_say("stderr", peek=True):
            self._rest, self._inside = b"", not data.endswith(b"\n")
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines and self._inside:
            del lines[0]
            self._inside = False
        if len(self._rest) > _KEPT:
            lines, self._rest, self._inside = [] if self._inside else [*lines, self._rest], b"", True
        for line in lines:
            text = self._masked(line)
            if text and self._may_say("stderr"):
                _log.info("%s: %s", self._name, text)

    def noise(self, line: bytes, why: str) -> None:
        """A line of standard output that is no message of the protocol."""
        if self._may_say("stdout"):
            _log.warning("the MCP server %r wrote %s to its standard output: %s", self._name, why, self._masked(line))

    def last_lines(self) -> tuple[str, ...]:
        """The last lines of standard error, oldest first."""
        first, *others = self._tail.split(b"\n")
        if self._cut:
            # Of a line that is cut the beginning may be half a secret.
            first = b"" if others else first[_MARGIN:]
        lines = [self._masked(line) for line in (first, *others)]
        return tuple([line for line in lines if line][-_LINES:])

    def _masked(self, line: bytes) -> str:
        # Masked before it is cut: half a secret would not be found.
        return shown(self._secrets.mask(line.decode(errors="replace").strip()))

    def _may_say(self, kind: str, *, peek: bool = False) -> bool:
        now = self._clock()
        begun, said = self._windows.get(kind, (now, 0))
        if now - begun >= _WINDOW:
            begun, said = now, 0
        if peek:
            self._windows[kind] = begun, said
            return said <= _BURST
        self._windows[kind] = begun, said + 1
        if said == _BURST:
            _log.warning("the MCP server %r writes a lot (%s); the rest of it is not logged for now", self._name, kind)
        return said < _BURST
