"""Newline-delimited JSON: lines out of bytes, wherever they were cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import ProtocolError
from agentforge.http import NdjsonDecoder


def decode(*chunks: bytes, limit: int = 1 << 20) -> list[bytes]:
    decoder = NdjsonDecoder(max_line_bytes=limit)
    return [line for chunk in chunks for line in decoder.feed(chunk)] + decoder.finish()


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        pytest.param(b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}'], id="lines"),
        pytest.param(b'{"a":1}\r\n{"b":2}\r\n', [b'{"a":1}', b'{"b":2}'], id="CRLF"),
        pytest.param(b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}'], id="the last line break may be missing"),
        pytest.param(b"\n\r\n \n{}\n\n", [b"{}"], id="blank lines are passed over"),
        pytest.param('{"a":"x\u2028y"}\n'.encode(), ['{"a":"x\u2028y"}'.encode()], id="nothing else ends a line"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_the_format(stream: bytes, lines: list[bytes]) -> None:
    """Each row holds whole, and cut at every byte."""
    assert decode(stream) == lines
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == lines


@given(
    st.lists(st.sampled_from([b"{}", b"\n", b"\r\n", b" ", b'"x"', b"\xe2\x80\xa8"]), max_size=30),
    st.lists(st.integers(0, 80), max_size=8),
)
def test_any_cut_gives_the_same_lines(pieces: list[bytes], cuts: list[int]) -> None:
    """Against the whole body, split at once."""
    stream = b"".join(pieces)
    at = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(at)]
    assert decode(*chunks) == [line.strip() for line in stream.split(b"\n") if line.strip()]


@pytest.mark.parametrize(
    "chunks", [(b"x" * 51 + b"\n",), (b"x" * 51,), (b"x" * 30, b"x" * 30), (b"x" * 30, b"x" * 30 + b"\n")]
)
def test_a_line_out_of_bounds_is_refused(chunks: tuple[bytes, ...]) -> None:
    """A server that never ends a line cannot fill the memory."""
    with pytest.raises(ProtocolError, match="larger than 50 bytes"):
        decode(*chunks, limit=50)
