"""``agentforge mcp serve``: the configured tools as an MCP server, until the client or a signal ends it."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from agentforge.cli import Console, Parser, UsageError, beans_of, compiled, count, near_miss, one_bean, run_in_order
from agentforge.errors import ConfigurationError
from agentforge_mcp.serve.http_options import check_http
from agentforge_mcp.serve.wire import StdioWire

if TYPE_CHECKING:
    from agentforge.container import AgentForge
    from agentforge.tool import BoundTool, ToolSource
    from agentforge_mcp.serve import McpServer

__all__ = ("arguments", "run")

_WHAT = "server, tool service or chat client"
_ASSISTANT = "chat client or AI service"
_AI_SERVICE = "ai_service"


def arguments(parser: Parser) -> None:
    """The way, the bean, assistants, and the address for HTTP."""
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--stdio", action="store_true", help="over standard input and output (default, unless the bean says)"
    )
    way.add_argument("--http", action="store_true", help="over streamable HTTP")
    parser.add_argument(
        "--bean", metavar="NAME", help="the mcp.server, tool service or chat client whose tools are served"
    )
    parser.add_argument(
        "--agent",
        metavar="NAME",
        action="append",
        help="a chat client to offer as one tool, or an AI service with its tools; repeatable",
    )
    parser.add_argument("--host", metavar="HOST", help="the address to listen on (default: the bean's, else 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", type=_port, help="the port; 0: any that is free")


def run(options: argparse.Namespace, console: Console) -> int:
    """Serve. Standard output carries nothing but the protocol; all else goes to standard error."""
    # Taken before anything of the user's is imported, as that may print.
    wire = None if options.http else StdioWire()
    try:
        run_in_order(_serve(options, console, wire))
    finally:
        if wire is not None:
            wire.restore()
    return 0


async def _serve(options: argparse.Namespace, console: Console, wire: StdioWire | None) -> None:
    async with compiled(options, console) as app:
        server, setting, location = await _server(app, options)
        over_http = options.http or (server.transport == "http" and not options.stdio)
        if not over_http:
            if options.host is not None or options.port is not None:
                raise UsageError(
                    "agentforge mcp serve: --host and --port are for HTTP", next_step="Add --http, or leave them out."
                )
            if wire is not None and os.isatty(wire.input):
                console.say("waiting for an MCP client on standard input; Ctrl-C ends it")
            await server.serve_stdio(wire)
            return
        host = server.http.host if options.host is None else options.host
        server.http = replace(server.http, host=host, port=server.http.port if options.port is None else options.port)
        check_http(server.http, setting=setting, location=location)
        protocol = server.protocol()

        def ready(url: str) -> None:
            console.say(f"serving {count(protocol.offered, 'tool')} at {url}")

        await server.serve_http(ready=ready, protocol=protocol)


async def _server(app: AgentForge, options: argparse.Namespace) -> tuple[McpServer, str | None, str | None]:
    """The declared server, or one made for a service or assistants; its token's setting, and where it stands.

    Raises `ConfigurationError` where it is not clear which.
    """
    from agentforge.client import ChatClient
    from agentforge.tool.execution import ToolService
    from agentforge_mcp.serve import McpServer
    from agentforge_mcp.serve.agents import assistant_tool

    declared = beans_of(app, McpServer)
    assistants: list[BoundTool | ToolSource] = []
    for name in options.agent or ():
        agent = await app.resolve(_assistant(app, name))
        assistants.append(assistant_tool(name, agent) if isinstance(agent, ChatClient) else agent)
    if options.bean is None and not declared and assistants:
        return McpServer(ToolService(secrets=app.plan.secrets), more=assistants, owns_service=True), None, None
    kinds = (McpServer,) if options.bean is None and declared else (McpServer, ToolService, ChatClient)
    if options.bean is None and not beans_of(app, *kinds):
        raise ConfigurationError(
            f"the configuration has no {_WHAT}",
            next_step="Add a bean of type mcp.server, tool_service or chat_client with tools.",
        )
    id_ = one_bean(app, options.bean, _WHAT, *kinds)
    bean = await app.resolve(id_)
    server = bean if isinstance(bean, McpServer) else McpServer(bean)
    server.add(*assistants)
    setting = f"beans.{id_}.token" if server is bean else None
    return server, setting, str(app.plan.beans[id_].mark)


def _assistant(app: AgentForge, wanted: str) -> str:
    """The chat client, or AI service with tools, of this name. Raises `ConfigurationError` that lists what there is."""
    from agentforge.client import ChatClient
    from agentforge.tool import ToolSource

    clients = beans_of(app, ChatClient)
    services = {id_ for id_, bean in beans_of(app, ToolSource).items() if bean.type_name == _AI_SERVICE}
    fitting = [id_ for id_ in app.plan.declared if id_ in clients or id_ in services]
    found = app.plan.id_of(wanted)
    if found is not None and found in fitting:
        return found
    listed = f"There is {', '.join(fitting) or 'none'}."
    if found is None:
        raise ConfigurationError(f"there is no bean {wanted!r}", next_step=near_miss(wanted, fitting) or listed)
    bean = app.plan.beans[found]
    why = f"is no {_ASSISTANT}: its type is {bean.type_name}"
    if bean.type_name == _AI_SERVICE:
        why = "is an AI service of which no method is a tool"
        listed = f"Mark a method with @tool. {listed}"
    raise ConfigurationError(f"the bean {wanted!r} {why}", location=str(bean.mark), next_step=listed)


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return port
