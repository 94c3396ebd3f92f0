"""The wire under a server's standard input and output: lines in, lines out, whatever the pieces and the other side."""

from __future__ import annotations

import asyncio
import os
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge_mcp.serve.wire import Inbox, Outbox, StdioWire

LINES = st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=8)


def parse(line: bytes) -> bytes:
    """The line itself, unless it is a bad one."""
    if line.startswith(b"!"):
        raise ValueError("no message")
    return line


async def received(data: bytes, cuts: list[int], max_bytes: int = 1_000) -> list[Any]:
    """What comes out of a pipe into which the data was written in pieces."""
    reading, writing = os.pipe()
    inbox = Inbox(reading, parse, max_bytes)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in pairwise(places):
        os.write(writing, data[start:end])
    os.close(writing)
    found = [repr(item) if isinstance(item, Exception) else item async for item in inbox]
    os.close(reading)
    return found


@settings(deadline=None)
@given(LINES, st.lists(st.integers(0, 100), max_size=6), st.booleans())
def test_lines_arrive_whole_however_they_are_cut(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    """Each once and in order, the last one also without an end; blank ones are none, and one that is no message is
    handed on as the error that it makes."""
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    wanted = ["ValueError('no message')" if line.startswith(b"!") else line for line in lines if line.strip()]
    assert asyncio.run(received(data, cuts)) == wanted


@pytest.mark.parametrize("cuts", [[], [50], list(range(0, 300, 7))], ids=["whole", "two", "many"])
async def test_a_line_that_is_too_long_is_left_out(cuts: list[int]) -> None:
    """It is reported once, its rest is skipped, and the lines around it arrive."""
    data = b"before\n" + b"x" * 200 + b"\nafter\n" + b"y" * 100 + b"\n"
    wanted = [b"before", "ValueError('a message of more than 100 bytes')", b"after", b"y" * 100]
    assert await received(data, cuts, 100) == wanted


async def test_what_is_sent_arrives_in_order() -> None:
    """Also when several send at once, and more than a pipe holds."""
    reading, writing = os.pipe()
    gone: list[bool] = []
    outbox = Outbox(writing, lambda item: item, lambda: gone.append(True))
    big = [bytes([65 + number]) * 70_000 for number in range(5)]
    sending = asyncio.gather(*(outbox.send(line) for line in big))
    inbox = Inbox(reading, parse, 1_000_000)
    assert [await inbox.receive() for _ in big] == big
    await sending
    await outbox.aclose()
    assert gone == []
    for descriptor in (reading, writing):
        os.close(descriptor)


async def test_a_reader_that_is_gone_is_noticed() -> None:
    """What is sent then is dropped, nobody waits, and the other end is told that it is over."""
    reading, writing = os.pipe()
    os.close(reading)
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    outbox = Outbox(writing, lambda item: item, lambda: loop.call_soon_threadsafe(gone.set))
    for _ in range(3):
        await asyncio.wait_for(outbox.send(b"hello"), 5)
    await asyncio.wait_for(gone.wait(), 5)
    await outbox.aclose()
    await outbox.send(b"after the end")
    os.close(writing)


async def test_a_reader_that_is_slow_is_waited_for() -> None:
    """What nobody reads is not taken: whoever sends waits, and may give up."""
    reading, writing = os.pipe()
    outbox = Outbox(writing, lambda item: item, lambda: None)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(outbox.send(b"x" * 1_000_000), 0.05)
    os.close(reading)


async def test_the_end_of_the_input_can_be_said_from_elsewhere() -> None:
    """As when nobody reads the output: then there is nobody to answer either."""
    reading, writing = os.pipe()
    inbox = Inbox(reading, parse, 100)
    inbox.end()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(inbox.receive(), 5)
    os.close(writing)


def test_the_descriptors_of_the_process_come_back(capfd: pytest.CaptureFixture[str]) -> None:
    """While the wire is open nothing printed reaches it; afterwards all is as it was."""
    wire = StdioWire()
    try:
        os.write(1, b"diverted\n")
        assert os.read(0, 10) == b""
        os.write(wire.output, b"on the wire\n")
    finally:
        wire.restore()
        wire.restore()  # once is enough
    os.write(1, b"back\n")
    out, err = capfd.readouterr()
    assert out == "on the wire\nback\n"
    assert err == "diverted\n"
    os.close(wire.input)
    os.close(wire.output)
