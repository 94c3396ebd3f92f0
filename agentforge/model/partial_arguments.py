"""The arguments of calls that are still being written, for whoever shows them while they come.

What is shown is no more than what was written: an object, a list, a text that has begun. It is for display; what runs a
tool reads the whole text (`parse_arguments`). Nothing here is loaded, and nothing of it runs, unless it is used.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from agentforge.errors import ToolArgumentsError
from agentforge.model.arguments import DEFAULT_ARGUMENT_LIMITS, ArgumentLimits, parse_arguments
from agentforge.model.events import Event, ResponseDone, ToolCallDelta
from agentforge.model.exact_number import read_number

__all__ = ("PartialArguments",)

_SPACE = re.compile(r"[ \t\n\r]*")
#: What `parse_arguments` passes over in front of an object.
_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\r?\n")
_FENCE_BEGUN = re.compile(r"`{1,3}|```[a-zA-Z0-9_-]*[ \t]*\r?")
_PLAIN = re.compile(r'[^"\\]+')
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:(\.[0-9]+)?([eE][+-]?[0-9]+)?)")
_NUMBER_TEXT = re.compile(r"[-+.eE0-9]+")
_NUMBER_LENGTH = 1000
_FENCE_LENGTH = 100
_WORDS = {"true": True, "false": False, "null": None}
#: How a text ends, white space aside, in which `parse_arguments` may find an object: a text or a fenced one.
_TEXT_ENDED = re.compile(r'(?:}|\\[fnrt]|\\u[0-9a-fA-F]{4})"(?:```)?\Z')
_TAIL_LENGTH = 10
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NOTHING = object()


class PartialArguments:
    """Collects the pieces of a reply's calls and says what their arguments are so far.

    Give `add` every event of one run's stream; calls are named by their index in the reply, and those of the reply
    before are forgotten when the next one begins. `arguments` is an object at any time and never raises: a text that
    has ended is read as `parse_arguments` reads it, one that is no such object up to where it went wrong. A text, or a
    number, that is still being written is there as far as it came, or not at all with ``unfinished=False``; objects
    and lists that are not closed are there in either case; a key is there once its value has begun, and ``true``,
    ``false`` and ``null`` once they are whole. The result is to be read, not changed.

    Adding a piece keeps it and does no more. Asking reads the pieces that came since, and copies what is still open:
    the members of objects and lists that are not closed, the text that is not. So all askings together read the text
    once, and each copies at most what it returns. Once more is read whole what has ended, each time something comes
    behind it. What is beyond ``limits`` is not read.

    >>> calls = PartialArguments()
    >>> calls.add(ToolCallDelta(0, "c1", "get_weather", '{"city": "Hang'))
    >>> calls.arguments(), calls.arguments(unfinished=False)
    ({'city': 'Hang'}, {})
    """

    __slots__ = ("_calls", "_ended", "_limits")

    def __init__(self, *, limits: ArgumentLimits = DEFAULT_ARGUMENT_LIMITS) -> None:
        self._limits = limits
        self._calls: dict[int, _Call] = {}
        self._ended = False

    def add(self, event: Event) -> None:
        """Take one event; those that are no piece of a call change nothing."""
        if not isinstance(event, ToolCallDelta):
            self._ended = self._ended or isinstance(event, ResponseDone)
            return
        if self._ended:
            self.clear()
        call = self._calls.get(event.index)
        if call is None or (event.id is not None and call.id is not None and event.id != call.id):
            call = self._calls[event.index] = _Call(self._limits)
        call.id = event.id if event.id is not None else call.id
        call.name = event.name if event.name is not None else call.name
        call.add(event.arguments_delta)

    def arguments(self, index: int = 0, *, unfinished: bool = True) -> dict[str, Any]:
        """What the arguments of a call are so far; an empty object for a call that has not begun."""
        call = self._calls.get(index)
        return {} if call is None else call.read(unfinished=unfinished)

    def name(self, index: int = 0) -> str | None:
        """The tool's name, as far as it is known."""
        call = self._calls.get(index)
        return None if call is None else call.name

    @property
    def indexes(self) -> tuple[int, ...]:
        """The calls that have begun, in the order in which they did."""
        return tuple(self._calls)

    def clear(self) -> None:
        """Forget the calls, as when the attempt they belong to does not count (`AttemptDiscarded`)."""
        self._calls.clear()
        self._ended = False

    def __repr__(self) -> str:
        return f"PartialArguments({len(self._calls)} calls)"


class _Call:
    """The pieces of one call."""

    __slots__ = ("_limits", "_pieces", "_reader", "_room", "_text", "_whole", "id", "name")

    def __init__(self, limits: ArgumentLimits) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self._limits = limits
        #: Pieces that were not read, and the ones that were.
        self._pieces: list[str] = []
        self._text: list[str] = []
        #: No text within the limit has more characters than bytes; one more than that shows that it is too long.
        self._room = limits.max_bytes + 1
        self._reader = _Reader(limits)
        #: The whole object, once the text has ended.
        self._whole: dict[str, Any] | None = None

    def add(self, piece: str) -> None:
        """Keep it."""
        if piece and self._room > 0:
            self._pieces.append(piece[: self._room])
            self._room -= len(piece)

    def read(self, *, unfinished: bool) -> dict[str, Any]:
        """The object so far."""
        if self._pieces:
            new = "".join(self._pieces)
            self._pieces.clear()
            self._text.append(new)
            self._whole = None
            self._reader.read(new)
            if self._reader.may_have_ended:
                with suppress(ToolArgumentsError):
                    self._whole = parse_arguments("".join(self._text), limits=self._limits)
        return self._whole if self._whole is not None else self._reader.value(unfinished=unfinished)


class _Reader:
    """Reads an object's text in pieces. ``_rest`` is what cannot be read before more comes: part of a number, a word,
    an escape or a fence, and so never long."""

    __slots__ = ("_depth", "_expects", "_keys", "_members", "_number", "_open", "_rest", "_tail", "_text")

    def __init__(self, limits: ArgumentLimits) -> None:
        self._depth = limits.max_depth
        self._members = limits.max_members
        #: Objects and lists that are not closed, outer first, and the key in each object whose value comes.
        self._open: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str | None] = []
        #: The text that is not closed.
        self._text: list[str] = []
        self._rest = ""
        self._number = ""
        #: The end of a text in which no object began, without white space.
        self._tail = ""
        #: start, key, first_key, colon, value, first_value, comma, close, text, key_text, done, wrong
        self._expects = "start"

    @property
    def may_have_ended(self) -> bool:
        """Whether what was read may be a whole text: an object that is closed; or a text with an object in it, which
        only `parse_arguments` reads."""
        return self._expects == "done" or _TEXT_ENDED.search(self._tail) is not None

    def read(self, new: str) -> None:
        """Read on, up to what is not whole yet."""
        text, at = self._rest + new, 0
        self._number = ""
        while self._expects not in ("done", "wrong"):
            if self._expects not in ("text", "key_text", "start"):
                at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it always fits
            if at == len(text):
                break
            after = self._step(text, at)
            if after is None:
                break
            at = after
        self._rest = text[at:] if self._expects not in ("done", "wrong") else ""
        self._tail = "" if self._open else (self._tail + "".join(new.split()))[-_TAIL_LENGTH:]

    def value(self, *, unfinished: bool) -> dict[str, Any]:
        """The object so far. What is open is copied, since it grows."""
        if not self._open:
            return {}
        copies: list[Any] = [each.copy() for each in self._open]
        for outer, key, inner in zip(copies, self._keys, copies[1:], strict=False):
            _put(outer, key, inner)
        last: Any = _NOTHING
        if unfinished and self._expects == "text":
            last = "".join(self._text)
            self._text[:] = [last]
        elif unfinished and self._number:
            last = _number(self._number)
        if last is not _NOTHING:
            _put(copies[-1], self._keys[-1], last, new=True)
        root: dict[str, Any] = copies[0]
        return root

    # -- one step: where to go on, or None when more must come --------------------------------------

    def _step(self, text: str, at: int) -> int | None:
        expects = self._expects
        if expects in ("text", "key_text"):
            return self._read_text(text, at)
        if expects == "start":
            return self._start(text, at)
        sign = text[at]
        if expects in ("value", "first_value"):
            if not (expects == "first_value" and sign in ",]"):
                return self._value(text, at, sign)
        elif expects in ("key", "first_key") and sign == '"':
            self._expects = "key_text"
            return at + 1
        elif expects == "colon" and sign == ":":
            self._expects = "value"
            return at + 1
        if sign == "," and expects in ("comma", "first_key", "first_value"):
            # A comma directly before the closing bracket is passed over, as parse_arguments does.
            if expects != "comma":
                self._expects = "close"
            else:
                self._expects = "key" if isinstance(self._open[-1], dict) else "first_value"
            return at + 1
        if expects not in ("colon", "value") and sign == ("}" if isinstance(self._open[-1], dict) else "]"):
            return self._close(at)
        return self._wrong(at)

    def _start(self, text: str, at: int) -> int | None:
        if text[at].isspace() or text[at] == "\ufeff":
            return at + 1
        if text[at] == "{":
            return self._begin({}, at)
        fence = _FENCE.match(text, at)
        if fence is not None:
            return fence.end()
        may_be_one = len(text) - at < _FENCE_LENGTH and _FENCE_BEGUN.fullmatch(text, at)
        return None if may_be_one else self._wrong(at)

    def _value(self, text: str, at: int, sign: str) -> int | None:
        if sign == '"':
            self._expects = "text"
            return at + 1
        if sign in "{[":
            return self._begin({} if sign == "{" else [], at)
        if sign == "-" or sign.isdigit():
            return self._read_number(text, at)
        for word, value in _WORDS.items():
            if text.startswith(word, at):
                return self._complete(value, at + len(word))
            if word.startswith(text[at:]):
                return None
        return self._wrong(at)

    def _read_number(self, text: str, at: int) -> int | None:
        found = _NUMBER_TEXT.match(text, at)
        if found is None or found.end() - at > _NUMBER_LENGTH:
            return self._wrong(at)
        if found.end() == len(text):
            whole = _NUMBER.match(found[0])
            self._number = whole[0] if whole is not None else ""
            return None
        value = _number(found[0]) if _NUMBER.fullmatch(found[0]) else _NOTHING
        return self._wrong(at) if value is _NOTHING else self._complete(value, found.end())

    def _read_text(self, text: str, at: int) -> int | None:
        if text[at] == '"':
            value = "".join(self._text)
            self._text.clear()
            if self._expects == "text":
                return self._complete(value, at + 1)
            if value in self._open[-1]:  # parse_arguments refuses it
                return self._wrong(at)
            self._keys[-1] = value
            self._expects = "colon"
            return at + 1
        plain = _PLAIN.match(text, at)
        if plain is not None:
            if _SURROGATE.search(plain[0]):
                return self._wrong(at)
            self._text.append(plain[0])
            return plain.end()
        return self._escape(text, at)

    def _escape(self, text: str, at: int) -> int | None:
        found = _ESCAPE.match(text, at)
        if found is None:
            return None if _ESCAPE_BEGUN.fullmatch(text, at) else self._wrong(at)
        if found[2] is not None:
            self._text.append(_ESCAPED.get(found[2], found[2]))
            return found.end()
        code = int(found[1], 16)
        if not 0xD800 <= code < 0xE000:
            self._text.append(chr(code))
            return found.end()
        second = _ESCAPE.match(text, found.end())
        if (
            second is None
            and code < 0xDC00
            and (found.end() == len(text) or _ESCAPE_BEGUN.fullmatch(text, found.end()))
        ):
            return None
        low = int(second[1], 16) if second is not None and second[1] is not None else 0
        if second is None or code >= 0xDC00 or not 0xDC00 <= low < 0xE000:
            return self._wrong(at)
        self._text.append(chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)))
        return second.end()

    # -- what a step does ------------------------------------------------------------------------

    def _begin(self, made: dict[str, Any] | list[Any], at: int) -> int:
        if len(self._open) >= self._depth or (self._open and not self._count()):
            return self._wrong(at)
        if self._open:
            _put(self._open[-1], self._keys[-1], made, new=True)
        self._open.append(made)
        self._keys.append(None)
        self._expects = "first_key" if isinstance(made, dict) else "first_value"
        return at + 1

    def _complete(self, value: Any, after: int) -> int:
        if not self._count():
            return self._wrong(after)
        _put(self._open[-1], self._keys[-1], value, new=True)
        self._expects = "comma"
        return after

    def _close(self, at: int) -> int:
        if len(self._open) == 1:
            self._expects = "done"
        else:
            self._open.pop()
            self._keys.pop()
            self._expects = "comma"
        return at + 1

    def _count(self) -> bool:
        self._members -= 1
        return self._members >= 0

    def _wrong(self, at: int) -> int:
        """What is not an object's text ends here; what came before stays."""
        self._text.clear()
        self._expects = "wrong"
        return at


def _put(holder: Any, key: str | None, value: Any, *, new: bool = False) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    elif new:
        holder.append(value)
    else:
        holder[-1] = value


def _number(text: str) -> Any:
    found = _NUMBER.fullmatch(text)
    try:
        return read_number(text) if found is not None and (found[1] or found[2]) else int(text)
    except ValueError:
        return _NOTHING
