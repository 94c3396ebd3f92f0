"""How a server of ours is reached over HTTP, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address

from agentforge.errors import ConfigurationError

__all__ = ("EVERYWHERE", "HttpOptions", "check_http", "is_loopback")

#: Hosts that stand for every address of the machine.
EVERYWHERE = ("0.0.0.0", "::", "")


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
    """Whether only programs of the same machine reach a server there.

    >>> is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("127.example.com")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False  # a name, which may lead anywhere


def check_http(options: HttpOptions, *, setting: str | None = None, location: str | None = None) -> None:
    """Raise `ConfigurationError` where there is no token and that is not meant so, or not allowed, and where no request
    could name the server.

    ``setting`` is the whole path of the token's setting where a file has it, ``location`` the server's place there.
    """
    if options.token or (options.insecure_no_token and is_loopback(options.host)):
        if options.host in EVERYWHERE and not options.allowed_hosts:
            raise ConfigurationError(
                f"with host {options.host!r}, allowed_hosts must say by which names the server is reached",
                location=location,
                next_step="Set allowed_hosts: [desk.example.com] on the mcp.server bean.",
            )
        return
    if options.insecure_no_token:
        why = f": insecure_no_token counts on loopback addresses alone, and the host is {options.host!r}"
    else:
        why = ", else everybody who reaches the port can call the tools"
    raise ConfigurationError(
        f"a server over HTTP needs a token{why}",
        location=location,
        next_step=f'Set {setting or "token, on a bean of type mcp.server,"} to "${{secret:MCP_TOKEN}}".',
    )
