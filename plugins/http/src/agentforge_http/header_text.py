"""Which headers may be given, by a file or by a model, and which no one but the transport may."""

from __future__ import annotations

import re

__all__ = ("header_fault", "is_header_name", "is_token")

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")
#: They frame the message or belong to the connection.
_TRANSPORT = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_CREDENTIALS = frozenset({"authorization", "cookie"})


def header_fault(name: str, value: str, *, credentials: bool) -> str | None:
    """Why a header cannot be sent, to stand behind its name; ``None`` for one that can. ``credentials``: whether it may
    be one that only carries credentials.

    >>> header_fault("X-Trace", "a\\r\\nHost: b", credentials=False)
    'cannot be sent: its value holds a line break or another control character'
    >>> header_fault("X-Trace", "1", credentials=False) is None
    True
    """
    if not is_header_name(name):
        return "cannot be sent: its name is not valid HTTP"
    if not _VALUE.fullmatch(value):
        return "cannot be sent: its value holds a line break or another control character"
    if name.lower() in _TRANSPORT:
        return "cannot be set: it belongs to the connection"
    if not credentials and name.lower() in _CREDENTIALS:
        return "cannot be set here: credentials are given as auth"
    return None


def is_header_name(text: str) -> bool:
    """Whether a header, or a cookie, can have this name: a token of RFC 9110.

    >>> is_header_name("X-Trace"), is_header_name("X Trace"), is_header_name("")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def is_token(text: str) -> bool:
    """Whether a text can stand behind a word such as Bearer: visible ASCII, which is more than RFC 6750 asks for.

    >>> is_token("mF_9.B5f-4.1JqM"), is_token("two words"), is_token("")
    (True, False, False)
    """
    return text != "" and all("\x21" <= each <= "\x7e" for each in text)
