"""Settings of HTTP as models take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.http import HttpTimeouts, HttpTransport

__all__ = ("timeouts_of", "transport_options")


def timeouts_of(given: HttpTimeouts | float | None) -> HttpTimeouts:
    """The timeouts; a number bounds the whole exchange. Raises `ConfigurationError`."""
    if isinstance(given, HttpTimeouts):
        return given
    if given is None:
        return HttpTimeouts()
    if not isinstance(given, (int, float)) or not given > 0:
        raise ConfigurationError("timeouts must be above 0 seconds", next_step="Give seconds, or an HttpTimeouts.")
    return HttpTimeouts(connect=min(10.0, given), read=given, write=given, pool=given, total=given)


def transport_options(
    transport: str | HttpTransport | Callable[[], HttpTransport], **settings: object
) -> dict[str, Any]:
    """What was set, for the transport that is made by name. Raises `ConfigurationError`."""
    options = {name: value for name, value in settings.items() if value is not None}
    if not isinstance(transport, str):
        options.pop("max_body_bytes", None)
    if options and not isinstance(transport, str):
        raise ConfigurationError(
            f"{', '.join(options)} cannot be set beside a transport of your own",
            next_step="Set it on the transport.",
        )
    if "client" in options and (transport != "httpx" or options.keys() - {"client", "max_body_bytes"}):
        raise ConfigurationError(
            "http_client is used as it is: it goes with transport 'httpx' and without settings of connections",
            next_step="Set these on the client.",
        )
    return options
