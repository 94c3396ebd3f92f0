"""fastmcp's server over streamable HTTP, as a program that writes its port; with ``--stdio`` over stdio."""

from __future__ import annotations

import socket
import sys

from fastmcp import FastMCP

server = FastMCP("fast", version="9")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
def boom() -> str:
    """Always fails."""
    raise ValueError("no luck")


@server.resource("memo://today")
def memo() -> str:
    """A memo."""
    return "buy milk"


@server.prompt
def greet(name: str) -> str:
    """Greets."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    if "--stdio" in sys.argv:
        server.run(show_banner=False)
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        print(port, flush=True)
        server.run(transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="error")
