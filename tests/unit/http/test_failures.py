"""Why no connection was made, in plain words: found at any depth below a library's exception."""

from __future__ import annotations

import socket
import ssl

import pytest

from agentforge.http import plain_reason

NO_TLS = ssl.SSLError(1, "wrong version number")
NO_TLS.reason = "WRONG_VERSION_NUMBER"


@pytest.mark.parametrize(
    ("cause", "says", "step"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "there is no such host", "name server"),
        (ConnectionRefusedError(111, "refused"), "nothing listens there", "Start the server"),
        (ExceptionGroup("all", [OSError(5), ConnectionRefusedError(111, "no")]), "nothing listens there", "Start"),
        (NO_TLS, "it does not speak TLS; is the address http://?", "http://"),
    ],
)
def test_what_lies_below_says_why(cause: Exception, says: str, step: str) -> None:
    """With what to do."""
    error = RuntimeError("words")
    error.__cause__ = RuntimeError("more words")
    error.__cause__.__cause__ = cause
    plain = plain_reason(error)

    assert plain is not None
    assert plain[0] == says and step in plain[1]


@pytest.mark.parametrize(
    "cause",
    [
        socket.gaierror(socket.EAI_AGAIN, "Temporary failure"),
        OSError(113, "No route to host"),
        ssl.SSLError(1, "another"),
        ValueError("x"),
    ],
)
def test_what_cannot_be_told_is_left_to_its_own_words(cause: Exception) -> None:
    """A guess would send its reader the wrong way."""
    assert plain_reason(cause) is None


def test_a_circle_of_causes_has_an_end() -> None:
    """Libraries make such."""
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert plain_reason(one) is None
