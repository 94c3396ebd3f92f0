"""Short ways to call an HTTP tool as a model does, and to see what reached the server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agentforge import ScriptedChatModel, ToolService
from agentforge.http import HttpRequest, HttpResponse, HttpStream
from agentforge.masking import Secrets
from agentforge.model.scripted import call
from agentforge.tool import BoundTool
from agentforge.tool.execution import Run, ToolExecution
from agentforge_http import HttpOperation, HttpSender, bound_http_tool
from agentforge_http.operation import HttpParameter as Parameter
from agentforge_http.operation import Place, Style

__all__ = ("FakeTransport", "executed", "open_schema", "operation", "parameter", "sent", "tool_at")

#: Any arguments: for tests of what happens behind the validation.
open_schema: Mapping[str, Any] = {"type": "object", "additionalProperties": True}


def parameter(name: str, place: Place = "query", style: Style | None = None, **more: Any) -> Parameter:
    """A parameter with the defaults that OpenAPI gives its place."""
    style = style or ("simple" if place in ("path", "header") else "form")
    explode = more.pop("explode", style in ("form", "deepObject"))
    return Parameter(more.pop("argument", name), name, place, style, explode, **more)


def operation(
    base_url: str = "http://127.0.0.1:9", path: str = "/x", method: str = "GET", **more: Any
) -> HttpOperation:
    """An operation that takes any arguments, at a host that a trusted file names."""
    more = {"schema": open_schema, "host_is_trusted": True, **more}
    return HttpOperation(more.pop("name", "probe"), method, base_url, path, **more)


class FakeTransport:
    """Answers from a list, the last one again and again; keeps what was sent. An answer is ``(status, headers, body)``
    or an exception."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers) or [(200, {"content-type": "application/json"}, b"{}")]
        self.requests: list[HttpRequest] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        status, headers, body = self._next(request)
        return HttpResponse(status, headers, body)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        status, headers, body = self._next(request)
        yield HttpStream(status, headers, _chunks(body))

    async def aclose(self) -> None:
        """Nothing is open."""

    def _next(self, request: HttpRequest) -> tuple[int, Mapping[str, str], bytes]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        status, headers, body = answer
        return status, headers, body if isinstance(body, bytes) else json.dumps(body).encode()

    def header(self, name: str, number: int = -1) -> str | None:
        """A header of a request."""
        found = [value.decode() for key, value in self.requests[number].headers if key.decode().lower() == name]
        return found[0] if found else None


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 16_384):
        yield body[at : at + 16_384]


def tool_at(made: HttpOperation, transport: Any = None, *, sender: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """The tool and its sender, over a transport that sends nothing or a real one."""
    options = dict(sender or {})
    if transport is not None:
        options["transport"] = transport
    used = HttpSender(**options)
    return bound_http_tool(made, used, **more), used


async def executed(tool: BoundTool, arguments: Mapping[str, Any] | str | None = None, **options: Any) -> ToolExecution:
    """One call on the way that a model's call takes."""
    run = options.pop("run", None) or Run(**options.pop("run_options", {}))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    service = ToolService(tool, arguments_error_handler="return_to_model", **options)
    model = ScriptedChatModel([call(tool.name, text), "done"])
    result = await service.chat(model, None, "go", context=run)
    return result.tool_executions[-1]


async def sent(made: HttpOperation, arguments: Mapping[str, Any], **more: Any) -> HttpRequest:
    """What is sent for these arguments."""
    transport = FakeTransport()
    tool, _ = tool_at(made, transport, **more)
    execution = await executed(tool, arguments)
    assert transport.requests, execution.result_text()
    return transport.requests[0]


def masked(*values: str) -> Secrets:
    """Secrets of a configuration."""
    return Secrets(values)


def query_of(request: HttpRequest) -> str:
    """The query of a request."""
    return request.url.partition("?")[2]
