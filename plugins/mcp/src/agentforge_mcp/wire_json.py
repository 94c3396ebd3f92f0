"""Messages as servers write them: read strictly, and where that fails once more with what servers get a little wrong.

A text that was cut in the middle of a character (a program in JavaScript does it easily) holds half of one; the schema
of some tool is nested deeper than the SDK reads. Neither is worth the whole message. Loads the SDK's types.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

__all__ = ("answered_id", "is_answer_to", "message_of", "whole_characters")

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.", re.DOTALL
)
_HALF = len(rb"\ud83d")
_DIGITS = 4_300  # of a number that Python reads as a whole one
_NUMBER = rb'"id"\s*:\s*"?(\d{1,15})(?:\.0+)?"?\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"[^"]{0,8}"\s*'
_AT_THE_START = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _NUMBER + rb"[,}]")
_AT_THE_END = re.compile(rb"[,{]\s*" + _NUMBER + rb"(?:,\s*" + _VERSION + rb")?\}\s*$")


def message_of(data: bytes) -> JSONRPCMessage:
    """The message that these bytes are. Raises `ValueError` where they are none."""
    try:
        return jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        if not data.lstrip().startswith(b"{"):
            raise
    try:
        found = json.loads(whole_characters(data).decode(errors="replace"), parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return jsonrpc_message_adapter.validate_python(found, by_name=False)


def whole_characters(data: bytes) -> bytes:
    r"""JSON in which escapes that stand for half a character stand for the one that says so.

    >>> whole_characters(rb'"\ud83d\ude00 \ud83d \\ud83d"')
    b'"\\ud83d\\ude00 \\ufffd \\\\ud83d"'
    """
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE.sub(lambda found: rb"\ufffd" if len(found[0]) == _HALF else found[0], data)


def answered_id(start: bytes, end: bytes) -> int | None:
    """Of a message that cannot be read: the request that it answers, told by how it begins and ends; ``None`` where it
    is no answer, or does not say in one of the places where servers write it.

    >>> answered_id(b'{"result": {"text": "', b'"}, "jsonrpc": "2.0", "id": 7}')
    7
    """
    if (b'"jsonrpc"' not in start and b'"jsonrpc"' not in end) or b'"method"' in start[:500]:
        return None
    found = _AT_THE_START.match(start) or _AT_THE_END.search(end)
    return int(found[1]) if found is not None else None


def is_answer_to(message: JSONRPCMessage, request: object) -> bool:
    """Whether it answers the request of that id; a number may come back as text."""
    return not isinstance(message, (JSONRPCRequest, JSONRPCNotification)) and str(message.id) == str(request)


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= _DIGITS else float(digits)
