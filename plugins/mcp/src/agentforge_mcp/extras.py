"""A server's resources and prompts as tools, where a file asks for them: listed, read, filled in by the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentforge.errors import ToolArgumentsError
from agentforge.model import ToolExecutionRequest, ToolParameters, ToolSpecification
from agentforge.tool import BoundTool, ToolOrigin
from agentforge.tool.execution import ToolContext, ToolExecutionResult, bound_tool_from
from agentforge_mcp.definition import ServerInfo
from agentforge_mcp.errors import McpRequestError
from agentforge_mcp.results import masked, prompt_result, resource_result
from agentforge_mcp.rpc_codes import INVALID_PARAMS, NO_RESOURCE

if TYPE_CHECKING:
    from agentforge_mcp.source import McpTools

__all__ = ("extra_tools",)

_NONE = ToolParameters.empty()
_URI = (
    ToolParameters.builder()
    .add_property("uri", "string", "Address of the resource, as list_resources gives it.", required=True)
    .build()
)
_PROMPT = (
    ToolParameters.builder()
    .add_property("name", "string", "Name of the prompt, as list_prompts gives it.", required=True)
    .add_property("arguments", {"type": "object", "additionalProperties": {"type": "string"}}, "Its arguments.")
    .build()
)


def extra_tools(source: McpTools, info: ServerInfo, taken: set[str]) -> list[BoundTool]:
    """The tools ``list_resources``, ``read_resource``, ``list_prompts`` and ``get_prompt``, as far as they are wanted
    and the server has such things; with ``mcp_`` before a name that a tool of the server has."""
    extras = _Extras(source)
    rows: list[tuple[str, str, ToolParameters, Any]] = []
    if source.options.resources and "resources" in info.capabilities:
        rows.append(("list_resources", "Lists what can be read.", _NONE, extras.list_resources))
        rows.append(("read_resource", "Reads a resource.", _URI, extras.read_resource))
    if source.options.prompts and "prompts" in info.capabilities:
        rows.append(("list_prompts", "Lists prepared prompts and their arguments.", _NONE, extras.list_prompts))
        rows.append(("get_prompt", "Gives a prepared prompt, filled in.", _PROMPT, extras.get_prompt))
    made: list[BoundTool] = []
    for name, about, parameters, executor in rows:
        unique = name
        while unique in taken:
            unique = f"mcp_{unique}"
        known = source.extras.get(unique)
        if known is None:
            known = source.extras[unique] = bound_tool_from(
                ToolSpecification(unique, f"{about} Server: {info.name}.", parameters),
                executor,
                effect="read",
                source_name=source.connection.name,
                timeout=source.options.timeout,
                origin=ToolOrigin("mcp", info.name, info.version, name),
            )
        made.append(known)
    return made


class _Extras:
    """What runs them. They ask for what the protocol itself calls reading."""

    def __init__(self, source: McpTools) -> None:
        self._source = source

    async def list_resources(self, request: ToolExecutionRequest, context: ToolContext) -> ToolExecutionResult:
        found = [
            {
                ("uri_template" if each.template else "uri"): each.uri,
                "name": each.name,
                **({"description": each.description} if each.description else {}),
                **({"media_type": each.mime_type} if each.mime_type else {}),
            }
            for each in await self._source.connection.list_resources()
        ]
        return ToolExecutionResult.success(json.dumps(found, ensure_ascii=False), result=found)

    async def read_resource(self, request: ToolExecutionRequest, context: ToolContext) -> ToolExecutionResult:
        connection = self._source.connection
        uri = str(request.arguments_as_map()["uri"])
        answer = await _or_arguments(connection.read_resource(uri, timeout=self._source.options.timeout), request)
        return masked(resource_result(answer, max_bytes=connection.options.max_result_bytes), connection.secrets)

    async def list_prompts(self, request: ToolExecutionRequest, context: ToolContext) -> ToolExecutionResult:
        found = [
            {
                "name": each.name,
                **({"description": each.description} if each.description else {}),
                "arguments": [{"name": a, "description": b, "required": c} for a, b, c in each.arguments],
            }
            for each in await self._source.connection.list_prompts()
        ]
        return ToolExecutionResult.success(json.dumps(found, ensure_ascii=False), result=found)

    async def get_prompt(self, request: ToolExecutionRequest, context: ToolContext) -> ToolExecutionResult:
        connection = self._source.connection
        given: Any = request.arguments_as_map()
        timeout = self._source.options.timeout
        asked = connection.get_prompt(given["name"], given.get("arguments") or {}, timeout=timeout)
        answer = await _or_arguments(asked, request)
        return masked(prompt_result(answer, max_bytes=connection.options.max_result_bytes), connection.secrets)


async def _or_arguments(asked: Any, request: ToolExecutionRequest) -> Any:
    """The answer; what the server says of the arguments is an error of the arguments."""
    try:
        return await asked
    except McpRequestError as error:
        if error.rpc_code in (INVALID_PARAMS, NO_RESOURCE):
            raise ToolArgumentsError(error.message, tool=request.name) from error
        raise
