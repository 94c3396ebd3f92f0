"""Compressed answers, decoded with a bound.

Plain answers are asked for as gzip and streams as they are (a proxy that compresses a stream tends to hold it back).
Only gzip is asked for: it is what every server has, its decoder is in the standard library, and that decoder can be
told how much it may give out, so that ten kilobytes cannot become a gigabyte here. Any other encoding was not asked
for and is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from agentforge.errors import ProtocolError

if TYPE_CHECKING:
    import zlib

__all__ = ("BodyDecoder", "Bounds", "body_decoder")

_MAX_MEMBERS = 100


class Bounds(NamedTuple):
    """The largest body of an answer in bytes, as sent and as decoded from a compressed one.

    >>> Bounds.of(None), Bounds.of(100)
    (Bounds(body=67108864, decoded=10485760), Bounds(body=100, decoded=100))
    """

    body: int
    decoded: int

    @classmethod
    def of(cls, max_body_bytes: int | None) -> Bounds:
        """Both as set; unset 64 MiB, and 10 MiB for what a few kilobytes may have been."""
        if max_body_bytes is None:
            return cls(64 * 1024 * 1024, 10 * 1024 * 1024)
        return cls(max_body_bytes, max_body_bytes)


def body_decoder(headers: Mapping[str, str], bounds: Bounds) -> BodyDecoder | None:
    """The decoder that ``content-encoding`` asks for; ``None`` when the body is not encoded.

    Raises `ProtocolError` for an encoding that was not asked for, stacked ones included.
    """
    encoding = headers.get("content-encoding")
    if encoding is None:
        return None
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in ("gzip", "x-gzip"):
        raise ProtocolError(
            f"the answer is encoded as {encoding[:40]!r}, which was not asked for",
            next_step="Ask the endpoint's operator or proxy to send gzip or no encoding.",
        )
    return BodyDecoder(bounds.decoded)


class BodyDecoder:
    """Decodes gzip piece by piece; raises `ProtocolError` past ``limit`` decoded bytes, for damage and for a cut."""

    __slots__ = ("_fed", "_left", "_limit", "_members", "_stream")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._members = 0
        self._fed = False
        self._stream = self._next_member()

    def _next_member(self) -> zlib._Decompress:
        import zlib

        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise ProtocolError(f"the compressed answer has more than {_MAX_MEMBERS} parts")
        return zlib.decompressobj(16 + zlib.MAX_WBITS)

    def feed(self, data: bytes) -> bytes:
        """The decoded bytes of this piece."""
        import zlib

        parts: list[bytes] = []
        self._fed = self._fed or bool(data)
        try:
            while data:
                if self._stream.eof:
                    self._stream = self._next_member()
                part = self._stream.decompress(data, self._left + 1)
                if len(part) > self._left:
                    raise ProtocolError(
                        f"the decoded answer is larger than {self._limit} bytes",
                        next_step="Raise max_body_bytes if the endpoint really sends answers of this size.",
                    )
                self._left -= len(part)
                parts.append(part)
                data = self._stream.unused_data
        except zlib.error as error:
            raise ProtocolError(f"the compressed answer is damaged: {error}") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def finish(self) -> None:
        """To be called at the end of the body: a compressed answer that ends early is an error."""
        if self._fed and not self._stream.eof:
            raise ProtocolError("the compressed answer ends before its end mark")
