"""An MCP server of the protocol's earlier time without any library, so that it starts at once.

    python plain_server.py [changed]

With ``changed`` its tool ``echo`` says something else of itself, and there is one more.
"""

from __future__ import annotations

import json
import sys
from typing import Any

CHANGED = "changed" in sys.argv
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Say it again, and tell everybody." if CHANGED else "Say it again.",
        "inputSchema": TEXT,
        "annotations": {"readOnlyHint": True},
    },
    {"name": "fail", "description": "Fail.", "inputSchema": {"type": "object"}},
    {"name": "broken", "description": "No schema at all.", "inputSchema": {"type": "no type"}},
    *([{"name": "late", "inputSchema": {"type": "object"}}] if CHANGED else []),
]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a tool gives."""
    text = arguments["text"] if name == "echo" else "it went wrong"
    content = [{"type": "text", "text": text}]
    if name == "echo" and text == "picture":
        content.append({"type": "image", "data": "cG5n", "mimeType": "image/png"})
    return {"content": content, "isError": name == "fail"}


def answer(method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; ``None`` for one that is not known."""
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "plain", "version": "3.1"},
                "instructions": "Ask for little.",
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return call(parameters["name"], parameters.get("arguments", {}))
        case "resources/list":
            return {"resources": [{"uri": "file:///notes.txt", "name": "notes", "description": "What was noted."}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "prompts/list":
            return {"prompts": [{"name": "greet", "description": "A greeting.", "arguments": [{"name": "who"}]}]}
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {})
            reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
            reply |= {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
            print(json.dumps(reply), flush=True)
