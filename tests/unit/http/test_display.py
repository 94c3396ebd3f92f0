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
        ("u:canary@m.test/v1", "m.test/v1"),
        ("https://m.test/\r\n\x1b[2J", "https://m.test/ \\x1b[2J"),
    ],
)
def test_an_address_without_its_secrets(url: str, shown: str) -> None:
    """User information and fragment are gone, values of the query are masked."""
    assert safe_url(url) == shown


def test_headers_without_their_secrets() -> None:
    """Values of what is named like a credential or a cookie are masked, whatever they are; others by value."""
    words = "Authorization x-api-key api-key x-goog-api-key Cookie Set-Cookie Proxy-Authorization X-Signature"
    names = [*words.split(), "X-Amz-Credential", "X-Session-Id", "X-Password"]
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
    "value",
    [
        ["canary"],
        {"value": "canary"},
        [{"v": ["canary", 'a"]}'], "}": "\\"}, "canary"],
        {"a": json.dumps({"b": '"canary]}'})},
        [],
        1234,
        -1.5e9,
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["password", "secrets", "accessTokens", "credentials"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_credential_that_is_no_text_is_masked_whole(value: object, name: str, depth: int) -> None:
    """S9: lists, objects and numbers too, whatever brackets and quotes are in them; what follows stays."""

    def nested(text: str) -> str:
        for _ in range(depth):
            text = json.dumps({"arguments": text})
        return text

    text = nested(json.dumps({"a": "kept", name: value, "z": ["also kept"]}))
    if name == "accessTokens" and isinstance(value, int | float):
        assert without_credentials(text, Secrets()) == text
    else:
        shown = nested('{"a": "kept", "%s": ***, "z": ["also kept"]}' % name)  # noqa: UP031  (braces)
        assert without_credentials(text, Secrets()) == shown


@given(
    st.recursive(st.none() | st.text(alphabet='"\\\\[]{}:, p', max_size=9), lambda inner: st.lists(inner, max_size=3))
)
def test_no_value_escapes_the_masking(value: object) -> None:
    """Whatever quotes, brackets and backslashes a value holds, it ends where it ends."""
    text = json.dumps({"password": [value], "z": "kept"})
    assert without_credentials(text, Secrets()) == '{"password": ***, "z": "kept"}'


@pytest.mark.parametrize(
    "text",
    [
        '{"max_tokens": 5}',
        '{"tokens": 12}',
        '{"prompt_tokens_details": {"cached_tokens": 5}}',
        '{"password": null}',
        '"password"',
        "password: x",
        '{"a": "password"}',
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    """Numbers and mere words are not touched."""
    assert without_credentials(text, Secrets()) == text


def test_a_credential_cut_off_is_masked() -> None:
    """A text that ends inside of the value shows none of it."""
    assert without_credentials('{"password": "cana', Secrets()) == '{"password": "***'
