"""Serving over streamable HTTP. Loads the SDK and a web server."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Iterator

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from agentforge.errors import ConfigurationError
from agentforge_mcp.serve.guard import Guard
from agentforge_mcp.serve.http_options import HttpOptions
from agentforge_mcp.serve.protocol import ToolProtocol

__all__ = ("serve_http",)

_MOST_SESSIONS = 1_000
_MOST_CONNECTIONS = 1_000
_GRACE = 1
_OTHER_PORT = "Choose another port with --port, or 0 for any that is free."
_OTHER_HOST = "Give an address of this machine with --host, such as 127.0.0.1."


async def serve_http(
    protocol: ToolProtocol,
    options: HttpOptions,
    *,
    max_bytes: int,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until cancelled. Raises `ConfigurationError` for an address that cannot be had, and what goes wrong with
    the first listing of the tools."""
    with contextlib.closing(_listen(options)) as listening:
        await _serve(protocol, options, listening, max_bytes, ready)


async def _serve(
    protocol: ToolProtocol,
    options: HttpOptions,
    listening: socket.socket,
    max_bytes: int,
    ready: Callable[[str], None] | None,
) -> None:
    port: int = listening.getsockname()[1]
    manager = StreamableHTTPSessionManager(
        protocol.server, max_request_body_size=max_bytes, max_sessions=_MOST_SESSIONS
    )
    config = uvicorn.Config(
        Guard(manager.handle_request, options, port),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
    )
    web = _Server(config)
    # In this order: what is raised within the manager's would come out in a group.
    async with protocol, manager.run():
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        try:
            starting = asyncio.create_task(web.up.wait())
            await asyncio.wait([serving, starting], return_when=asyncio.FIRST_COMPLETED)
            starting.cancel()
            if ready is not None and web.up.is_set():
                host = f"[{options.host}]" if ":" in options.host else options.host
                ready(f"http://{host}:{port}/{options.path.strip('/')}")
            await asyncio.shield(serving)
        finally:
            web.should_exit = True
            await protocol.end()  # so that no stream is waited for
            await asyncio.wait([serving])


class _Server(uvicorn.Server):
    """Leaves signals to the program, and says when it can be reached."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing to capture."""
        yield


def _listen(options: HttpOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((options.host, options.port))
    except (OSError, UnicodeError) as error:
        made.close()
        why = getattr(error, "strerror", None) or error
        is_host = not isinstance(error, OSError) or isinstance(error, socket.gaierror)
        raise ConfigurationError(
            f"the server cannot listen on {options.host} port {options.port}: {why}",
            next_step=_OTHER_HOST if is_host or getattr(error, "errno", None) == errno.EADDRNOTAVAIL else _OTHER_PORT,
        ) from None
    made.setblocking(False)
    return made
