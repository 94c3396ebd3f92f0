"""Server-sent events out of bytes, in one pass, wherever the network cut them.

Written here rather than taken from a line reader because the usual ones decode text first, split at breaks that JSON
may hold (U+2028), or look at every line; a stream of two thousand deltas is two thousand whole ``data:`` blocks, and
those need one split and no line work.
"""

from __future__ import annotations

from typing import NamedTuple

from agentforge.errors import ProtocolError

__all__ = ("DEFAULT_MAX_EVENT_BYTES", "SseDecoder", "SseEvent")

#: The largest single event a stream may hold: 8 MiB.
DEFAULT_MAX_EVENT_BYTES = 8 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: ``data`` undecoded, its lines joined by LF; ``event`` and ``id`` where the event names them."""

    data: bytes
    event: str | None
    id: str | None


class SseDecoder:
    """Incremental decoder; one a stream. Lines end at LF, CR or CRLF and nowhere else (WHATWG HTML, section 9.2).

    Comments, ``retry`` and unknown fields are passed over, and so are events without data. Raises `ProtocolError` when
    one event is larger than ``max_event_bytes``.

    >>> decoder = SseDecoder()
    >>> decoder.feed(b'data: {"n": 1}\\n\\ndata: {"n"')
    [SseEvent(data=b'{"n": 1}', event=None, id=None)]
    >>> decoder.feed(b": 2}")
    []
    >>> decoder.finish()
    [SseEvent(data=b'{"n": 2}', event=None, id=None)]
    """

    __slots__ = ("_after_cr", "_at_start", "_held", "_max", "_rest")

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._rest = bytearray()
        self._after_cr = False
        self._at_start = True
        self._held = b""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes, in order."""
        if (
            chunk.startswith(b"data: ")
            and chunk.endswith(b"\n\n")
            and chunk.count(b"\n") == 2
            and not self._rest
            and not self._at_start
            and b"\r" not in chunk
            and 8 < len(chunk) <= self._max
        ):
            # One whole event in a chunk of its own, as most model servers send them.
            self._after_cr = False
            return [SseEvent(chunk[6:-2], None, None)]
        if self._at_start:
            chunk = self._held + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._held = chunk
                return []
            self._at_start = False
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr and chunk:
            # The CR already ended the line; a LF after it belongs to the same end.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        rest = self._rest
        if rest:
            # Only the seam and the new bytes are searched, so that a large event in small chunks stays linear.
            seam = len(rest) - 1
            rest += chunk
            if rest.find(b"\n\n", seam) < 0:
                self._check(len(rest))
                return []
            chunk = bytes(rest)
            rest.clear()
        blocks = chunk.split(b"\n\n")
        last = blocks.pop()
        if last:
            self._check(len(last))
            rest += last
        return self._events(blocks)

    def finish(self) -> list[SseEvent]:
        """The event that the end of the body completes, if any: many servers omit the last blank line."""
        last = bytes(self._rest)
        self._rest.clear()
        return self._events([last]) if last else []

    def _events(self, blocks: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        for block in blocks:
            if len(block) > self._max:
                self._check(len(block))
            if block.startswith(b"data: ") and b"\n" not in block:
                if len(block) > 6:
                    events.append(SseEvent(block[6:], None, None))
            elif (event := _parse(block)) is not None:
                events.append(event)
        return events

    def _check(self, size: int) -> None:
        if size > self._max:
            raise ProtocolError(
                f"one event of the stream is larger than {self._max} bytes",
                next_step="Raise max_event_bytes if the endpoint really sends events of this size.",
            )


def _parse(block: bytes) -> SseEvent | None:
    """One block of lines; ``None`` when it carries no data."""
    data: list[bytes] = []
    kind: str | None = None
    ident: str | None = None
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode("utf-8", "replace") or None
        elif name == b"id" and b"\0" not in value:
            ident = value.decode("utf-8", "replace")
    joined = data[0] if len(data) == 1 else b"\n".join(data)
    return SseEvent(joined, kind, ident) if joined else None
