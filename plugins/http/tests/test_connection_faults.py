"""Why there is no connection is said in plain words, whichever library was to make it."""

from __future__ import annotations

import asyncio
import socket

import pytest

from agentforge.errors import ModelConnectionError
from agentforge_http.connection_faults import connection_words
from plugins.http.tests.support import executed, operation, tool_at


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
async def test_https_where_no_tls_is_spoken_is_said_in_plain_words(transport: str) -> None:
    """With what to do; the system's own words come last."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        tool, used = tool_at(operation(f"https://{host}"), sender={"transport": transport})
        execution = await executed(tool)
        await used.aclose()

    assert execution.result_text().startswith(
        f"could not connect to '{host}': it does not speak TLS; is the address http://? ("
    )
    assert "http://" in str(getattr(execution.result.cause, "next_step", None))


@pytest.mark.parametrize(
    ("cause", "says", "step"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "there is no such host (words)", "host"),
        (ConnectionRefusedError(111, "refused"), "nothing listens there (words)", "Start the server"),
        (ExceptionGroup("all", [OSError(5), ConnectionRefusedError(111, "no")]), "nothing listens there (words)", "St"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure"), "words", "as it was"),
        (OSError(113, "No route to host"), "words", "as it was"),
    ],
)
def test_what_lies_below_says_why(cause: Exception, says: str, step: str) -> None:
    """At any depth; what is not known stays as it was."""
    error = ModelConnectionError("could not connect to 'api.test:1': words", next_step="as it was")
    error.__cause__ = RuntimeError()
    error.__cause__.__cause__ = cause
    message, told = connection_words(error)

    assert message == f"could not connect to 'api.test:1': {says}" and step in str(told)
