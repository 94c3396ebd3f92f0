"""Calls of a reply: whole ones, pieces of calls, or lists of all calls so far, each with an index of its own.

What begins a call has an id and a name; what goes on has an empty id and no name. Servers that give one index to all
calls are told by their ids, by a name behind whole arguments, and by two places of one list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from agentforge.model import ToolExecutionRequest
from agentforge.provider import Answering, dump_arguments, is_object
from agentforge_dashscope.wire.growing import Growing, Replaced

__all__ = ("CallCollector", "RawCall")


class RawCall:
    """A call as it came."""

    __slots__ = ("arguments", "closes", "id", "name")

    def __init__(self, arguments: Growing) -> None:
        self.id = ""
        self.name = ""
        self.arguments = arguments
        #: Whether the last piece of them ended as an object does.
        self.closes = False

    def tool(self, answering: Answering) -> str:
        """Our name of the tool that is called."""
        name = self.name.strip()
        return answering.aliases.get(name, name)

    def request(self, identity: str, answering: Answering) -> ToolExecutionRequest:
        """The call in our form, under this id."""
        arguments = self.arguments.text()
        if not arguments or arguments.isspace():
            arguments = "{}"
        return ToolExecutionRequest(identity, self.tool(answering), arguments, identity == self.id)


class CallCollector:
    """Opens and fills the calls of one reply, in the order of opening; ``growing`` makes the text of their
    arguments."""

    __slots__ = ("_by_id", "_by_index", "_growing", "_repeats", "calls")

    def __init__(self, growing: Callable[[], Growing]) -> None:
        self.calls: list[RawCall] = []
        self._growing = growing
        self._repeats = growing is Replaced
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}

    def add(self, items: list[object], *, whole: bool = False) -> Iterator[tuple[int, str]]:
        """Take the calls, or pieces of calls, of one message; the position of each one's call, and the argument text
        that is new in it. ``whole``: each item is a call."""
        taken: set[int] = set()
        for place, item in enumerate(items):
            if not isinstance(item, dict):
                continue
            found = item.get("function")
            function: Mapping[str, object] = found if isinstance(found, dict) else {}
            identity, name = _word(item.get("id")), _word(function.get("name"))
            text = _arguments(function.get("arguments"))
            if whole:
                position = self._open()
            else:
                position = self._position(item.get("index"), identity, name, text, place)
                if self._repeats and position in taken:
                    position = place if place < len(self.calls) and place not in taken else self._open()
                taken.add(position)
            yield position, self._fill(position, identity, name, text)

    def _fill(self, position: int, identity: str, name: str, text: str) -> str:
        call = self.calls[position]
        if identity and not call.id:
            call.id = identity
            self._by_id.setdefault(identity, position)
        if name and name != call.name:
            call.name = name if self._repeats else call.name + name
        if text:
            call.closes = text.rstrip().endswith("}")
        return call.arguments.add(text)

    def _position(self, index: object, identity: str, name: str, text: str, place: int) -> int:
        if type(index) is int:
            known = self._by_index.get(index)
            if known is None or self._is_another(known, identity):
                # An index that several calls have in common is told apart by their ids.
                known = self._by_id.get(identity) if known is not None else None
                known = self._open() if known is None else known
                self._by_index[index] = known
            elif name and text and not identity and not self._repeats and self._is_whole(known):
                known = self._by_index[index] = self._open()
            return known
        if identity:
            known = self._by_id.get(identity)
            return self._open() if known is None else known
        if self._repeats:
            return place if place < len(self.calls) else self._open()
        return self._open() if name or not self.calls else len(self.calls) - 1

    def _is_whole(self, at: int) -> bool:
        """Whether nothing can follow in the arguments of this call."""
        return self.calls[at].closes and is_object(self.calls[at].arguments.text())

    def _is_another(self, at: int, identity: str) -> bool:
        return bool(identity and self.calls[at].id) and identity != self.calls[at].id

    def _open(self) -> int:
        self.calls.append(RawCall(self._growing()))
        return len(self.calls) - 1


def _word(value: object) -> str:
    return value if isinstance(value, str) and not value.isspace() else ""


def _arguments(value: object) -> str:
    """The argument text; an object is written as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dump_arguments(value)
