"""What a server writes to its standard error: secrets are masked, also where only a piece of the text is kept."""

from __future__ import annotations

import logging

import pytest

from agentforge.masking import Secrets
from agentforge_mcp.server_log import ServerLog

SECRET = "sk-canary-" + "0123456789" * 4


@pytest.mark.parametrize("ended", [False, True], ids=["one line", "more lines"])
@pytest.mark.parametrize("before", [0, 10, 16_384 - 25, 16_384 - 5, 20_000])
def test_the_last_words_hold_no_half_of_a_secret(before: int, ended: bool) -> None:
    """Wherever what is kept begins: it may be in the middle of one."""
    log = ServerLog("desk", Secrets([SECRET]))
    log.feed(f"{SECRET} {'x' * before}".encode())
    if ended:
        log.feed(b"\nlast")
    text = "\n".join(log.last_lines())
    assert SECRET[-8:] not in text
    assert not ended or text.endswith("last")


def test_a_long_line_in_pieces_shows_no_half_of_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    """Of a line whose beginning was let go the rest is not logged; the next line is."""
    log = ServerLog("desk", Secrets([SECRET]))
    with caplog.at_level(logging.INFO, "agentforge.mcp"):
        data = ("x" * 16_380 + SECRET + "\nnext\n").encode()
        for at in range(0, len(data), 16_390):
            log.feed(data[at : at + 16_390])
        caplog.handler.setLevel(logging.WARNING)
        caplog.set_level(logging.WARNING, "agentforge.mcp")
        log.feed(SECRET[:20].encode())
        caplog.handler.setLevel(logging.INFO)
        caplog.set_level(logging.INFO, "agentforge.mcp")
        log.feed(SECRET[20:].encode() + b"\nlast\n")
    texts = [record.getMessage() for record in caplog.records]
    assert [text.removeprefix("desk: ") for text in texts[-2:]] == ["next", "last"]
    assert not any(SECRET[-8:] in text for text in texts)
