"""The SDK's session with what it leaves to its user: which version to speak, and listings that one bad tool spoils.

Loaded when a server starts, as it loads the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from agentforge_mcp.errors import McpConnectionError
from agentforge_mcp.rpc_codes import LOST, NOT_SENT, UNREADABLE

__all__ = ("McpDispatcher", "McpSession", "is_lost", "is_shallow", "negotiate")

_DEEPEST = 200  # levels of an answer that the SDK can bear
_PROBE = 0.4  # share of the start time for a server that does not answer what it does not know


class McpDispatcher(JSONRPCDispatcher[Any]):
    """Keeps the pages of a tool list as they came and hands the SDK what it can read of them, so that one bad
    definition is no bad list; fills in what servers forget."""

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, write)
        #: The last page as it came.
        self.page: dict[str, Any] = {}
        #: Whether the version is one in which arguments are sent as headers too, by marks in the schema.
        self.modern = False
        #: Set when nobody reads answers any more, for whatever reason.
        self.over = asyncio.Event()

    async def run(self, *handlers: Any, **more: Any) -> None:
        """Read what the server says until it says no more, or something that the SDK cannot bear."""
        try:
            await super().run(*handlers, **more)
        finally:
            self.over.set()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **more: Any
    ) -> dict[str, Any]:
        """The answer, readable."""
        raw = await super().send_raw_request(method, params, opts, **more)
        if method == "tools/list":
            self.page = raw
            tools = raw.get("tools")
            if isinstance(tools, list):
                return {**raw, "tools": [self._skeleton(each) for each in tools if _readable(each)]}
        elif not is_shallow(raw, _DEEPEST):
            raise MCPError(UNREADABLE, "it is nested too deep")
        if method == "tools/call" and "content" not in raw and "structuredContent" in raw:
            return {**raw, "content": []}
        return raw

    def _skeleton(self, tool: dict[str, Any]) -> dict[str, Any]:
        """What the SDK needs of a tool: its name, and the schema where that may have the marks."""
        schema = tool["inputSchema"] if self.modern else {}
        return {"name": tool["name"], "inputSchema": {**schema, "type": "object"}}


def _readable(tool: object) -> bool:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return False
    schema = tool.get("inputSchema")
    return isinstance(schema, dict) and schema.get("type", "object") == "object" and is_shallow(schema)


def is_shallow(value: object, levels: int = 128) -> bool:
    """Whether nothing in it is nested deeper than so many levels; found out without recursion.

    >>> is_shallow({"a": [{}]}), is_shallow([[[]]], levels=2)
    (True, False)
    """
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return True
    return False


class McpSession(ClientSession):
    """A session that judges no results: what a tool gave is given on, and what its schema says of it is checked by
    whoever made the call."""

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Nothing: see above."""

    async def introduce(self, version: str) -> types.InitializeResult:
        """The handshake of the earlier versions, with the wish for one of them; nothing is adopted yet."""
        params = types.InitializeRequestParams(
            protocol_version=version,
            capabilities=self._build_capabilities(version),
            client_info=self._client_info,
        )
        return await self.send_request(types.InitializeRequest(params=params), types.InitializeResult)


def is_lost(error: MCPError) -> bool:
    """Whether an answer is none of the server's, but says that there will be none. The code of that is one that
    servers use for errors of their own, so the SDK's words decide."""
    words = ("Connection closed", "SSE stream ended", "SSE stream failed", "server answered a request with 202")
    if error.code in (NOT_SENT, LOST):
        return True
    return error.code in (types.CONNECTION_CLOSED, types.INVALID_REQUEST) and error.message.startswith(words)


async def negotiate(session: McpSession, protocol: str, name: str, seconds: float) -> None:
    """Agree on a version: the one that is asked for, or with ``auto`` the newest that both know.

    Raises `McpConnectionError` where there is none, `MCPError` for what else the server says against it.
    """
    if protocol in HANDSHAKE_PROTOCOL_VERSIONS:
        await _initialize(session, protocol, name)
    elif protocol != "auto":
        if not await _discover(session, protocol, name, seconds):
            raise McpConnectionError(
                f"the MCP server {name!r} does not speak version {protocol} of the protocol",
                next_step="Set protocol to auto, or to the version that it speaks.",
            )
    else:
        await _newest(session, name, seconds)


async def _newest(session: McpSession, name: str, seconds: float) -> None:
    try:
        if await _discover(session, MODERN_PROTOCOL_VERSIONS[-1], name, seconds * _PROBE):
            return
    except TimeoutError:
        pass
    except MCPError as error:
        if is_lost(error):
            raise
        versions = _supported(error)
        if versions and not set(versions) & {*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS}:
            raise _other_version(name, ", ".join(versions)) from None
        ours = [each for each in MODERN_PROTOCOL_VERSIONS if each in versions]
        if ours and await _discover(session, ours[-1], name, seconds):
            return
    try:
        await _initialize(session, LATEST_HANDSHAKE_VERSION, name)
    except MCPError as error:
        # It answered the first question after all, only late, and now speaks that version.
        ours = [each for each in MODERN_PROTOCOL_VERSIONS if each in _supported(error)]
        if not ours or not await _discover(session, ours[-1], name, seconds):
            raise


async def _discover(session: McpSession, version: str, name: str, seconds: float) -> bool:
    """Whether the server speaks this version or another one of its kind; then it is spoken."""
    from pydantic import ValidationError

    async with asyncio.timeout(seconds):
        raw = await session.send_discover(version)
    try:
        found = types.DiscoverResult.model_validate(raw)
    except ValidationError:
        return False
    if not set(found.supported_versions) & set(MODERN_PROTOCOL_VERSIONS):
        return False
    session.adopt(found)
    return True


async def _initialize(session: McpSession, version: str, name: str) -> None:
    from pydantic import ValidationError

    try:
        result = await session.introduce(version)
    except ValidationError:
        raise McpConnectionError(
            f"the MCP server {name!r} answered initialize with something that is no answer to it",
            next_step="See whether the command or address is that of an MCP server.",
        ) from None
    if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise _other_version(name, result.protocol_version)
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())


def _supported(error: MCPError) -> list[str]:
    data = error.error.data
    found = data.get("supported") if isinstance(data, Mapping) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _other_version(name: str, version: str) -> McpConnectionError:
    known = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    return McpConnectionError(
        f"the MCP server {name!r} speaks version {version[:60]!r} of the protocol, which is not known here",
        next_step=f"Use another release of the server; known are {', '.join(known)}.",
    )
