"""What `conformance_client.py` does for a scenario, and the service that does it for many of those programs.

Every tool is called the way that a model's call goes, with the arguments that the suite dictates, or made from its
schema; resources and prompts are read. What a server answers is the suite's affair: it watches the wire.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentforge.errors import AgentForgeError
from agentforge.tool.execution import ToolService
from agentforge_mcp.connection import McpConnection
from agentforge_mcp.options import ElicitationRequest, HttpServer, McpOptions
from agentforge_mcp.serve.offer import ServedTools
from agentforge_mcp.source import McpTools

_SAMPLES: Mapping[str, object] = {
    "string": "x",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def accept(asked: ElicitationRequest) -> Mapping[str, Any]:
    """Every question is accepted: with its defaults, and something where it has none and wants it."""
    properties: Mapping[str, Any] = asked.schema.get("properties", {})
    wanted = set(asked.schema.get("required", ()))
    return {
        name: each.get("default", sample(each))
        for name, each in properties.items()
        if "default" in each or name in wanted
    }


def sample(schema: Mapping[str, Any]) -> object:
    """Some value of a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    return _SAMPLES[kind if isinstance(kind, str) else kind[0]]


def arguments_of(schema: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    """Arguments that a tool takes; one that wants a schema gets that of another tool."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    if "schema" in properties:
        return {"schema": dict(next(each for name, each in others.items() if "$schema" in each))}
    return {name: sample(properties[name]) for name in schema.get("required", ()) if name in properties}


async def run(url: str, dictated: Sequence[Mapping[str, Any]]) -> str:
    """Start, list, call, read, end; what the calls gave. Those that the suite dictates are made as they stand, valid or
    not."""
    said: list[str] = []
    connection = McpConnection(HttpServer(url), McpOptions(elicitation=accept, call_timeout=10), name="server")
    async with McpTools(connection) as source:
        served = ServedTools(ToolService(source))
        schemas = {tool.name: tool.specification.parameters.schema for tool in await served.listing()}
        for each in dictated:
            await connection.call_tool(each["name"], each["arguments"])
        for name, schema in schemas.items() if not dictated else ():
            result = await served.call(served.run(), name, arguments_of(schema, schemas))
            said.append(f"{name} {'failed' if result.is_error else 'gave'}: {result.text}")
        info = connection.server_info
        if info is not None and "resources" in info.capabilities:
            for resource in await connection.list_resources():
                await connection.read_resource(resource.uri)
        if info is not None and "prompts" in info.capabilities:
            for prompt in await connection.list_prompts():
                await connection.get_prompt(prompt.name, {name: "x" for name, *_ in prompt.arguments})
    return "\n".join(said)


async def done(url: str, context: str) -> tuple[int, str]:
    """The exit code of one scenario, 1 for a server that could not be spoken to, and what is to be said of it."""
    try:
        return 0, await run(url, json.loads(context).get("toolCalls", ()))
    except AgentForgeError as error:
        return 1, f"{type(error).__name__}: {error.message}"


async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Do what another program asks for, and say how it went: a handler for ``asyncio.start_server``."""
    task = json.loads(await reader.readline())
    code, said = await done(task["url"], task["context"])
    writer.write(json.dumps({"code": code, "said": said}).encode())
    await writer.drain()
    writer.close()
