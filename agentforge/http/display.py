"""Text from the network made fit to be shown: one line, printable, bounded, without secrets.

Used by errors and by the debug log, so that both promise the same: a stranger's bytes can neither forge a second log
line nor reach the terminal as control sequences, and what looks like a credential is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentforge.masking import MASK, Secrets

__all__ = ("is_secret_header", "is_secret_member", "one_line", "safe_headers", "safe_url", "without_credentials")

# Members of JSON text, nested in strings to any depth (the quotes then carry backslashes), whose name says credential.
_NAME = (
    r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie|credential"
)
_SECRET_MEMBER = re.compile(_NAME, re.IGNORECASE)
# Numbers and groups of numbers that count tokens are none of them.
_COUNT = re.compile(r"tokens|token[_-]?(?:count|limit|budget|id)", re.IGNORECASE)
_COUNTS = re.compile(r"tokens?_?details$", re.IGNORECASE)
_MEMBER = re.compile(
    rf'(?P<b>\\{{0,63}})"(?P<name>[^"\\]{{0,64}}(?:{_NAME})[^"\\]{{0,64}})(?P=b)"\s*:\s*'
    rf'(?:(?P<text>(?P=b)")|(?P<many>[\[{{])|(?P<number>-?\d[\d.eE+-]*))',
    re.IGNORECASE,
)
_QUOTE = re.compile(r'\\{0,127}"')
_BRACKET_OR_QUOTE = re.compile(r'\\{0,127}"|[\[\]{}]')
_SECRET_HEADER = re.compile(r"auth|key|cookie|token|secret|credential|signature|session|password", re.IGNORECASE)
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
    before, slashes, after = rest.partition("://")
    scheme, place = (before, after) if slashes else ("", before)
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
        yield name, MASK if is_secret_header(name) else secrets.mask(value)


def is_secret_header(name: str) -> bool:
    """Whether a header of this name carries a credential, a cookie or a session by its sound.

    >>> is_secret_header("X-Signature"), is_secret_header("x-request-id")
    (True, False)
    """
    return _SECRET_HEADER.search(name) is not None


def is_secret_member(name: str, *, number: bool = False) -> bool:
    """Whether a JSON member of this name holds a credential by its sound; counts of tokens do not.

    >>> is_secret_member("dbPassword"), is_secret_member("accessTokens"), is_secret_member("max_tokens", number=True)
    (True, True, False)
    """
    return _SECRET_MEMBER.search(name) is not None and (_COUNT if number else _COUNTS).search(name) is None


def without_credentials(text: str, secrets: Secrets) -> str:
    """The text with registered secrets and the values of members named like credentials masked: texts, numbers, and
    lists and objects whole.

    >>> without_credentials('{"args": "{\\\\"password\\\\": \\\\"hunter2\\\\"}", "max_tokens": 5}', Secrets())
    '{"args": "{\\\\"password\\\\": \\\\"***\\\\"}", "max_tokens": 5}'
    >>> without_credentials('{"secrets": [{"pin": 1}], "a": 2}', Secrets())
    '{"secrets": ***, "a": 2}'
    """
    text = secrets.mask(text)
    parts: list[str] = []
    at = 0
    for member in _MEMBER.finditer(text):
        if member.start() < at:
            continue
        if member["text"] is not None:
            start, end = member.end(), _end_of_text(text, member.end(), len(member["b"]))
        elif not is_secret_member(member["name"], number=member["number"] is not None):
            continue
        elif member["many"] is not None:
            start, end = member.start("many"), _end_of_many(text, member.start("many"), len(member["b"]))
        else:
            start, end = member.span("number")
        parts += text[at:start], MASK
        at = end
    return "".join((*parts, text[at:]))


def _end_of_text(text: str, start: int, depth: int) -> int:
    """Where the closing quote of a value begins, when its quotes carry ``depth`` backslashes; else the text's end."""
    for quote in _QUOTE.finditer(text, start):
        if _is_quote(quote[0], depth):
            return quote.end() - depth - 1
    return len(text)


def _end_of_many(text: str, start: int, depth: int) -> int:
    """Behind the bracket that closes the one at ``start``; brackets in texts do not count."""
    opened = 0
    quoted = False
    for found in _BRACKET_OR_QUOTE.finditer(text, start):
        sign = found[0]
        if sign[-1] == '"':
            quoted ^= _is_quote(sign, depth)
        elif not quoted:
            opened += 1 if sign in "[{" else -1
            if opened == 0:
                return found.end()
    return len(text)


def _is_quote(quote: str, depth: int) -> bool:
    """Whether a quote with the backslashes before it begins or ends a text whose quotes carry ``depth`` of them.

    At this depth an escaped quote carries 2 * depth + 1 backslashes, and each escaped backslash that many more.
    """
    carried = len(quote) - 1
    return carried >= depth and (carried - depth) % (2 * depth + 2) == 0
