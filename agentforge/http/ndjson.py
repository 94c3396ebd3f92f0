"""Newline-delimited JSON out of bytes: one document a line, as some model servers stream instead of events."""

from __future__ import annotations

from agentforge.errors import ProtocolError
from agentforge.http.sse import DEFAULT_MAX_EVENT_BYTES

__all__ = ("NdjsonDecoder",)


class NdjsonDecoder:
    """Incremental decoder; one a stream. Blank lines are passed over, white space around a line is dropped.

    Raises `ProtocolError` when one line is larger than ``max_line_bytes`` (default 8 MiB).

    >>> decoder = NdjsonDecoder()
    >>> decoder.feed(b'{"n": 1}\\n{"n"'), decoder.feed(b": 2}"), decoder.finish()
    ([b'{"n": 1}'], [], [b'{"n": 2}'])
    """

    __slots__ = ("_max", "_rest")

    def __init__(self, *, max_line_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        self._max = max_line_bytes
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, in order."""
        rest = self._rest
        if rest:
            rest += chunk
            if b"\n" not in chunk:
                self._check(len(rest))
                return []
            chunk = bytes(rest)
            rest.clear()
        lines = chunk.split(b"\n")
        last = lines.pop()
        if last:
            self._check(len(last))
            rest += last
        return self._whole(lines)

    def finish(self) -> list[bytes]:
        """The last line, if the body ended without a line break."""
        last = bytes(self._rest)
        self._rest.clear()
        return self._whole([last])

    def _whole(self, lines: list[bytes]) -> list[bytes]:
        for line in lines:
            if len(line) > self._max:
                self._check(len(line))
        return [stripped for line in lines if (stripped := line.strip())]

    def _check(self, size: int) -> None:
        if size > self._max:
            raise ProtocolError(
                f"one line of the stream is larger than {self._max} bytes",
                next_step="Raise max_line_bytes if the endpoint really sends lines of this size.",
            )
