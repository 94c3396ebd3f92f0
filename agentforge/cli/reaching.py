"""Whether the addresses that beans call answer at all: one HEAD request each, without keys."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agentforge.cli.finding import Finding
from agentforge.errors import AgentForgeError

__all__ = ("reached",)

_SECONDS = 5.0


def reached(addresses: Mapping[str, str]) -> list[Finding]:
    """A finding for each address, by the place that names it; any answer is one, whatever its status."""
    return asyncio.run(_all(addresses))


async def _all(addresses: Mapping[str, str]) -> list[Finding]:
    from agentforge.http import make_transport

    transport = make_transport("httpx")
    try:
        return await asyncio.gather(*(_try(transport, address, where) for address, where in addresses.items()))
    finally:
        await transport.aclose()


async def _try(transport: object, address: str, where: str) -> Finding:
    from agentforge.http import HttpRequest, HttpTimeouts, HttpTransport

    assert isinstance(transport, HttpTransport)
    timeouts = HttpTimeouts(_SECONDS, _SECONDS, _SECONDS, _SECONDS, 2 * _SECONDS)
    try:
        async with asyncio.timeout(2 * _SECONDS):
            answer = await transport.send(HttpRequest("HEAD", address, (), b"", timeouts))
    except (AgentForgeError, TimeoutError) as error:
        words = error.message if isinstance(error, AgentForgeError) else "no answer in time"
        step = getattr(error, "next_step", None) or "Check the address, the network, the proxy and the certificates."
        return Finding("fault", "endpoint-unreachable", f"{address}: {words}", where, step)
    return Finding("ok", "endpoint", f"{address} answers (status {answer.status})", where)
