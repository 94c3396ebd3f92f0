"""Encoded turns to the part of a body that depends on the conversation: instructions, the id of the turn that the
server keeps, and the input.

The system messages at the beginning are the instructions. They are sent with every request, also where the rest is kept
by the server, as instructions are not inherited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentforge.errors import InvalidRequestError
from agentforge.model import AiMessage, ChatMessage, SystemMessage, TextContent
from agentforge.provider import Pieces, call_id_of, dump_bytes
from agentforge_openai.responses.shape import ItemShape
from agentforge_openai.responses.state import own_state, response_id_of
from agentforge_openai.responses.turns import RESULT

__all__ = ("extend_input", "join_input")

_CUSTOM_RESULT = b'{"type":"custom_tool_call_output"'
_INPUT = b'"input":['


def join_input(pieces: Pieces, shape: ItemShape) -> bytes:
    """All that stands before the end of the input, which stays open.

    Raises `InvalidRequestError` when nothing of the turns can be sent.
    """
    first = _first_after_instructions(pieces)
    made = []
    if first:
        texts = [message.text for message, _ in pieces[:first] if isinstance(message, SystemMessage)]
        made.append(b'"instructions":' + dump_bytes("\n\n".join(texts)))
    rest = _items(pieces[first:], shape)
    if shape.chained:
        at, identity = _kept_turn(pieces, first, shape)
        new = [piece for piece in rest[at + 1 - first :] if piece] if identity is not None else []
        if new:
            # With nothing new to say the whole is sent, as the input may not be empty.
            made.append(b'"previous_response_id":' + dump_bytes(identity))
            rest = new
    items = b",".join([piece for piece in rest if piece])
    if not items:
        raise InvalidRequestError(
            "the request holds no message that can be sent",
            next_step="Send at least one message with a text, an image or a file.",
        )
    made.append(_INPUT + items)
    return b",".join(made)


def extend_input(joined: bytes, last: ChatMessage, pieces: Pieces, shape: ItemShape) -> bytes | None:
    """``joined`` with further turns; ``None`` where these change what stands before them."""
    if isinstance(last, SystemMessage):
        return None
    if shape.chained and any(isinstance(one, AiMessage) for one in (last, *(message for message, _ in pieces))):
        return None  # another turn may be the last that is kept, or what follows it may now be enough
    rest = b",".join([piece for piece in _items(pieces, shape) if piece])
    if not rest:
        return joined
    return joined + rest if joined.endswith(_INPUT) else b"%b,%b" % (joined, rest)


def _first_after_instructions(pieces: Pieces) -> int:
    """Where the conversation begins; all of it, where there is nothing but system messages."""
    for position, (message, _) in enumerate(pieces):
        is_text = all(isinstance(part, TextContent) for part in message.contents)
        if not (is_text and isinstance(message, SystemMessage)):
            return position
    return 0


def _kept_turn(pieces: Pieces, first: int, shape: ItemShape) -> tuple[int, str | None]:
    """The last turn that the server keeps, and its id."""
    for position in range(len(pieces) - 1, first - 1, -1):
        message = pieces[position][0]
        if isinstance(message, AiMessage):
            identity = response_id_of(message.provider_state, shape.provider)
            if identity is not None:
                return position, identity
    return -1, None


def _items(pieces: Pieces, shape: ItemShape) -> Sequence[bytes]:
    """The pieces; results of custom tools in the form that these have."""
    custom: set[bytes] = set()
    made = []
    for message, piece in pieces:
        if isinstance(message, AiMessage):
            custom = {_beginning(call_id_of(one, shape.call_id_pattern)) for one in _custom_calls(message, shape)}
        elif custom and any(piece.startswith(one) for one in custom):
            piece = _CUSTOM_RESULT + piece[len(RESULT) :]
        made.append(piece)
    return made


def _custom_calls(message: AiMessage, shape: ItemShape) -> list[str]:
    found = []
    for call in message.tool_execution_requests:
        item = own_state(call.provider_state, shape.provider).get("item")
        if isinstance(item, Mapping) and item.get("type") == "custom_tool_call":
            found.append(call.id)
    return found


def _beginning(identity: str) -> bytes:
    return RESULT + b',"call_id":' + dump_bytes(identity) + b","
