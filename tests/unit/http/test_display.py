"""Text of strangers made fit to be shown: one line, printable, without credentials."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.http.display import one_line, safe_headers, safe_url, without_credentials
from agentforge.masking import Secrets


@given(st.text(max_size=300), st.integers(2, 60))
def test_one_line_is_one_printable_line(text: str, limit: int) -> None:
    """S11: no line break, escape sequence or bidi mark of a stranger gets through, and no more than the limit."""
    shown = one_line(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://m.test/v1", "https://m.test/v1"),
        ("https://u:canary@m.test/v1", "https://m.test/v1"),
        ("https://m.test/v1?key=canary&alt=sse&canary", "https://m.test/v1?key=***&alt=sse&***"),
        ("https://m.test?k=canary#canary", "https://m.test?k=***"),
        ("https://m.test/v1?api-version=2024-10-21", "https://m.test/v1?api-version=2024-10-21"),
        ("https://m.test/\r\n\x1b[2J", "https://m.test/ \\x1b[2J"),
    ],
)
def test_an_address_without_its_secrets(url: str, shown: str) -> None:
    """User information and fragment are gone, values of the query are masked."""
    assert safe_url(url) == shown


def test_headers_without_their_secrets() -> None:
    """Values of what is named like a credential or a cookie are masked, whatever they are; others by value."""
    names = ("Authorization", "x-api-key", "api-key", "x-goog-api-key", "Cookie", "Set-Cookie", "Proxy-Authorization")
    given_headers = [*((name, "canary") for name in names), ("x-a", "has canary2"), ("x-b", "plain")]
    shown = dict(safe_headers(given_headers, Secrets(["canary2"])))
    assert shown == dict.fromkeys(names, "***") | {"x-a": "has ***", "x-b": "plain"}


@pytest.mark.parametrize("name", ["password", "access_token", "apiKey", "API_KEY", "client_secret", "Authorization"])
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("value", ["canary", 'ca"nary', "canary\\", "canary\nx", ""])
def test_members_named_like_credentials_are_masked(name: str, depth: int, value: str) -> None:
    """S9: also in JSON inside of JSON, as arguments of tools are; the rest of the text stays as it was."""

    def nested(secret: str) -> str:
        text = json.dumps({"a": "kept", name: secret, "z": "also kept"})
        for _ in range(depth):
            text = json.dumps({"arguments": text})
        return text

    assert without_credentials(nested(value), Secrets()) == nested("***")


@pytest.mark.parametrize(
    "text", ['{"max_tokens": 5}', '{"tokens": 12}', '"password"', "password: x", '{"a": "password"}']
)
def test_what_is_no_credential_stays(text: str) -> None:
    """Numbers and mere words are not touched."""
    assert without_credentials(text, Secrets()) == text


def test_a_credential_cut_off_is_masked() -> None:
    """A text that ends inside of the value shows none of it."""
    assert without_credentials('{"password": "cana', Secrets()) == '{"password": "***'
