"""What runs an MCP tool: the call to its server, and what its outcomes mean here."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentforge.errors import ToolArgumentsError, ToolExecutionError
from agentforge.model import ToolExecutionRequest
from agentforge.tool import Effect
from agentforge.tool.execution import ToolContext, ToolExecutionResult
from agentforge_mcp.definition import ToolDefinition
from agentforge_mcp.errors import McpLostError, McpRequestError
from agentforge_mcp.results import masked, result_of
from agentforge_mcp.rpc_codes import INVALID_PARAMS, METHOD_NOT_FOUND
from agentforge_mcp.telling import Telling

if TYPE_CHECKING:
    from agentforge_mcp.source import McpTools

__all__ = ("McpToolExecutor", "context_meta")

_AFTER = 1.0  # seconds after the time of a tool
_START = 1_000  # characters of an error in which a server may say that it has no such tool
_UNKNOWN = re.compile(r"\b(unknown tool|tool .{0,200}\bnot (be )?found|no such tool)\b", re.IGNORECASE | re.DOTALL)


class McpToolExecutor:
    """Runs one tool of a server, by the server's own name for it.

    The server's error of the tool is told to the model; arguments that the server refuses are a `ToolArgumentsError`.
    A connection that is lost after the call was sent is a `McpLostError`; a tool that is declared a read is then asked
    once more, on the server started again, and no other. A tool that its server does not know any more, or that is
    another one by now, is looked up once and refused clearly.
    """

    def __init__(self, source: McpTools, definition: ToolDefinition, effect: Effect | None) -> None:
        self._source = source
        self._definition = definition
        self._effect = effect

    async def __call__(self, request: ToolExecutionRequest, context: ToolContext) -> ToolExecutionResult:
        """The result of the call."""
        definition, source = self._definition, self._source
        await source.expect(definition)
        arguments = request.arguments_as_map()
        try:
            async with Telling(context, source.connection.name, source.connection.secrets) as telling:
                answer = await self._called(arguments, context, telling)
        except McpRequestError as error:
            if error.rpc_code not in (INVALID_PARAMS, METHOD_NOT_FOUND):
                raise
            await source.expect(definition, look=True)
            if error.rpc_code == METHOD_NOT_FOUND:
                raise
            raise ToolArgumentsError(error.message, tool=request.name) from error
        options, secrets = source.connection.options, source.connection.secrets
        # What a server says may hold what it was given.
        try:
            made = result_of(answer, tool=request.name, max_bytes=options.max_result_bytes, keep_meta=options.keep_meta)
        except ToolExecutionError as error:
            if _UNKNOWN.search(error.message[:_START]):
                await source.expect(definition, look=True)
            raise ToolExecutionError(secrets.mask(error.message), tool=request.name) from None
        return masked(made, secrets)

    async def _called(self, arguments: dict[str, Any], context: ToolContext, telling: Telling) -> Any:
        connection = self._source.connection
        meta = context_meta(context, self._source.options.send_context)
        # The batch ends a call that takes too long; this is for whoever calls a tool without one.
        given = self._source.options.timeout
        timeout = given + _AFTER if given is not None else None
        for again in (self._effect == "read", False):
            try:
                return await connection.call_tool(
                    self._definition.name,
                    arguments,
                    timeout=timeout,
                    on_progress=telling.progress,
                    on_log=telling.log,
                    on_spent=context.run.spend,
                    meta=meta,
                )
            except McpLostError as error:
                if not again or error.reason != "ended":
                    raise
        raise AssertionError("unreachable")


def context_meta(context: ToolContext, names: Sequence[str]) -> dict[str, Any]:
    """What a server is told of the run: tenant, roles, memory_id, run_id and the application's own data, each only by
    name; what is not there is not sent."""
    known: dict[str, Any] = {
        "tenant": context.tenant,
        "roles": sorted(context.roles) or None,
        "memory_id": context.memory_id,
        "run_id": context.run_id,
    }
    made = {name: known[name] if name in known else context.user_data.get(name) for name in names}
    return {name: _plain(value) for name, value in made.items() if value is not None}


def _plain(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value
