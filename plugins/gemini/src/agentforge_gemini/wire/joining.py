"""Turns to the instructions and contents of a body.

- Neighbours of one role become one content, but for the results of calls, which stand alone: as many and in the order
  of the calls before them, each with the vendor's own id of its call where that came with one.
- The first content is a user's; a conversation that begins with the model's turn gets a line before it.
- System messages are the ``systemInstruction``, wherever they stand, as the API knows no others.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentforge.errors import InvalidRequestError
from agentforge.model import AiMessage, ChatMessage, SystemMessage, ToolExecutionResultMessage
from agentforge.provider import Pieces
from agentforge_gemini.wire.shape import GeminiTurnShape
from agentforge_gemini.wire.turns import given_ids, is_sent

__all__ = ("BEGINNING", "extended_turns", "join_turns")

#: What stands before a conversation that begins with the model's turn.
BEGINNING = "(The conversation begins with your message.)"
_FIRST = b'{"text":"' + BEGINNING.encode() + b'"}'
_USER, _MODEL = b'{"role":"user","parts":[', b'{"role":"model","parts":['
_RESULT = b'{"functionResponse":{'
_CONTENTS = b'"contents":['

#: A content while it is joined: its role, its parts, and whether these are results.
_Run = tuple[bytes, list[bytes], bool]


def join_turns(pieces: Pieces, shape: GeminiTurnShape) -> bytes:
    """The members ``systemInstruction`` (where there are instructions) and ``contents``.

    Raises `InvalidRequestError` when there is no message beside instructions.
    """
    top = [piece for message, piece in pieces if piece and isinstance(message, SystemMessage)]
    runs = _runs(pieces, shape)
    if not runs:
        raise InvalidRequestError(
            "the request holds no message that can be sent beside instructions",
            next_step="Send at least one message with a text, an image or a file.",
        )
    if runs[0][0] is _MODEL:
        runs.insert(0, (_USER, [_FIRST], False))
    head = b'"systemInstruction":{"parts":[%b]},' % b",".join(top) if top else b""
    return b"".join((head, _CONTENTS, _contents(runs), b"]"))


def extended_turns(joined: bytes, last: ChatMessage, pieces: Pieces, shape: GeminiTurnShape) -> bytes | None:
    """The same for a conversation that only grew behind ``last``; ``None`` where all must be joined anew."""
    if any(isinstance(message, SystemMessage) for message, _ in pieces):
        return None
    runs = _runs(pieces, shape)
    if not runs:
        return joined
    role, parts, are_results = runs[0]
    view = memoryview(joined)
    if are_results:
        return b"".join((view[:-1], b",", _contents(runs), b"]"))
    if isinstance(last, SystemMessage) or not is_sent(last, shape):
        return None
    if role is (_USER if isinstance(last, AiMessage) else _MODEL):
        return b"".join((view[:-1], b",", _contents(runs), b"]"))
    if isinstance(last, ToolExecutionResultMessage):
        return None  # media may stand behind the results, which this one belongs to
    rest = b"".join((b",", _contents(runs[1:]))) if runs[1:] else b""
    return b"".join((view[:-3], b",", b",".join(parts), b"]}", rest, b"]"))


def _runs(pieces: Pieces, shape: GeminiTurnShape) -> list[_Run]:
    runs: list[_Run] = []
    ids: list[bytes] = []
    for message, piece in pieces:
        if isinstance(message, SystemMessage):
            continue
        is_result = False
        if isinstance(message, AiMessage):
            role = _MODEL
            if message.has_tool_execution_requests:
                ids = given_ids(message, shape)[::-1]
        else:
            role = _USER
            is_result = piece.startswith(_RESULT)
            if is_result and ids:
                identity = ids.pop()
                if identity:
                    piece = b"".join((_RESULT, identity, memoryview(piece)[len(_RESULT) :]))
        if not piece:
            continue
        if runs and runs[-1][0] is role and runs[-1][2] is is_result:
            runs[-1][1].append(piece)
        else:
            runs.append((role, [piece], is_result))
    return runs


def _contents(runs: Iterable[_Run]) -> bytes:
    return b",".join([b"%b%b]}" % (role, b",".join(parts)) for role, parts, _ in runs])
