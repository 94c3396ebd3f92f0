"""The bean type ``mcp.server``: what is offered to MCP clients, as whom, and how it is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from agentforge.client import ChatClient
from agentforge.errors import ConfigurationError
from agentforge.plugin import (
    BeanContext,
    BeanSettings,
    BeanType,
    CheckContext,
    CheckedBean,
    Count,
    Field,
    Finding,
    Ref,
    Seconds,
    SecretStr,
    fits,
)
from agentforge.tool import ToolSource
from agentforge.tool.execution import ToolService
from agentforge_mcp.serve.agents import assistant_tool
from agentforge_mcp.serve.host import McpServer
from agentforge_mcp.serve.http_options import EVERYWHERE, HttpOptions, is_loopback

__all__ = ("SERVER_TYPE", "McpServerSettings", "check_server", "make_server")

_SHORTEST_TOKEN = 6


class McpServerSettings(BeanSettings):
    """What `mcp.server` takes: at least one of ``service``, ``tools`` and ``agents``."""

    service: Annotated[Any, Ref()] | None = None
    """A tool_service or chat_client whose tools are offered, with its gates, limits and error handlers."""
    tools: tuple[Annotated[ToolSource, Ref()], ...] = ()
    """Sources of tools to offer, AI services with tools among them; beside those of the service, through its gates."""
    agents: dict[str, Annotated[Any, Ref()]] = Field(default_factory=dict)
    """Assistants that are one tool each: names of tools, and the chat clients that answer."""
    agent_descriptions: dict[str, str] = Field(default_factory=dict)
    """What those tools are for, by their names: this is what a client's model chooses by."""
    agent_timeout: Seconds = 300.0
    """How long an assistant may take."""
    only: tuple[str, ...] = ()
    """Names of the tools to offer, with * and ? as wildcards; empty: all. A name that no tool has is an error at the
    start, a pattern that fits none is warned about."""
    except_: tuple[str, ...] = Field(default=(), alias="except")
    """Names of tools to leave out, with * and ? as wildcards; looked at in the same way."""
    name: str = "agentforge"
    """What the server calls itself."""
    version: str | None = None
    """Its version; unset: that of the framework."""
    instructions: str | None = None
    """What a client's model should know about these tools."""
    tenant: str | None = None
    """The tenant that every call is for; unset: that of the chat client."""
    roles: tuple[str, ...] | None = None
    """The roles that every call has; unset: those of the chat client."""
    tool_context: dict[str, Any] = Field(default_factory=dict)
    """Values for tools in every call, never sent to anybody."""
    max_concurrent_calls: Count = 32
    """How many calls run side by side; eight times as many wait, further ones are refused."""
    max_message_bytes: Count = 4 * 1024 * 1024
    """The largest message, or body of a request, that is read."""
    page_size: Count = 200
    """How many tools one page of the list holds."""
    watch_interval: Seconds = 5.0
    """How often sources whose tools may change are asked, so that clients can be told."""
    transport: Literal["stdio", "http"] = "stdio"
    """How agentforge mcp serve serves it, unless --stdio or --http says otherwise."""
    host: str = "127.0.0.1"
    """The address to listen on over HTTP."""
    port: int = Field(default=8765, ge=0, le=65535)
    """The port; 0: any that is free."""
    path: str = "/mcp"
    """The path."""
    token: SecretStr | None = None
    """The bearer token that every HTTP request must carry."""
    insecure_no_token: bool = False
    """Do without a token over HTTP: then every program and user of this machine may call. It counts on loopback
    addresses alone; with any other host a token is needed all the same."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names, NAME or NAME:PORT, by which it is reached over HTTP, such as that of a proxy in front."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of web pages that may use it, such as https://desk.example.com."""

    def model_post_init(self, context: object) -> None:
        """Something to offer, and nobody let in by mistake."""
        if self.service is None and not self.tools and not self.agents:
            raise ValueError("there is nothing to offer: give service, tools or agents")
        for name in self.agent_descriptions:
            if name not in self.agents:
                raise ValueError(f"agent_descriptions names {name!r}, which is none of agents")
        if self.token is not None and len(self.token.get_secret_value().strip()) < _SHORTEST_TOKEN:
            raise ValueError(f"the token is too short to keep anybody out: it needs {_SHORTEST_TOKEN} characters")
        if self.transport == "http" and self.token is None and not self.insecure_no_token:
            raise ValueError('a server over HTTP needs a token: token: "${secret:MCP_TOKEN}"')
        if self.insecure_no_token and not is_loopback(self.host):
            raise ValueError(f"insecure_no_token counts on loopback addresses alone, and host is {self.host!r}")
        if self.host in EVERYWHERE and not self.allowed_hosts:
            raise ValueError(f"with host {self.host!r}, allowed_hosts must say by which names the server is reached")


def make_server(settings: McpServerSettings, context: BeanContext) -> McpServer:
    """The server; it serves nothing until ``agentforge mcp serve`` or the program says so."""
    service = settings.service
    if service is not None and not isinstance(service, ToolService | ChatClient):
        raise _no_service(service)
    token = settings.token.get_secret_value().strip() if settings.token is not None else None
    if token:
        context.secrets.add(token)
    assistants = [
        assistant_tool(name, client, description=settings.agent_descriptions.get(name), timeout=settings.agent_timeout)
        for name, client in settings.agents.items()
    ]
    return McpServer(
        ToolService(secrets=context.secrets) if service is None else service,
        name=settings.name,
        transport=settings.transport,
        version=settings.version,
        instructions=settings.instructions,
        more=(*settings.tools, *assistants),
        only=settings.only,
        without=settings.except_,
        tenant=settings.tenant,
        roles=settings.roles,
        tool_context=settings.tool_context,
        max_concurrent_calls=settings.max_concurrent_calls,
        max_message_bytes=settings.max_message_bytes,
        page_size=settings.page_size,
        watch_interval=settings.watch_interval,
        http=HttpOptions(
            settings.host,
            settings.port,
            settings.path,
            token,
            settings.allowed_hosts,
            settings.allowed_origins,
            settings.insecure_no_token,
        ),
        owns_service=service is None,
    )


def check_server(settings: McpServerSettings, context: CheckContext) -> Iterator[Finding]:
    """Beans that have no tools to offer, and assistants that cannot be asked."""
    if settings.service is not None:
        yield from _other_than(context.bean(settings.service), "service", (ToolService, ChatClient))
    for name, client in settings.agents.items():
        yield from _other_than(context.bean(client), f"agents.{name}", (ChatClient,))


def _other_than(bean: CheckedBean | None, path: str, kinds: tuple[type, ...]) -> Iterator[Finding]:
    if bean is None or bean.provides is None or any(fits(bean.provides, kind) for kind in kinds):
        return
    step = "Name a bean of type chat_client." if len(kinds) == 1 else "Name a bean of type tool_service or chat_client."
    yield Finding(f"the bean '{bean.id}' is a {bean.provides.__name__}", path, step)


def _no_service(bean: object) -> ConfigurationError:
    return ConfigurationError(
        f"{type(bean).__name__} has no tools to serve", next_step="Name a bean of type tool_service or chat_client."
    )


SERVER_TYPE = BeanType(
    "mcp.server",
    McpServerSettings,
    make_server,
    McpServer,
    "Tools, and assistants, offered to MCP clients by agentforge mcp serve.",
    check=check_server,
)
