"""An endpoint on the loopback address that answers from a script: for tests that go through the whole wire.

Where `ScriptedChatModel` stands in for a model, this stands in for its server, so that a plugin's wire, the HTTP client
and its retries are all part of the test, and so are connections that break.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentforge.errors import AgentForgeError, ModelError
from agentforge.model.messages import AiMessage
from agentforge.model.script import resolve_turn
from agentforge.model.script_file import read_script
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.testing.chat_form import ChatForm
from agentforge.testing.dashscope_form import DashScopeForm
from agentforge.testing.endpoint_turn import EndpointReply, EndpointTurn, read_endpoint_turn
from agentforge.testing.gemini_form import GeminiForm
from agentforge.testing.loopback import Connection, HttpCall, LoopbackServer
from agentforge.testing.messages_form import MessagesForm
from agentforge.testing.ollama_form import OllamaForm
from agentforge.testing.responses_form import ResponsesForm
from agentforge.testing.wire_form import WireForm
from agentforge.tool.execution.background import BackgroundLoop

__all__ = ("EndpointRequest", "ScriptedEndpoint")

_JSON = {"content-type": "application/json"}
#: The protocols that are spoken, by the end of the path that asks for each.
_FORMS: Mapping[str, WireForm] = {
    "/chat/completions": ChatForm(),
    "/responses": ResponsesForm(),
    "/messages": MessagesForm(),
    ":generateContent": GeminiForm(),
    ":streamGenerateContent": GeminiForm(),
    "/generation": DashScopeForm(),
    "/api/chat": OllamaForm(),
}


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """A request as the endpoint got it: the parsed ``body``, ``headers`` with lower-case names, and the body's bytes as
    they came (``content``)."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(default=b"", repr=False)


class ScriptedEndpoint:
    """Serves scripted turns, plain or streamed as each request asks, in the form that the end of its path stands for:
    ``/chat/completions``, ``/responses``, ``/messages``, ``:generateContent``, ``:streamGenerateContent``,
    ``/api/chat`` or ``/generation``, each by ``POST`` below ``base_url``.

    Use it as an async context manager, or as a plain one, which runs it on a thread of its own. The n-th request gets
    the n-th turn (see `read_endpoint_turn` for faults); further ones get an error with status 400 that no client
    retries. ``requests`` holds what came. ``GET {base_url}/models`` names
    ``model``. With ``repeat`` the script starts over.

    >>> with ScriptedEndpoint(["22 degrees."]) as endpoint:
    ...     endpoint.base_url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, turns: Iterable[EndpointTurn], *, model: str = "scripted", repeat: bool = False) -> None:
        if isinstance(turns, (str, AiMessage, ToolExecutionRequest)):
            turns = (turns,)
        self._turns = tuple(read_endpoint_turn(turn, (position,)) for position, turn in enumerate(turns))
        self._model = model
        self._repeat = repeat
        self._server: LoopbackServer | None = None
        self._background = BackgroundLoop()
        self.requests: list[EndpointRequest] = []

    @classmethod
    def from_yaml(cls, path_or_text: str | Path, *, model: str = "scripted", repeat: bool = False) -> ScriptedEndpoint:
        """An endpoint from a YAML script; see `ScriptedChatModel.from_yaml`."""
        return cls(read_script(path_or_text, read_endpoint_turn), model=model, repeat=repeat)

    @property
    def base_url(self) -> str:
        """The address that a client is given; it ends in ``/v1``. Raises ``RuntimeError`` before the start."""
        if self._server is None:
            raise RuntimeError("the endpoint has no address before it is started; use it as a context manager")
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def open_connections(self) -> int:
        """The connections that are open now."""
        return self._server.open_connections if self._server is not None else 0

    @property
    def connections(self) -> int:
        """All connections that were ever made; fewer than ``requests`` where they are kept alive."""
        return self._server.connections if self._server is not None else 0

    async def __aenter__(self) -> ScriptedEndpoint:
        self._server = await LoopbackServer(self._answer).__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        await self._server.__aexit__()

    def __enter__(self) -> ScriptedEndpoint:
        try:
            return self._background.run(self.__aenter__())
        except BaseException:
            self._background.close()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._background.run(self.__aexit__())
        finally:
            self._background.close()

    # -- answering -------------------------------------------------------------------------------------------

    async def _answer(self, call: HttpCall, connection: Connection) -> None:
        path = call.path.partition("?")[0]
        if path == "/v1/models" and call.method == "GET":
            listed = {"object": "list", "data": [{"id": self._model, "object": "model", "owned_by": "script"}]}
            return await _send_json(connection, 200, listed)
        form = next((form for end, form in _FORMS.items() if path.endswith(end)), None)
        if form is None:
            return await _refuse(connection, 404, f"no such path: {path}")
        if call.method != "POST":
            return await _refuse(connection, 405, f"method {call.method} is not allowed")
        try:
            body = json.loads(call.content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return await _refuse(connection, 400, "the body of the request is not a JSON object")
        request = EndpointRequest(path, body, call.headers, call.content)
        self.requests.append(request)
        number = len(self.requests)
        try:
            turn = await self._turn(request, number)
        except AgentForgeError as error:
            return await _refuse(connection, 400, error.message)
        except Exception as error:
            # A callable of the script failed; the client's test must see it, and must not retry.
            return await _refuse(connection, 400, f"the script's turn raised {type(error).__name__}: {error}")
        return await self._play(turn, request, number, form, connection)

    async def _turn(self, request: EndpointRequest, number: int) -> EndpointReply:
        count = len(self._turns)
        if number > count and not (self._repeat and count):
            raise ModelError(f"the script has {count} turn{'' if count == 1 else 's'}, and this is request {number}")
        at = (number - 1) % count
        return await resolve_turn(self._turns[at], request, (at,), read_endpoint_turn)

    async def _play(
        self, turn: EndpointReply, request: EndpointRequest, number: int, form: WireForm, connection: Connection
    ) -> None:
        if turn.disconnect:
            return connection.reset()
        if turn.stall:
            return await connection.stall()
        if turn.reply is None:
            return await _send_raw(connection, turn)
        reply = turn.reply.with_ids(form.call_ids(request.body))
        named = form.model_name(request.path, request.body)
        response = reply.response(
            input_characters=form.characters(request.body),
            id=f"{form.id_prefix}{number}",
            model_name=named if isinstance(named, str) else self._model,
        )
        error = reply.error if isinstance(reply.error, ModelError) else None
        if not form.streams(request.path, request.headers, request.body):
            if error is not None:
                return await _send_json(connection, error.status or 500, form.error(error))
            content = json.dumps(form.reply(response, request.body), ensure_ascii=False).encode()
            return await _plain(connection, turn, content)
        return await _stream(connection, turn, form.stream_type, form.events(response, request.body, error))

    def __repr__(self) -> str:
        return f"ScriptedEndpoint({len(self._turns)} turns, {len(self.requests)} requests)"


async def _plain(connection: Connection, turn: EndpointReply, content: bytes) -> None:
    """A whole answer is one event: a fault after none comes before the body, any other in the middle of it."""
    if turn.breaks_after is None:
        return await connection.send(200, _JSON, content)
    connection.keep_alive = False
    await connection.start(200, _JSON)
    if turn.breaks_after > 0:
        await connection.piece(content[: len(content) // 2])
    return await _break(connection, turn)


async def _stream(connection: Connection, turn: EndpointReply, kind: str, events: Iterable[bytes]) -> None:
    await connection.start(200, {"content-type": kind, "cache-control": "no-cache"})
    for position, event in enumerate(events):
        if position == turn.breaks_after:
            return await _break(connection, turn)
        await connection.piece(event)
    if turn.breaks_after is not None:
        return await _break(connection, turn)
    return await connection.end()


async def _break(connection: Connection, turn: EndpointReply) -> None:
    if turn.disconnect_after is not None:
        return connection.reset()
    if turn.stall_after is not None:
        return await connection.stall()
    return await connection.end()


async def _send_raw(connection: Connection, turn: EndpointReply) -> None:
    if isinstance(turn.body, (str, bytes)):
        content = turn.body.encode() if isinstance(turn.body, str) else turn.body
        await connection.send(turn.status, {"content-type": "text/plain", **turn.headers}, content)
    elif turn.body is None:
        await connection.send(turn.status, turn.headers, b"")
    else:
        await _send_json(connection, turn.status, turn.body, turn.headers)


async def _send_json(
    connection: Connection, status: int, body: object, headers: Mapping[str, str] | None = None
) -> None:
    content = json.dumps(body, ensure_ascii=False).encode()
    await connection.send(status, {**_JSON, **(headers or {})}, content)


async def _refuse(connection: Connection, status: int, message: str) -> None:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": "scripted_endpoint"}
    await _send_json(connection, status, {"error": error})
