"""Server-sent events: the table of the format, and that no cut of the bytes changes what comes out."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import ProtocolError
from agentforge.http import SseDecoder, SseEvent


def decode(*chunks: bytes, limit: int = 1 << 20) -> list[SseEvent]:
    decoder = SseDecoder(max_event_bytes=limit)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish()


def data(*texts: bytes) -> list[SseEvent]:
    return [SseEvent(text, None, None) for text in texts]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        pytest.param(b"data: a\n\ndata: b\n\n", data(b"a", b"b"), id="two events"),
        pytest.param(b"data:a\n\n", data(b"a"), id="the space after the colon is optional"),
        pytest.param(b"data:  a\n\n", data(b" a"), id="only one space is dropped"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", data(b"a", b"b"), id="lines end at CRLF"),
        pytest.param(b"data: a\r\rdata: b\r\r", data(b"a", b"b"), id="lines end at CR"),
        pytest.param(b"data: a\r\n\rdata: b\n\r\n", data(b"a", b"b"), id="line ends may be mixed"),
        pytest.param(
            "data: a\u2028b\u2029c\x85d\x0b\x0c\n\n".encode(),
            data("a\u2028b\u2029c\x85d\x0b\x0c".encode()),
            id="nothing else ends a line",
        ),
        pytest.param(b"data: a\ndata: b\n\n", data(b"a\nb"), id="lines of data are joined"),
        pytest.param(b"data: a\ndata:\ndata: b\n\n", data(b"a\n\nb"), id="an empty line of data counts between others"),
        pytest.param(b": ping\n\ndata: a\n: still\n\n: bye\n\n", data(b"a"), id="comments are passed over"),
        pytest.param(
            b"retry: 1500\n\nid: 7\n\ndata:\n\nevent: ping\n\ndata\n\n", [], id="events without data are not delivered"
        ),
        pytest.param(b"event: add\nid: 7\ndata: {}\n\n", [SseEvent(b"{}", "add", "7")], id="event and id"),
        pytest.param(b"event: add\n\ndata: a\n\n", data(b"a"), id="an event's name does not outlive it"),
        pytest.param(b"event:\ndata: a\n\n", data(b"a"), id="an empty name is none"),
        pytest.param(b"id: a\0b\ndata: a\n\n", data(b"a"), id="an id with NUL is ignored"),
        pytest.param(b"event: \xff\ndata: a\n\n", [SseEvent(b"a", "\ufffd", None)], id="a name that is not UTF-8"),
        pytest.param(b"Data: a\nfoo: b\n data: c\n\n", [], id="names are exact"),
        pytest.param(b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n", data(b"a", b"b"), id="more blank lines than needed"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", data(b"a"), id="a byte order mark at the start is dropped"),
        pytest.param(b"data: a\n\n\xef\xbb\xbfdata: b\n\n", data(b"a"), id="a later one is part of a name"),
        pytest.param(b"data: a\n\ndata: b", data(b"a", b"b"), id="the end of the body ends the event"),
        pytest.param(b"data: a\n\ndata: b\n", data(b"a", b"b"), id="also after the line"),
        pytest.param(b"data: a\r\n\r", data(b"a"), id="a last CR may be half of CRLF"),
        pytest.param(b"data: a:b: c\n\n", data(b"a:b: c"), id="further colons belong to the value"),
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"\xef\xbb", [], id="half a byte order mark"),
    ],
)
def test_the_format(stream: bytes, events: list[SseEvent]) -> None:
    """Each row holds whole, and cut at every byte."""
    assert decode(stream) == events
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == events
    assert all(decode(stream[:i], stream[i:]) == events for i in range(len(stream)))


def reference(stream: bytes) -> list[SseEvent]:
    """The format as its standard tells it, line by line over the whole body."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[SseEvent] = []
    lines: list[bytes] = []
    kind: str | None = None
    ident: str | None = None
    for line in [*text.split(b"\n"), b""]:
        if not line:
            if b"\n".join(lines):
                events.append(SseEvent(b"\n".join(lines), kind or None, ident))
            lines, kind, ident = [], None, None
            continue
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            lines.append(value)
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            ident = value.decode("utf-8", "replace")
    return events


NAMES = (b"data: ", b"data:", b"data", b"event: ", b"id: ", b": ", b"retry: 1", b"\xef\xbb\xbf")
VALUES = (b"{}", b"\xc3\xa9", b"\0", b"x", b" ", b'data: {"a": 1}\n\n')
ENDS = (b"\n", b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n")
PIECES = st.sampled_from((*NAMES, *VALUES, *ENDS))


@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 200), max_size=12))
def test_any_cut_gives_the_same_events(pieces: list[bytes], cuts: list[int]) -> None:
    """F6: whatever the bytes and wherever the network cut them, the events are those of the standard."""
    stream = b"".join(pieces)
    at = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(at)]
    assert decode(*chunks) == reference(stream) == decode(stream)


def test_many_events_in_one_chunk() -> None:
    """Two thousand deltas that came in one read are two thousand events."""
    stream = b"".join(b'data: {"n": %d}\n\n' % number for number in range(2000))
    assert decode(stream) == data(*(b'{"n": %d}' % number for number in range(2000)))


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param((b"data: " + b"x" * 100 + b"\n\n",), id="in one chunk"),
        pytest.param((b"data: " + b"x" * 100,), id="not yet ended"),
        pytest.param((b"data: ", *[b"x" * 10] * 10), id="in small chunks"),
        pytest.param((b"data: a\n\n", b"data: " + b"x" * 100 + b"\n", b"\n"), id="after another"),
        pytest.param((b"data: a\n\ndata: ", b"x" * 100 + b"\n\ndata: b\n\n"), id="ended by its second chunk"),
    ],
)
def test_an_event_out_of_bounds_is_refused(chunks: tuple[bytes, ...]) -> None:
    """A server that never ends an event cannot fill the memory."""
    with pytest.raises(ProtocolError, match="larger than 50 bytes"):
        decode(*chunks, limit=50)


def test_the_bound_is_for_one_event_not_for_the_stream() -> None:
    """Many events together may be larger."""
    assert len(decode(b"data: 0123456789\n\n" * 1000, limit=20)) == 1000


@pytest.mark.parametrize("case", ["ST-01", "ST-02", "ST-04", "ST-05"])
def test_faults_seen_in_the_field(shared: Path, case: str) -> None:
    """Recorded streams on which other clients failed."""
    rows = yaml.safe_load((shared / "cases" / "field-cases.yaml").read_text("utf-8"))["cases"]
    row = next(row for row in rows if row["id"] == case)
    chunks = [
        bytes.fromhex(chunk["hex"]) if isinstance(chunk, dict) else chunk.encode() for chunk in row["input"]["chunks"]
    ]
    *contents, done = decode(*chunks)
    text = "".join(json.loads(event.data)["choices"][0]["delta"]["content"] for event in contents)
    assert text == row["expected"]["values"]["content"]
    assert done.data == b"[DONE]"
