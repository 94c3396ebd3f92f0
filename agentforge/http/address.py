"""What a transport has to know of an address before the first request: is it one, and which proxy leads to it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from agentforge.errors import ConfigurationError
from agentforge.http.display import safe_url

__all__ = ("Address", "Proxy", "not_over_a_given", "parse_address", "parse_base_url", "parse_proxy")

_PROXY_STEP = "Give a proxy as http://host:port, with user:password@ before the host where it asks for them."


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy: its address without credentials, and the value of ``Proxy-Authorization`` where it needs one."""

    url: str
    authorization: str | None = None

    def __repr__(self) -> str:
        return f"Proxy({self.url!r})"


@dataclass(frozen=True, slots=True)
class Address:
    """A checked address: ``secure`` for HTTPS, ``proxy`` where one leads to it."""

    url: str
    host: str
    secure: bool
    proxy: Proxy | None


def parse_proxy(text: str) -> Proxy:
    """A proxy's address with its credentials apart. Raises `ConfigurationError`, which never shows them.

    >>> parse_proxy("proxy.test:3128").url
    'http://proxy.test:3128'
    """
    parts = _split(text if "://" in text else f"http://{text}", "the address of the proxy")
    if parts.scheme not in ("http", "https"):
        raise ConfigurationError(f"a proxy of the kind {parts.scheme!r} is not supported", next_step=_PROXY_STEP)
    if not parts.hostname:
        raise ConfigurationError("the address of the proxy names no host", next_step=_PROXY_STEP)
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    return Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", authorization)


def parse_base_url(url: str, name: str = "base_url") -> str:
    """The address that paths are put behind, without a slash at its end; ``name`` is the setting that holds it.

    Raises `ConfigurationError` for anything but an absolute HTTP or HTTPS address without user information, query and
    fragment: a path behind those would be no path, and they tend to hold keys, which are never shown.

    >>> parse_base_url("https://model.test/v1/")
    'https://model.test/v1'
    """
    parts = _split(url, name)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"{name} is not an http or https address: {safe_url(url)!r}",
            next_step="Give one such as https://host/v1.",
        )
    if parts.username is not None or "?" in url or "#" in url:
        held = "credentials" if parts.username is not None else "a query" if "?" in url else "a fragment"
        raise ConfigurationError(
            f"{name} of host {parts.hostname!r} holds {held}",
            next_step="Give the address alone, and credentials as the API key or as a header.",
        )
    return url.rstrip("/")


def parse_address(url: str, *, proxy: Proxy | None, trust_env: bool) -> Address:
    """Check an address and find its proxy: the given one, else the environment's, which never leads to this machine.

    Raises `ConfigurationError` for anything but an absolute HTTP or HTTPS address without user information.
    """
    parts = _split(url, "the address of the request")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"{safe_url(url)!r} is not an absolute http or https address",
            next_step="Check base_url: it starts with https:// (or http:// for a server of your own).",
        )
    if parts.username is not None:
        raise ConfigurationError(
            f"the address of {parts.hostname!r} holds user information",
            next_step="Give credentials as a header, never in the address.",
        )
    if proxy is None and trust_env and not _is_loopback(parts.hostname):
        proxy = _environment_proxy(parts)
    return Address(url, parts.hostname, parts.scheme == "https", proxy)


def not_over_a_given(what: str) -> ConfigurationError:
    """The error for a request whose address is fixed, over what connects where it likes."""
    return ConfigurationError(
        f"a given {what} looks up hosts itself, so that connect_to cannot be kept",
        next_step="Use a transport of the framework's own for requests whose address was checked.",
    )


def _split(url: str, what: str) -> SplitResult:
    try:
        if any(ord(character) <= 32 or ord(character) == 127 for character in url):
            raise ValueError
        parts = urlsplit(url)
        _ = parts.port  # parsed when read: this finds a port that is none
    except ValueError:
        # The cause would show the address, and with it what may be a secret.
        raise ConfigurationError(
            f"{what} is not valid", next_step="Check its host and port, and that it holds no blanks."
        ) from None
    return parts


def _environment_proxy(parts: SplitResult) -> Proxy | None:
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    host = parts.hostname or ""
    if not found or proxy_bypass(host) or proxy_bypass(parts.netloc):
        return None
    return parse_proxy(found)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
