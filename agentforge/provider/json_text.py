"""JSON to bytes in one form: compact, UTF-8, and safe for text that is not; and JSON of servers, read strictly.

Servers written in Python may send ``NaN`` and ``Infinity``, which JSON has not and no later request or store could
hold. They are found without a look at anything else: the strict reading stops at the first one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from agentforge.errors import ConfigurationError, ToolArgumentsError
from agentforge.model import Notice, ToolExecutionRequest

__all__ = (
    "MENDED",
    "HeldHalf",
    "dump_arguments",
    "dump_bytes",
    "dump_text",
    "is_object",
    "joined_text",
    "load",
    "load_mended",
    "sent_arguments",
    "utf8",
)

#: What a reply says in which numbers were replaced; see `load_mended`.
MENDED = Notice(
    "number_not_finite", "the reply holds a number that JSON has not (NaN or infinite); null was put in its place"
)

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ARGUMENTS = {"function": "arguments", "function_call": "arguments", "custom": "input"}

#: Compact JSON text of arguments; what JSON cannot hold stays in it, for the check of the arguments to refuse.
dump_arguments = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dump_text(value: object) -> str:
    """Compact JSON text. Raises `ConfigurationError` for a value that JSON cannot hold, or that is nested too deep."""
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        raise ConfigurationError(
            "a value of the request is nested too deep to be written as JSON",
            next_step="Use a schema or a value with fewer levels.",
        ) from None
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"a value of the request cannot be written as JSON: {error}",
            next_step="Use texts, finite numbers, booleans, None, lists and mappings with text keys.",
        ) from error


def dump_bytes(value: object) -> bytes:
    """Compact JSON as UTF-8. Halves of surrogate pairs become the replacement character.

    >>> dump_bytes({"a": "\\ud83d"}).decode()
    '{"a":"\ufffd"}'
    """
    return utf8(dump_text(value))


def joined_text(pieces: Sequence[str]) -> str:
    """The text that came in ``pieces``, in which halves of a surrogate pair that a cut had parted are one character.

    >>> joined_text(["a\\ud83d", "\\ude00b"]) == "a\\U0001f600b"
    True
    """
    text = pieces[0] if len(pieces) == 1 else "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


class HeldHalf:
    """Keeps half of a surrogate pair at the end of a piece of text until the next piece, so that none is shown alone.

    Needed only where ``half`` is set or a piece ends in a character from U+D800 on, which callers ask first.
    """

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half = ""

    def shown(self, text: str) -> str:
        """What of the text so far can be shown and was not.

        >>> held = HeldHalf()
        >>> held.shown("a\\ud83d"), held.shown("\\ude00b") == "\\U0001f600b"
        ('a', True)
        """
        text, self.half = self.half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        return joined_text((text,))


def utf8(text: str) -> bytes:
    """The text as UTF-8, by the same rule."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, where two halves that belong together become one character again.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refuse(text)
    return value


#: The value of a JSON text; raises ``ValueError`` also for numbers that no JSON can hold (``NaN``, ``1e400``).
load = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite).decode


def is_object(text: str | bytes) -> bool:
    """Whether this is the whole text of a JSON object; numbers that are none do not count against it.

    >>> is_object('{"a": NaN}'), is_object('{"a"'), is_object("[]")
    (True, False, False)
    """
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def sent_arguments(call: ToolExecutionRequest) -> str:
    """The arguments of an earlier call as they may go back: the text of a JSON object, as anything else would make
    every later request of the conversation fail. It is the call's own where it is one; what our parser can read is sent
    as it was read, and the rest stays visible to the model.

    >>> sent_arguments(ToolExecutionRequest("c", "a", '{"x":'))
    '{"invalid_arguments":"{\\\\"x\\\\":"}'
    """
    text = call.arguments
    try:
        if isinstance(load(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    try:
        return dump_text(call.arguments_as_map())
    except ToolArgumentsError:
        return dump_text({"invalid_arguments": text})


def load_mended(content: str | bytes) -> tuple[Any, bool]:
    """The value with null for each number that no JSON can hold, and whether there was one. Objects of arguments keep
    theirs, as no other value may take its place.

    >>> load_mended('{"usage": {"cost": NaN}}')
    ({'usage': {'cost': None}}, True)
    """
    found: list[float] = []
    value = _mended(json.loads(content), None, found)
    return value, bool(found)


def _mended(value: Any, key: str | None, found: list[float]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        found.append(value)
        return None
    if isinstance(value, Mapping):
        kept = _ARGUMENTS.get(key or "")
        return {name: item if name == kept else _mended(item, name, found) for name, item in value.items()}
    if isinstance(value, list):
        return [_mended(item, None, found) for item in value]
    return value
