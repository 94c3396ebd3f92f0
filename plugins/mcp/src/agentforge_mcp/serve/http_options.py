"""How a server of ours is reached over HTTP, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ("LOOPBACK", "HttpOptions", "is_loopback")

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """The address (``port`` 0: any that is free) and who may use it.

    A request must carry ``token`` as a bearer token, name a host in its ``Host`` header that is the address's own or
    one of ``allowed_hosts`` (``NAME`` or ``NAME:PORT``), and, where it comes from a page of a browser, name an origin
    of ``allowed_origins``. ``insecure_no_token`` does without a token, on loopback alone.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    path: str = "/mcp"
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    insecure_no_token: bool = False


def is_loopback(host: str) -> bool:
    """Whether only programs of the same machine reach a server there."""
    return host in LOOPBACK or host.startswith("127.")
