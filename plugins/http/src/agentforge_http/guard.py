"""Which addresses may be called (threat S7): hosts that a trusted file names as they stand, all others only if public.

A host from a fetched document or a redirect is resolved here, each of its addresses is checked, and the one that was
checked is the one that is connected to, so that a name server cannot answer twice.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from agentforge.errors import ConfigurationError, ToolExecutionError

__all__ = ("AddressGuard", "HostList", "Resolver", "is_public")

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host and a port to the IP addresses of it, as texts."""

_Address = IPv4Address | IPv6Address
_LOOKUP = 10.0  # seconds for the name server
_NUMERIC = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PATTERN = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
#: Everything that is not the public Internet, by IANA's registries; what cloud platforms answer on beside them; and
#: those that carry another address inside, which some translator on the way would unpack.
_REFUSED: tuple[IPv4Network | IPv6Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/8",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public Internet.

    >>> [is_public(text) for text in ("93.184.215.14", "169.254.169.254", "::ffff:127.0.0.1", "2606:2800::1")]
    [True, False, False, True]
    """
    found = ip_address(address)
    return found.is_global and not any(found.version == net.version and found in net for net in _REFUSED)


class HostList:
    """Hosts, ``*.suffix`` patterns and networks that may be called although they are not public.

    Raises `ConfigurationError` for an entry that is none of these, and for one that fits every host.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: list[str] = []
        self._networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            text = entry.strip().lower().rstrip(".")
            try:
                network = ip_network(text)
            except ValueError:
                if not _PATTERN.fullmatch(text) or _is_numeric(text):
                    raise ConfigurationError(
                        f"{entry!r} in allow_hosts is no host, *.suffix or network",
                        next_step="Give such as api.corp.example, *.corp.example or 10.1.0.0/16.",
                    ) from None
                self._names.append(text)
                continue
            if network.prefixlen == 0:
                raise ConfigurationError(
                    f"{entry!r} in allow_hosts is every address there is", next_step="Name the networks that are meant."
                )
            self._networks.append(network)

    def has_name(self, host: str) -> bool:
        """Whether the host is named; a pattern fits all below the suffix and not the suffix itself."""
        return any(host == name or (name.startswith("*.") and host.endswith(name[1:])) for name in self._names)

    def has_address(self, address: str) -> bool:
        """Whether the address is in one of the networks."""
        found = ip_address(address)
        return any(found.version == net.version and found in net for net in self._networks)


async def _resolve(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


class AddressGuard:
    """Checks an address before each request. ``allow`` are the exceptions, ``resolver`` looks up hosts (for tests)."""

    def __init__(self, allow: HostList | None = None, resolver: Resolver = _resolve) -> None:
        self._allow = allow if allow is not None else HostList()
        self._resolver = resolver

    async def check(self, url: str, *, trusted: bool) -> str | None:
        """The IP address to connect to; ``None``: the host as it stands, which a trusted file named or allows.

        Raises `ToolExecutionError`, before anything is sent, for anything that may not be called.
        """
        parts = _parsed(url)
        if trusted:
            return None
        host = _host(parts)
        if self._allow.has_name(host):
            return None
        literal = _literal(host)
        if literal is not None:
            addresses: Sequence[str] = [str(literal)]
        else:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            try:
                async with asyncio.timeout(_LOOKUP):
                    addresses = await self._resolver(host, port)
            except TimeoutError:
                raise ToolExecutionError(
                    f"no name server said within {_LOOKUP:g} s where the host {host!r} is",
                    next_step="Try again; or check the network of this machine.",
                ) from None
            except (OSError, UnicodeError):
                addresses = ()
            if not addresses:
                raise ToolExecutionError(f"there is no host {host!r}", next_step="Check the address of the API.")
        for address in addresses:
            plain = address.partition("%")[0]
            if not is_public(plain) and not self._allow.has_address(plain):
                raise _refused(
                    f"the host {host!r} is not on the public Internet",
                    "If it is meant to be called, write its address as base_url in the configuration, or name it in "
                    "allow_hosts.",
                )
        return addresses[0]


def _parsed(url: str) -> SplitResult:
    bad = any(ord(each) <= 32 or ord(each) == 127 or each in "\\" for each in url)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        bad = True
    if bad:
        raise _refused("the address is not valid", "Check its host and port.")
    if parts.scheme not in ("http", "https"):
        raise _refused(f"an address of the kind {parts.scheme[:20]!r} is never called", "Only http and https are.")
    if not parts.hostname:
        raise _refused("the address names no host", "Write it as https://host/path.")
    if "@" in parts.netloc:
        raise _refused("the address holds user information", "Give credentials as auth.")
    return parts


def _host(parts: SplitResult) -> str:
    """The host in lower case, without a dot at its end. Raises for one that is written to look like another."""
    host = (parts.hostname or "").removesuffix(".")
    if ":" in host:  # IPv6, which urlsplit has taken out of its brackets
        if "%" in host:
            raise _refused("the address names a network interface", "Only public addresses are called.")
        return host
    if not host.isascii() or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise _refused("the host is no plain name", "International names are written in their ASCII form (xn--).")
    return host


def _is_numeric(host: str) -> bool:
    """Whether resolvers would read it as a number: by its last label, as the URL standard says."""
    return _NUMERIC.fullmatch(host.rpartition(".")[2]) is not None


def _literal(host: str) -> _Address | None:
    """The IP address that the host is. Raises for one in a form that hides it: decimal, octal, hexadecimal, short."""
    try:
        return ip_address(host)
    except ValueError:
        if _is_numeric(host) or ":" in host:
            raise _refused(
                "the host is a number that is no plain IP address", "Write it as four numbers with dots."
            ) from None
        return None


def _refused(why: str, step: str) -> ToolExecutionError:
    return ToolExecutionError(f"the address may not be called: {why}", next_step=step)
