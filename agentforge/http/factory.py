"""Transports by name, as a configuration file names them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.http.httpx_transport import HttpxTransport
from agentforge.http.transport import HttpTransport

__all__ = ("TRANSPORTS", "check_transport", "make_transport")

#: The names that ``transport`` may have in a configuration.
TRANSPORTS: tuple[str, ...] = ("httpx", "aiohttp")


def make_transport(name: str, **options: Any) -> HttpTransport:
    """The transport of this name: ``"httpx"``, or ``"aiohttp"`` (extra ``fast``).

    Options are those of `HttpxTransport` and `agentforge.http.AiohttpTransport`. Raises `ConfigurationError` for an
    unknown name or option, and when the library is not installed.
    """
    check_transport(name, options)
    return _kind(name)(**options)


def check_transport(name: str, options: Mapping[str, object]) -> None:
    """Find what `make_transport` would refuse, without importing or building anything."""
    if name not in TRANSPORTS:
        raise ConfigurationError(
            f"there is no HTTP transport {name!r}", next_step=_suggest(name, TRANSPORTS, "transports")
        )
    known = tuple(inspect.signature(_kind(name)).parameters)
    for option in options:
        if option not in known:
            raise ConfigurationError(
                f"the HTTP transport {name!r} has no option {option!r}",
                next_step=_suggest(option, known, "options"),
            )
    if name == "aiohttp" and find_spec("aiohttp") is None:
        _kind(name)()  # raises, with what to install


def _kind(name: str) -> Callable[..., HttpTransport]:
    if name == "httpx":
        return HttpxTransport
    from agentforge.http.aiohttp_transport import AiohttpTransport

    return AiohttpTransport


def _suggest(given: str, known: tuple[str, ...], what: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(given, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"The {what} are: {', '.join(known)}."
