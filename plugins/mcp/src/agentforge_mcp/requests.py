"""What is asked of a server, each a function on the connection's own loop. Loaded at the first request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.client import ClientRequestContext

from agentforge_mcp.definition import McpPrompt, McpResource, ToolDefinition
from agentforge_mcp.errors import McpConnectionError, McpLostError, McpRequestError
from agentforge_mcp.listing import all_pages, definition_of, listing_of
from agentforge_mcp.rpc_codes import FAILED, NOT_SENT, REFUSED, UNREADABLE
from agentforge_mcp.server_log import shown
from agentforge_mcp.session import is_lost
from agentforge_mcp.start_faults import address_of

if TYPE_CHECKING:
    from agentforge_mcp.connection import Listener, McpConnection
    from agentforge_mcp.life import Life

__all__ = ("call_tool", "get_prompt", "list_prompts", "list_resources", "list_tools", "read_resource")

_T = TypeVar("_T")
_UNPARSED = ("Failed to parse SSE message", "SSE stream failed")  # what the SDK says of a stream of events
_MOST_AT_ONCE = 20  # things that a server may ask for before it is asked again
_STATE_ONLY = 0.1  # seconds before a server that only wants its state back is asked again
_LOOK = "It was asked and may have acted: look before it is asked again."


async def list_tools(connection: McpConnection) -> tuple[ToolDefinition, ...]:
    """All pages, judged; a server without tools has none."""
    refused: dict[str, str] = {}

    async with connection.listing:

        async def page(cursor: str | None) -> tuple[list[Any], str | None]:
            async def ask(life: Life, session: ClientSession) -> tuple[list[Any], str | None]:
                assert life.dispatcher is not None
                result = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
                raw: list[Any] = life.dispatcher.page["tools"]
                refused.update(_refused(raw, {each.name for each in result.tools}))
                return raw, result.next_cursor

            raw, following = await _page(connection, "tools/list", ask)
            judged = []
            for each in raw:
                made = definition_of(each)
                if isinstance(made, ToolDefinition):
                    made = replace(made, description=connection.secrets.mask(made.description))
                judged.append(made)
                await asyncio.sleep(0)  # a large schema takes its time, and others want theirs
            return judged, following

        found, warnings = await _pages(connection, page) or ([], ("it has no tools",))
    listing = listing_of(found, warnings, refused)
    connection.dropped, connection.warnings = listing.dropped, listing.warnings
    return listing.tools


def _refused(raw: list[Any], kept: set[str]) -> Iterator[tuple[str, str]]:
    """Names of what the SDK did not take, each with the reason."""
    for each in raw:
        name = each.get("name") if isinstance(each, dict) else None
        schema = each.get("inputSchema") if isinstance(each, dict) else None
        if isinstance(name, str) and name not in kept and isinstance(schema, dict):
            kind = schema.get("type", "object")
            said = f"its schema is of type {shown(repr(kind), 40)}, not object"
            yield name, said if kind != "object" else "its x-mcp-header marks break the protocol"


async def call_tool(
    connection: McpConnection,
    name: str,
    arguments: dict[str, Any],
    *,
    timeout: float | None,
    listener: Listener,
    meta: dict[str, Any],
) -> types.CallToolResult:
    """The tool's result, after whatever the server asks in between."""
    what = f"the call of {shown(name, 80)!r}"

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        assert listener.on_progress is not None
        listener.on_progress(progress, total, message)

    async def ask(life: Life, session: ClientSession) -> types.CallToolResult:
        async def send(responses: Any, state: str | None) -> Any:
            return await session.call_tool(
                name,
                arguments,
                progress_callback=progressed if listener.on_progress is not None else None,
                input_responses=responses,
                request_state=state,
                meta=meta or None,  # type: ignore[arg-type]
                allow_input_required=True,
            )

        result = await _answered(connection, session, send)
        assert isinstance(result, types.CallToolResult)
        return result

    async with connection.slots:
        with connection.told(listener):
            try:
                return await _asked(connection, what, ask, timeout=timeout)
            except McpRequestError as error:
                if error.rpc_code != types.HEADER_MISMATCH:
                    raise
            # The server wants arguments as headers that its last listing did not say: read it again.
            await list_tools(connection)
            return await _asked(connection, what, ask, timeout=timeout)


async def list_resources(connection: McpConnection) -> tuple[McpResource, ...]:
    """Resources, then templates."""
    made = [
        McpResource(str(each.uri), each.name, each.description or "", each.mime_type, each.size)
        for each in await _listed(connection, "resources/list", "resources")
    ]
    made += [
        McpResource(each.uri_template, each.name, each.description or "", each.mime_type, template=True)
        for each in await _listed(connection, "resources/templates/list", "resource_templates")
    ]
    return tuple(made)


async def read_resource(connection: McpConnection, uri: str, *, timeout: float | None) -> types.ReadResourceResult:
    """The contents of a resource."""

    async def ask(life: Life, session: ClientSession) -> types.ReadResourceResult:
        async def send(responses: Any, state: str | None) -> Any:
            return await session.read_resource(
                uri, input_responses=responses, request_state=state, allow_input_required=True
            )

        result = await _answered(connection, session, send)
        assert isinstance(result, types.ReadResourceResult)
        return result

    return await _asked(connection, f"the reading of {shown(uri, 80)!r}", ask, timeout=timeout)


async def list_prompts(connection: McpConnection) -> tuple[McpPrompt, ...]:
    """The prompts."""
    return tuple(
        McpPrompt(
            each.name,
            each.description or "",
            tuple((row.name, row.description or "", bool(row.required)) for row in each.arguments or ()),
        )
        for each in await _listed(connection, "prompts/list", "prompts")
    )


async def get_prompt(
    connection: McpConnection, name: str, arguments: dict[str, str], *, timeout: float | None
) -> types.GetPromptResult:
    """A prompt, filled in."""

    async def ask(life: Life, session: ClientSession) -> types.GetPromptResult:
        async def send(responses: Any, state: str | None) -> Any:
            return await session.get_prompt(
                name, arguments, input_responses=responses, request_state=state, allow_input_required=True
            )

        result = await _answered(connection, session, send)
        assert isinstance(result, types.GetPromptResult)
        return result

    return await _asked(connection, f"the prompt {shown(name, 80)!r}", ask, timeout=timeout)


# -- lists ---------------------------------------------------------------------------------------


async def _listed(connection: McpConnection, what: str, kind: str) -> list[Any]:
    """All of a kind, as the SDK calls it; nothing where the server has no such thing."""

    async def page(cursor: str | None) -> tuple[list[Any], str | None]:
        async def ask(life: Life, session: ClientSession) -> tuple[list[Any], str | None]:
            result = await getattr(session, f"list_{kind}")(params=types.PaginatedRequestParams(cursor=cursor))
            return list(getattr(result, kind)), result.next_cursor

        return await _page(connection, what, ask)

    found, _ = await _pages(connection, page) or ([], ())
    return found


async def _pages(
    connection: McpConnection, page: Callable[[str | None], Awaitable[tuple[list[Any], str | None]]]
) -> tuple[list[Any], tuple[str, ...]] | None:
    """All that is listed, and warnings; ``None`` where the server has no such thing."""
    options = connection.options
    try:
        return await all_pages(page, max_pages=options.max_pages, max_items=options.max_tools)
    except McpRequestError as error:
        if error.rpc_code != types.METHOD_NOT_FOUND:
            raise
        return None


async def _page(connection: McpConnection, what: str, ask: Callable[[Life, ClientSession], Awaitable[_T]]) -> _T:
    """One page, in the time of a start. To ask for it changes nothing, so whether it did is no question."""
    try:
        return await _asked(connection, what, ask, timeout=connection.options.start_timeout)
    except McpLostError as error:
        late = error.reason == "time"
        error.next_step = "Raise start_timeout, or see why it is slow." if late else "See what the server logs."
        raise


# -- one request ---------------------------------------------------------------------------------


async def _asked(
    connection: McpConnection,
    what: str,
    ask: Callable[[Life, ClientSession], Awaitable[_T]],
    *,
    timeout: float | None = None,
) -> _T:
    """Ask, and read what goes wrong; a session that the server forgot is made anew, once."""
    from pydantic import ValidationError

    seconds = timeout if timeout is not None else connection.options.call_timeout
    for again in (True, False):
        life = await connection.life()
        assert life.session is not None
        try:
            async with asyncio.timeout(seconds) as limit:
                with life.used():
                    return await ask(life, life.session)
        except MCPError as error:
            if again and error.code == types.INVALID_REQUEST and error.message == "Session terminated":
                connection.renew(life)
                continue
            raise _read(connection, life, what, error) from None
        except TimeoutError:
            if not limit.expired():
                raise
            raise _late(connection, what, seconds) from None
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(each) for each in first["loc"])
            why = f"{shown(place, 100)}: {shown(str(first['msg']), 200)}"
            raise _unreadable(connection, what, f"it breaks the protocol ({why})") from None
    raise AssertionError("unreachable")


def _late(connection: McpConnection, what: str, seconds: float | None) -> McpLostError:
    return McpLostError(
        f"the MCP server {connection.name!r} did not answer {what} within {seconds or 0:g} s",
        reason="time",
        next_step="Whether it acted is not known; raise call_timeout where it may take longer.",
    )


def _unreadable(connection: McpConnection, what: str, why: str) -> McpLostError:
    return McpLostError(
        f"the answer of the MCP server {connection.name!r} to {what} cannot be read: {why}",
        reason="answer",
        next_step=_LOOK,
    )


def _read(connection: McpConnection, life: Life, what: str, error: MCPError) -> Exception:
    name = connection.name
    text = shown(connection.secrets.mask(error.message), 2_000)
    if error.code == NOT_SENT:
        return McpConnectionError(
            f"the MCP server {name!r}{address_of(connection.server, connection.secrets)} cannot be reached: {text}",
            next_step="See whether it runs, and the url.",
        )
    if error.code == UNREADABLE:
        return _unreadable(connection, what, text)
    if error.code == FAILED:
        return McpLostError(
            f"the MCP server {name!r} did not answer {what}: {text}",
            reason="answer",
            next_step=_LOOK,
        )
    if text.startswith(_UNPARSED):
        return _unreadable(connection, what, "an event of it is no message, or too long")
    if is_lost(error):
        return connection.lost(life, what)
    if error.code == REFUSED:
        step = "See whether the credentials are right." if text.startswith(("HTTP 401", "HTTP 403")) else None
        return McpRequestError(f"the MCP server {name!r} refused {what}: {text}", rpc_code=REFUSED, next_step=step)
    return McpRequestError(f"the MCP server {name!r} refused {what}: {text} ({error.code})", rpc_code=error.code)


async def _answered(
    connection: McpConnection,
    session: ClientSession,
    send: Callable[[Any, str | None], Awaitable[Any]],
) -> Any:
    """Send, and answer what the server asks before it answers itself, as often as is allowed."""
    result = await send(None, None)
    for _ in range(connection.options.max_input_rounds):
        if not isinstance(result, types.InputRequiredResult):
            return result
        responses: dict[str, Any] = {}
        if len(result.input_requests or {}) > _MOST_AT_ONCE:
            raise MCPError(types.INVALID_REQUEST, f"it asks for more than {_MOST_AT_ONCE} things at once")
        for key, request in (result.input_requests or {}).items():
            meta = request.params.meta if request.params else None
            context = ClientRequestContext(session=session, request_id=key, meta=meta)
            answer = await session.dispatch_input_request(context, request)
            if isinstance(answer, types.ErrorData):
                raise MCPError.from_error_data(answer)
            responses[key] = answer
        if not responses:
            await asyncio.sleep(_STATE_ONLY)
        result = await send(responses or None, result.request_state)
    if isinstance(result, types.InputRequiredResult):
        raise MCPError(types.INVALID_REQUEST, "it asks for more input again and again")
    return result
