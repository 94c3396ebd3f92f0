"""Addresses and the proxies that lead to them."""

from __future__ import annotations

import re

import pytest

from agentforge.errors import ConfigurationError
from agentforge.http.address import Proxy, parse_address, parse_base_url, parse_proxy

OWN = Proxy("http://own.test:1")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without proxies."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "request_method"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://m.test/v1", "http://secure.test:1"),
        ("http://m.test/v1", "http://plain.test:2"),
        ("https://excepted.test/", None),
        ("https://sub.excepted.test/", None),
        ("http://localhost:8000/", None),
        ("http://api.localhost/", None),
        ("http://127.0.0.1/", None),
        ("http://127.8.9.1/", None),
        ("http://[::1]:8000/", None),
    ],
)
def test_the_environments_proxies(environment: pytest.MonkeyPatch, url: str, proxy: str | None) -> None:
    """S26: by scheme, without the exceptions, and never for this machine."""
    environment.setenv("https_proxy", "http://secure.test:1")
    environment.setenv("http_proxy", "plain.test:2")
    environment.setenv("no_proxy", "excepted.test")
    found = parse_address(url, proxy=None, trust_env=True).proxy
    assert (found and found.url) == proxy
    assert parse_address(url, proxy=None, trust_env=False).proxy is None
    assert parse_address(url, proxy=OWN, trust_env=True).proxy is OWN


def test_one_proxy_for_all(environment: pytest.MonkeyPatch) -> None:
    """``ALL_PROXY`` stands in where the scheme has none."""
    environment.setenv("all_proxy", "http://all.test:3")
    assert parse_address("https://m.test/", proxy=None, trust_env=True).proxy == Proxy("http://all.test:3")


@pytest.mark.parametrize(
    ("text", "url", "authorization"),
    [
        ("http://p.test:3128", "http://p.test:3128", None),
        ("p.test:3128", "http://p.test:3128", None),
        ("https://p.test", "https://p.test", None),
        ("http://user:p%40ss@p.test:1", "http://p.test:1", "Basic dXNlcjpwQHNz"),
        ("http://user@p.test:1", "http://p.test:1", "Basic dXNlcjo="),
    ],
)
def test_a_proxy(text: str, url: str, authorization: str | None) -> None:
    """Its credentials are taken out of the address, and out of what is shown."""
    proxy = parse_proxy(text)
    assert (proxy.url, proxy.authorization) == (url, authorization)
    assert repr(proxy) == f"Proxy({url!r})"


@pytest.mark.parametrize(
    "text", ["socks5://p.test:1", "http://", "http://:3128", "http://p.test:port", "http://p test"]
)
def test_a_proxy_that_is_none(text: str) -> None:
    """Refused, with what a proxy looks like."""
    with pytest.raises(ConfigurationError) as caught:
        parse_proxy(text)
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://m.test/v1?key=canary", "house_url of host 'm.test' holds a query"),
        ("https://m.test/v1#canary", "house_url of host 'm.test' holds a fragment"),
        ("https://u:canary@m.test/v1", "house_url of host 'm.test' holds credentials"),
        ("https://canary@m.test/v1", "house_url of host 'm.test' holds credentials"),
        ("https://m.test:canary/v1", "house_url is not valid"),
        ("https://m.test/v1 canary", "house_url is not valid"),
        ("u:canary@m.test/v1", "house_url is not an http or https address: 'm.test/v1'"),
        ("m.test/v1?canary", "house_url is not an http or https address"),
        ("ftp://m.test/v1", "house_url is not an http or https address: 'ftp://m.test/v1'"),
        ("https:///v1", "house_url is not an http or https address"),
    ],
)
def test_an_address_that_no_path_can_be_put_behind(url: str, message: str) -> None:
    """It is refused by the name of its setting, and nothing of what may be a key is shown."""
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        parse_base_url(url, "house_url")
    assert "canary" not in f"{caught.value} {caught.value.next_step} {caught.value.__cause__}"


@pytest.mark.parametrize("url", ["https://m.test/v1", "http://127.0.0.1:8000", "https://[::1]/a%2Fb/v1"])
def test_an_address_that_paths_are_put_behind(url: str) -> None:
    """As it was given, without the slash at its end."""
    assert [parse_base_url(url), parse_base_url(url + "/")] == [url, url]
