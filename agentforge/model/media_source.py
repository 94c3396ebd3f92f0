"""Where the bytes of an image, sound or file come from, checked when the part is made: a provider's error comes late.

The data is kept in base64, the form of every wire, so that a part is encoded once however often it is sent.
"""

from __future__ import annotations

import re
from binascii import b2a_base64

__all__ = ("media_source",)

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# Of two letters at least: one letter and a colon is a drive.
_ADDRESS = re.compile(r"(?:data:|(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://)", re.IGNORECASE)
_READ = "read the file and give data=path.read_bytes()"


def media_source(url: object, data: object, kind: str) -> tuple[str | None, str | None]:
    """The two as they are kept: an address that somebody can fetch, or base64; bytes become base64.

    Raises ``ValueError`` for anything but exactly one of them, for an address of this machine's files and for a text
    that is no base64, ``TypeError`` for what is no text and no bytes; data is never part of the message.

    >>> media_source(None, b"hi", "image")
    (None, 'aGk=')
    """
    if (url is None) == (data is None):
        raise ValueError(f"{kind} content needs exactly one of url and data")
    if url is not None:
        return _address(url, kind), None
    if isinstance(data, bytes | bytearray | memoryview):
        return None, b2a_base64(data, newline=False).decode("ascii")
    if not isinstance(data, str):
        raise TypeError(f"the data of {kind} content is bytes or base64 text, not {type(data).__name__}; {_READ}")
    return None, _base64_text(data, kind)


def _address(url: object, kind: str) -> str:
    if not isinstance(url, str):
        raise TypeError(f"the url of {kind} content is a text, not {type(url).__name__}; for a file, {_READ}")
    found = _ADDRESS.match(url)
    if found is None or (found["scheme"] or "").lower() == "file":
        shown = url if len(url) <= 60 else f"{url[:40]}…"
        raise ValueError(f"no provider can fetch the url {shown!r} of {kind} content: {_READ}, or an https address")
    return url


def _base64_text(data: str, kind: str) -> str:
    """The text, without line breaks. Its letters and length are looked at; to decode megabytes would cost more."""
    if data.isascii():
        rest = data.encode("ascii").translate(None, _ALPHABET)
        if rest and rest.strip(b"\r\n \t=") == b"" and rest.strip(b"=") != b"":
            data = "".join(data.split())
            rest = data.encode("ascii").translate(None, _ALPHABET)
        if rest in (b"", b"=", b"==") and data.endswith(rest.decode()) and len(data) % 4 == 0:
            return data
        if data.startswith("data:"):
            raise ValueError(
                f"the data of {kind} content is what follows the comma of a data URL; give that, with its media_type"
            )
    raise ValueError(f"the data of {kind} content is no base64: give the bytes themselves, or base64.b64encode of them")
