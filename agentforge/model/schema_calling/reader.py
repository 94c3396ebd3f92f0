"""Reads a reply in the schema's form while it arrives: the answer's text and the calls' arguments come out live.

The same reader serves whole replies, fed at once, so that a stream and a plain call can never disagree. What it hands
out is verbatim: arguments and structured answers are slices of the model's own JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ("CallPiece", "ReplyReader", "SpokenCall", "TextPiece")

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_SPACE = " \t\r\n"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_Step: TypeAlias = Generator[None, str, None]


@dataclass(slots=True)
class TextPiece:
    """A piece of the text that the user is to see."""

    text: str


@dataclass(slots=True)
class CallPiece:
    """A piece of the arguments of call ``index``; ``name`` as far as known."""

    index: int
    name: str | None
    arguments: str


@dataclass(slots=True)
class SpokenCall:
    """A call as read so far."""

    name: str | None = None
    arguments: list[str] = field(default_factory=list)
    has_arguments: bool = False


class _NotTheFormError(Exception):
    """The text departs from the form at this character."""


class ReplyReader:
    """Feed it text in any cuts; ``feed`` returns the new pieces.

    ``in_words`` says that the text is no reply in the form but plain words; ``has_answer`` that an answer began (its
    text so far is ``answer``); ``is_whole`` that the object was closed and nothing but space or a fence followed.

    >>> reader = ReplyReader(answer_is_json=False)
    >>> [piece.text for piece in (*reader.feed('{"answer": "22\\\\u00'), *reader.feed('b0"}'))]
    ['22', '°']
    """

    def __init__(self, *, answer_is_json: bool) -> None:
        self._answer_is_json = answer_is_json
        self._out: list[TextPiece | CallPiece] = []
        self._raw: list[str] = []
        self._answer: list[str] = []
        self._again: str | None = None
        self._in_form = False
        self._root_call: SpokenCall | None = None
        self.calls: list[SpokenCall] = []
        self.has_answer = False
        self.in_words = False
        self.is_whole = False
        self.is_broken = False
        self._step = self._reply()
        next(self._step)

    @property
    def answer(self) -> str:
        """The answer's text so far."""
        return "".join(self._answer)

    def feed(self, text: str) -> list[TextPiece | CallPiece]:
        """Read further text; returns what became known by it."""
        for position, char in enumerate(text):
            if self.in_words:
                self._text(text[position:])
                break
            if self.is_broken:
                break
            self._raw.append(char)
            try:
                self._step.send(char)
                while self._again is not None and not self.in_words:
                    char, self._again = self._again, None
                    self._step.send(char)
            except _NotTheFormError:
                self._depart()
        out, self._out = self._out, []
        return out

    def _depart(self) -> None:
        """Before the first known key the text is plain words; after it the reply is broken."""
        self.is_whole = False
        if self._in_form:
            self.is_broken = True
            return
        self.in_words = True
        self._text("".join(self._raw))

    # -- what comes out --------------------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        if self._out and isinstance(self._out[-1], TextPiece):
            self._out[-1].text += text
        else:
            self._out.append(TextPiece(text))

    def _say(self, text: str) -> None:
        self._answer.append(text)
        self._text(text)

    def _argument(self, index: int) -> Callable[[str], None]:
        call = self.calls[index]

        def sink(text: str) -> None:
            call.arguments.append(text)
            self._call_piece(index, text)

        return sink

    def _call_piece(self, index: int, text: str) -> None:
        name = self.calls[index].name
        last = self._out[-1] if self._out else None
        if isinstance(last, CallPiece) and last.index == index and last.name == name:
            last.arguments += text
        else:
            self._out.append(CallPiece(index, name, text))

    # -- the grammar; each method consumes characters by yielding ----------------------------------------------

    def _reply(self) -> _Step:
        char = yield from self._visible()
        if char == "`":
            yield from self._expect("``")
            while (char := (yield)) not in _SPACE:
                if not char.isalnum():
                    raise _NotTheFormError
            char = yield from self._visible()
        if char != "{":
            raise _NotTheFormError
        seen: set[str] = set()
        yield from self._members(lambda key: self._root_member(key, seen))
        if self._root_call is not None:
            self._check_name(self._root_call)
        self.is_whole = True
        ticks = 0
        while True:
            char = yield
            if char == "`" and ticks < 3:
                ticks += 1
            elif char not in _SPACE:
                raise _NotTheFormError

    def _root_member(self, key: str, seen: set[str]) -> _Step:
        if key in seen or key not in ("answer", "calls", "tool", "arguments"):
            raise _NotTheFormError
        seen.add(key)
        if key in ("tool", "arguments"):
            if "calls" in seen:
                raise _NotTheFormError
            if self._root_call is None:
                self._root_call = SpokenCall()
                self.calls.append(self._root_call)
            self._in_form = True
            yield from self._call_member(key, 0)
        elif key == "answer":
            self._in_form = self.has_answer = True
            char = yield from self._visible()
            if char == '"' and not self._answer_is_json:
                yield from self._string(self._say)
            else:
                yield from self._value(char, self._say)
        else:
            if self._root_call is not None:
                raise _NotTheFormError
            self._in_form = True
            yield from self._list()

    def _list(self) -> _Step:
        if (yield from self._visible()) != "[":
            raise _NotTheFormError
        char = yield from self._visible()
        while char != "]":
            if char != "{":
                raise _NotTheFormError
            index = len(self.calls)
            self.calls.append(SpokenCall())
            yield from self._members(lambda key, index=index: self._call_member(key, index))  # type: ignore[misc]
            self._check_name(self.calls[index])
            char = yield from self._visible()
            if char == ",":
                char = yield from self._visible()
                if char == "]":
                    raise _NotTheFormError
            elif char != "]":
                raise _NotTheFormError

    def _check_name(self, call: SpokenCall) -> None:
        if not call.name:
            raise _NotTheFormError

    def _call_member(self, key: str, index: int) -> _Step:
        call = self.calls[index]
        char = yield from self._visible()
        if key == "tool" and call.name is None and char == '"':
            name: list[str] = []
            yield from self._string(name.append)
            call.name = "".join(name)
            self._call_piece(index, "")
        elif key == "arguments" and not call.has_arguments:
            call.has_arguments = True
            yield from self._value(char, self._argument(index))
        else:
            raise _NotTheFormError

    def _members(self, member: Callable[[str], _Step]) -> _Step:
        char = yield from self._visible()
        while True:
            if char != '"':
                raise _NotTheFormError
            key: list[str] = []
            yield from self._string(key.append)
            yield from self._colon()
            yield from member("".join(key))
            char = yield from self._visible()
            if char == "}":
                return
            if char != ",":
                raise _NotTheFormError
            char = yield from self._visible()

    def _colon(self) -> _Step:
        if (yield from self._visible()) != ":":
            raise _NotTheFormError

    def _expect(self, text: str) -> _Step:
        for wanted in text:
            if (yield) != wanted:
                raise _NotTheFormError

    def _visible(self) -> Generator[None, str, str]:
        while (char := (yield)) in _SPACE:
            pass
        return char

    def _string(self, sink: Callable[[str], object]) -> _Step:
        """A JSON text after its opening quote, decoded; half a surrogate pair becomes a replacement character."""
        high = ""
        while True:
            char = yield
            unit = ""
            if char == "\\":
                char = yield
                if char == "u":
                    digits = ""
                    for _ in range(4):
                        digits += yield
                    if not _HEXADECIMAL.issuperset(digits):
                        raise _NotTheFormError
                    unit = chr(int(digits, 16))
                else:
                    unit = _ESCAPES.get(char, char)
            elif char != '"':
                unit = char
            if high:
                if "\udc00" <= unit <= "\udfff":
                    sink((high + unit).encode("utf-16", "surrogatepass").decode("utf-16"))
                    high = ""
                    continue
                sink(_REPLACEMENT)
                high = ""
            if not unit:
                return
            if "\ud800" <= unit <= "\udbff":
                high = unit
            else:
                sink(_REPLACEMENT if "\udc00" <= unit <= "\udfff" else unit)

    def _value(self, char: str, sink: Callable[[str], None]) -> _Step:
        """Any JSON value from its first character on, handed out verbatim."""
        if char in "{[":
            closing: list[str] = []
            in_text = False
            while True:
                sink(char)
                if in_text:
                    if char == "\\":
                        sink((yield))
                    elif char == '"':
                        in_text = False
                elif char == '"':
                    in_text = True
                elif char in "{[":
                    closing.append("}" if char == "{" else "]")
                elif char in "}]":
                    if closing.pop() != char:
                        raise _NotTheFormError
                    if not closing:
                        return
                char = yield
        if char == '"':
            sink(char)
            while (char := (yield)) != '"':
                sink(char)
                if char == "\\":
                    sink((yield))
            sink(char)
            return
        if not (char.isalnum() or char == "-"):
            raise _NotTheFormError
        while char.isalnum() or char in "+-.":
            sink(char)
            char = yield
        self._again = char
