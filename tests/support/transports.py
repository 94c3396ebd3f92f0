"""Transports of every kind for the contract tests: ours, and over a client or session that the caller brings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentforge.http import (
    AiohttpTransport,
    HttpRequest,
    HttpTimeouts,
    HttpTransport,
    HttpxTransport,
    make_transport,
)
from tests.support.loopback import Loopback

__all__ = ("ALL", "FULL", "OURS", "PATIENT", "every", "opened", "post", "with_options", "words")

OURS = ("httpx", "aiohttp")
ALL = (*OURS, "httpx with a client", "aiohttp with a session")

every = pytest.mark.parametrize("kind", ALL)
with_options = pytest.mark.parametrize("kind", OURS)


@asynccontextmanager
async def opened(kind: str, **options: Any) -> AsyncIterator[HttpTransport]:
    """A transport of this kind, closed at the end; what the caller brought is open until then."""
    name, _, given = kind.partition(" ")
    if not given:
        transport = make_transport(name, **options)
        try:
            yield transport
        finally:
            await transport.aclose()
    elif name == "httpx":
        import httpx

        async with httpx.AsyncClient() as client:
            transport = HttpxTransport(client=client, **options)
            yield transport
            await transport.aclose()
            assert not client.is_closed
    else:
        import aiohttp

        async with aiohttp.ClientSession() as session:
            transport = AiohttpTransport(session=session, **options)
            yield transport
            await transport.aclose()
            assert not session.closed


PATIENT = HttpTimeouts(connect=20.0, read=20.0, write=20.0, pool=20.0)


def post(
    server: Loopback, content: bytes = b'{"q": 1}', timeouts: HttpTimeouts = PATIENT, **changes: Any
) -> HttpRequest:
    headers = ((b"authorization", b"Bearer canary-key"), (b"content-type", b"application/json"))
    return replace(HttpRequest("POST", server.url(), headers, content, timeouts), **changes)


def words(error: BaseException) -> str:
    """All that an error and everything behind it says."""
    seen: list[str] = []
    last: BaseException | None = error
    while last is not None:
        seen.append(f"{last!r} {last}")
        last = last.__cause__ or last.__context__
    return " ".join(seen)


#: The head of an answer of ten bytes.
FULL = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
