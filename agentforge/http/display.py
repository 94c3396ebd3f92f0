"""Text from the network made fit to be shown: one line, printable, bounded, without secrets.

Used by errors and by the debug log, so that both promise the same: a stranger's bytes can neither forge a second log
line nor reach the terminal as control sequences, and what looks like a credential is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentforge.masking import MASK, Secrets

__all__ = ("one_line", "safe_headers", "safe_url", "without_credentials")

# Members of JSON text, nested in strings to any depth (the quotes then carry backslashes), whose name says credential.
_NAME = (
    r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie|credential"
)
_MEMBER = re.compile(
    rf'(?P<b>\\{{0,63}})"[^"\\]{{0,64}}(?:{_NAME})[^"\\]{{0,64}}(?P=b)"\s*:\s*(?P=b)"',
    re.IGNORECASE,
)
_QUOTE = re.compile(r'\\{0,127}"')
_SENSITIVE_HEADER = re.compile(r"auth|key|cookie|token|secret|credential|signature", re.IGNORECASE)
# Query members that name a variant of the API; every other value may be a key and is masked.
_PLAIN_QUERY = frozenset({"alt", "api-version"})


def one_line(text: str, limit: int) -> str:
    """At most ``limit`` characters of the text on one line; what is not printable is escaped as in Python.

    >>> one_line("a\\n\\x1b[31mb\\u2028c", 40)
    'a \\\\x1b[31mb\\\\u2028c'
    """
    text = re.sub(r"[ \t\r\n\f\v]+", " ", text.strip()[: limit * 4]).strip()
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def safe_url(url: str) -> str:
    """The URL without user information and fragment, the values of its query masked.

    >>> safe_url("https://user:pw@model.test/v1/chat?key=abc&alt=sse#x")
    'https://model.test/v1/chat?key=***&alt=sse'
    """
    rest, _, _ = url.partition("#")
    rest, mark, query = rest.partition("?")
    scheme, slashes, place = rest.partition("://")
    authority, slash, path = place.partition("/")
    shown = f"{scheme}{slashes}{authority.rpartition('@')[2]}{slash}{path}"
    if mark:
        shown += "?" + "&".join(_masked_member(member) for member in query.split("&"))
    return one_line(shown, 500)


def _masked_member(member: str) -> str:
    name, equals, _ = member.partition("=")
    return member if name.lower() in _PLAIN_QUERY else f"{name}={MASK}" if equals else MASK


def safe_headers(headers: Iterable[tuple[str, str]], secrets: Secrets) -> Iterator[tuple[str, str]]:
    """The headers with the values of credentials and cookies replaced, whatever they hold."""
    for name, value in headers:
        yield name, MASK if _SENSITIVE_HEADER.search(name) else secrets.mask(value)


def without_credentials(text: str, secrets: Secrets) -> str:
    """The text with registered secrets and the values of members named like credentials masked.

    >>> without_credentials('{"args": "{\\\\"password\\\\": \\\\"hunter2\\\\"}", "max_tokens": 5}', Secrets())
    '{"args": "{\\\\"password\\\\": \\\\"***\\\\"}", "max_tokens": 5}'
    """
    text = secrets.mask(text)
    parts: list[str] = []
    at = 0
    for member in _MEMBER.finditer(text):
        if member.start() >= at:
            parts += text[at : member.end()], MASK
            at = _end_of_value(text, member.end(), len(member["b"]))
    return "".join((*parts, text[at:]))


def _end_of_value(text: str, start: int, depth: int) -> int:
    """Where the closing quote of a value begins, when its quotes carry ``depth`` backslashes; else the text's end."""
    for quote in _QUOTE.finditer(text, start):
        carried = len(quote[0]) - 1
        # At this depth an escaped quote carries 2 * depth + 1 backslashes, and each escaped backslash that many more.
        if carried >= depth and (carried - depth) % (2 * depth + 2) == 0:
            return quote.end() - depth - 1
    return len(text)
