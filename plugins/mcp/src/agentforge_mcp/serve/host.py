"""A server of our tools: what it offers, and the ways to reach it. Nothing runs until it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from agentforge.client import ChatClient
from agentforge.tool import BoundTool, ToolSource
from agentforge.tool.execution import ToolService
from agentforge_mcp.serve.http_options import HttpOptions, check_http
from agentforge_mcp.serve.offer import ServedTools

__all__ = ("McpServer",)


class McpServer:
    """Offers the tools of ``service`` (a chat client's are those of its service) to MCP clients.

    ``more`` are further tools, such as assistants, and sources of tools. ``tenant``, ``roles`` and ``tool_context`` are
    those of every call; ``None`` takes those of the chat client. ``only`` and ``without`` are patterns of tool names;
    one without wildcards that no tool has is an error at the start.
    ``http`` says how it is reached over HTTP, ``transport`` which way the program takes. With ``owns_service`` the
    service is closed with it.
    """

    def __init__(
        self,
        service: ToolService | ChatClient,
        *,
        name: str = "agentforge",
        transport: Literal["stdio", "http"] = "stdio",
        version: str | None = None,
        instructions: str | None = None,
        more: Iterable[BoundTool | ToolSource] = (),
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        tenant: str | None = None,
        roles: Iterable[str] | None = None,
        tool_context: Mapping[str, object] | None = None,
        max_concurrent_calls: int = 32,
        max_message_bytes: int = 4 * 1024 * 1024,
        page_size: int = 200,
        watch_interval: float = 5.0,
        http: HttpOptions | None = None,
        owns_service: bool = False,
    ) -> None:
        client = service if isinstance(service, ChatClient) else None
        self.name = name
        self.transport = transport
        self.instructions = instructions
        self.http = http or HttpOptions()
        self._version = version
        self._service = service.service if isinstance(service, ChatClient) else service
        self._offer = partial(
            ServedTools,
            self._service,
            client=client,
            only=only,
            without=without,
            tenant=tenant,
            roles=roles,
            tool_context=tool_context,
            max_concurrent_calls=max_concurrent_calls,
        )
        self._more = tuple(more)
        self._max_bytes = max_message_bytes
        self._page_size = page_size
        self._interval = watch_interval
        self._owns_service = owns_service

    @property
    def version(self) -> str:
        """What is said of the server's version: that of the framework, unless given."""
        if self._version is not None:
            return self._version
        from importlib.metadata import version

        return version("agentforge-kit")

    def add(self, *tools: BoundTool | ToolSource) -> None:
        """Offer further tools, such as assistants; before it serves."""
        self._more = (*self._more, *tools)

    def served(self) -> ServedTools:
        """What is offered, without a way to reach it."""
        return self._offer(more=self._more)

    async def serve_stdio(self, wire: Any = None) -> None:
        """Serve one client over standard input and output, until it closes them.

        ``wire`` is a `agentforge_mcp.serve.wire.StdioWire` that is open already.
        """
        from agentforge_mcp.serve.stdio import serve_stdio

        await serve_stdio(self.protocol(), max_bytes=self._max_bytes, wire=wire)

    async def serve_http(self, *, ready: Callable[[str], None] | None = None, protocol: Any = None) -> None:
        """Serve over streamable HTTP until cancelled; ``ready`` is told the address once it can be reached.

        ``protocol`` is what `protocol` gave, for who wants to look at it meanwhile. Raises `ConfigurationError` without
        a token (see `HttpOptions`), and for an address that cannot be had.
        """
        check_http(self.http)
        from agentforge_mcp.serve.http import serve_http

        await serve_http(protocol or self.protocol(), self.http, max_bytes=self._max_bytes, ready=ready)

    def protocol(self) -> Any:
        """The protocol's side of it, for a transport of one's own: `agentforge_mcp.serve.protocol.ToolProtocol`."""
        from agentforge_mcp.serve.protocol import ToolProtocol

        return ToolProtocol(
            self.served(),
            name=self.name,
            version=self.version,
            instructions=self.instructions,
            page_size=self._page_size,
            watch_interval=self._interval,
        )

    def close(self) -> None:
        """Close the service, where it is the server's own."""
        if self._owns_service:
            self._service.close()

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"
