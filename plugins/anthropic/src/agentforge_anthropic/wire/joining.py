"""Turns to the instructions and messages of a body.

- Neighbours of one role become one message: results of a turn stand first in it, a user's text after them.
- The first message is a user's; a conversation that begins with the model's turn gets a line before it.
- System messages before the first turn are the top-level ``system``. Later ones stay in their place where the model
  takes them: behind a user's message, before the model's or at the end, as the API asks for; a user's messages on both
  sides of one come together before it. Elsewhere they join the top-level instructions.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentforge.errors import InvalidRequestError
from agentforge.model import AiMessage, ChatMessage, SystemMessage, TextContent
from agentforge.provider import Pieces
from agentforge_anthropic.wire.shape import MessagesTurnShape
from agentforge_anthropic.wire.turns import encode_turn, is_sent

__all__ = ("BEGINNING", "extended_turns", "join_turns")

#: What stands before a conversation that begins with the model's turn.
BEGINNING = "(The conversation begins with your message.)"
_FIRST = b'{"type":"text","text":"' + BEGINNING.encode() + b'"}'
_USER, _ASSISTANT = b'{"role":"user","content":[', b'{"role":"assistant","content":['
_SYSTEM = b'{"role":"system","content":['
_MESSAGES = b'"messages":['


def join_turns(pieces: Pieces, shape: MessagesTurnShape) -> bytes:
    """The members ``system`` (where there are instructions) and ``messages``.

    Raises `InvalidRequestError` when there is no message beside instructions.
    """
    top: list[bytes] = []
    runs: list[tuple[bytes, list[bytes]]] = []
    waiting: list[bytes] = []
    for message, piece in _ended(pieces, shape):
        if not piece:
            continue
        if isinstance(message, SystemMessage):
            (waiting if runs and shape.system_in_place else top).append(piece)
            continue
        role = _ASSISTANT if isinstance(message, AiMessage) else _USER
        if waiting and role is _ASSISTANT:
            _place(waiting, runs, top)
            waiting = []
        if not runs and role is _ASSISTANT:
            runs.append((_USER, [_FIRST]))
        if runs and runs[-1][0] is role:
            runs[-1][1].append(piece)
        else:
            runs.append((role, [piece]))
    if waiting:
        _place(waiting, runs, top)
    if not runs:
        raise InvalidRequestError(
            "the request holds no message that can be sent beside instructions",
            next_step="Send at least one message with a text, an image or a file.",
        )
    parts: list[bytes] = []
    if top:
        parts += (b'"system":[', b",".join(top)[:-1] if shape.system_mark else b",".join(top))
        parts.append(shape.system_mark + b"}]," if shape.system_mark else b"],")
    parts += (_MESSAGES, _messages(runs), b"]")
    return b"".join(parts)


def extended_turns(joined: bytes, last: ChatMessage, pieces: Pieces, shape: MessagesTurnShape) -> bytes | None:
    """The same for a conversation that only grew behind ``last``; ``None`` where all must be joined anew."""
    if isinstance(last, SystemMessage) or not is_sent(last, shape) or _ends_in_space(last):
        return None
    runs: list[tuple[bytes, list[bytes]]] = []
    role = _ASSISTANT if isinstance(last, AiMessage) else _USER
    for message, piece in _ended(pieces, shape):
        if isinstance(message, SystemMessage):
            return None
        if not piece:
            continue
        kind = _ASSISTANT if isinstance(message, AiMessage) else _USER
        if runs and runs[-1][0] is kind:
            runs[-1][1].append(piece)
        else:
            runs.append((kind, [piece]))
    if not runs:
        return joined
    view = memoryview(joined)
    if runs[0][0] is role and joined.rfind(_SYSTEM) > joined.rfind(role):
        return None  # instructions stand between the two
    if runs[0][0] is not role:
        return b"".join((view[:-1], b",", _messages(runs), b"]"))
    rest = b"".join((b",", _messages(runs[1:]))) if runs[1:] else b""
    return b"".join((view[:-3], b",", b",".join(runs[0][1]), b"]}", rest, b"]"))


def _place(waiting: list[bytes], runs: list[tuple[bytes, list[bytes]]], top: list[bytes]) -> None:
    """Instructions behind the user's message that they follow, or at the top where they follow none."""
    if runs[-1][0] is _USER:
        runs.append((_SYSTEM, waiting))
    else:
        top += waiting


def _messages(runs: Iterable[tuple[bytes, list[bytes]]]) -> bytes:
    return b",".join([b"%b%b]}" % (role, b",".join(blocks)) for role, blocks in runs])


def _ended(pieces: Pieces, shape: MessagesTurnShape) -> Pieces:
    """The pieces; a last turn of the model is encoded anew without the white space at its end, which is refused."""
    if not pieces or not _ends_in_space(message := pieces[-1][0]):
        return pieces
    assert isinstance(message, AiMessage)
    parts = list(message.contents)
    while parts and isinstance(part := parts[-1], TextContent) and part.text[-1:].isspace():
        parts.pop()
        if text := part.text.rstrip():
            parts.append(TextContent(text, part.provider_state))
    ended = AiMessage(parts, provider_state=message.provider_state)
    return [*pieces[:-1], (message, encode_turn(ended, shape, []))]


def _ends_in_space(message: ChatMessage) -> bool:
    if not isinstance(message, AiMessage) or not message.contents:
        return False
    part = message.contents[-1]
    return isinstance(part, TextContent) and part.text[-1:].isspace()
