"""Servers that take their time, on real sockets by a virtual clock: which limit holds, and to the second when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from agentforge import ChatRequest
from agentforge.errors import ModelError, ModelTimeoutError
from agentforge.http import HttpTimeouts
from agentforge.model import ResponseDone
from agentforge_openai import OpenAiChatModel
from tests.support.loopback import Answer, Loopback, serve
from tests.support.virtual_time import in_virtual_time

LIMITS = HttpTimeouts(connect=10.0, read=60.0, write=60.0, pool=60.0, total=600.0)
PLAIN = b'{"choices": [{"message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}'
STREAMED = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "Done."}}]}\n\n',
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n',
    b"data: [DONE]\n\n",
)
COMMENT = b": keep-alive\n\n"

over_both = pytest.mark.parametrize("transport", ["httpx", "aiohttp"])


def slowly(parts: Sequence[bytes], *seconds: float, kind: str = "text/event-stream") -> Answer:
    """The parts, so many seconds before each, the last number before all further ones, and the end with the last."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for at, part in enumerate(parts):
            await writer.drain()
            await asyncio.sleep(seconds[min(at, len(seconds) - 1)])
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        writer.write(b"0\r\n\r\n")

    return answer


def asked(
    answer: Answer, transport: str, work: Callable[[OpenAiChatModel], Awaitable[Any]], limits: HttpTimeouts = LIMITS
) -> tuple[Any, float]:
    """What came of the work of a model at this server, and how long that took by the clock."""

    async def main() -> tuple[Any, float]:
        async with serve(answer) as server, model_at(server, transport, limits) as model:
            began = asyncio.get_running_loop().time()
            try:
                result = await work(model)
            except ModelError as error:
                result = error
            return result, asyncio.get_running_loop().time() - began

    return in_virtual_time(main(), sockets=True)


def model_at(server: Loopback, transport: str, limits: HttpTimeouts) -> OpenAiChatModel:
    return OpenAiChatModel(base_url=server.url("/v1"), model="m", transport=transport, timeouts=limits, max_retries=0)


async def plain(model: OpenAiChatModel) -> str | None:
    return (await model.chat(ChatRequest("Hello"))).ai_message.text


async def streamed(model: OpenAiChatModel) -> str | None:
    events = [event async for event in model.stream(ChatRequest("Hello"))]
    assert isinstance(events[-1], ResponseDone)
    return events[-1].response.ai_message.text


@over_both
def test_a_stream_whose_only_traffic_is_comments_goes_on(transport: str) -> None:
    """Nine minutes of a model that thinks: each comment begins the read limit anew."""
    text, seconds = asked(slowly([*[COMMENT] * 8, *STREAMED], 50.0), transport, streamed)
    assert text == "Done." and 500.0 <= seconds <= 550.0


@over_both
def test_blank_lines_before_a_plain_answer_are_no_answer(transport: str) -> None:
    """DeepSeek's way to keep a connection alive; each line begins the read limit anew."""
    text, seconds = asked(slowly([*[b"\n"] * 9, PLAIN], 50.0, kind="application/json"), transport, plain)
    assert text == "Done." and seconds == pytest.approx(500.0)


@over_both
@pytest.mark.parametrize("work", [plain, streamed])
def test_f8_the_total_limit_holds_however_often_something_comes(
    transport: str, work: Callable[[OpenAiChatModel], Awaitable[Any]]
) -> None:
    """F8: a byte or a comment now and then for ever; within a tenth of the limit."""
    parts = [b"\n"] * 500 if work is plain else [COMMENT] * 500
    error, seconds = asked(slowly(parts, 10.0), transport, work)
    assert isinstance(error, ModelTimeoutError) and "within 600 s (the total limit)" in error.message
    assert LIMITS.total is not None and LIMITS.total <= seconds <= 1.1 * LIMITS.total


@over_both
@pytest.mark.parametrize("work", [plain, streamed])
@pytest.mark.parametrize("before", [(), (30.0,)], ids=["at once", "after a part"])
def test_f7_the_read_limit_ends_a_stall(
    transport: str, before: tuple[float, ...], work: Callable[[OpenAiChatModel], Awaitable[Any]]
) -> None:
    """F7: before anything of the body has come, and after something has; within a tenth of the limit."""
    error, seconds = asked(slowly([b"\n" if work is plain else COMMENT] * 2, *before, 1000.0), transport, work)
    assert isinstance(error, ModelTimeoutError) and "within 60 s (the read limit)" in error.message
    assert LIMITS.read <= seconds - sum(before) <= 1.1 * LIMITS.read


@over_both
def test_without_a_total_limit_a_stream_may_take_hours(transport: str) -> None:
    """As long as something comes within each read limit."""
    limits = HttpTimeouts(read=60.0, total=None)
    text, seconds = asked(slowly([*[COMMENT] * 150, *STREAMED], 50.0), transport, streamed, limits)
    assert text == "Done." and seconds >= 2 * 3600.0
