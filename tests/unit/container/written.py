"""Components whose parameters are of every form, for the tests of references."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import indent
from typing import Any

from agentforge.container import AgentForge
from tests.unit.container.kit import Kit

__all__ = ("PARTS", "TWO", "scanned", "with_parts")

PARTS = '''
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from agentforge.plugin import Qualifier


class Clock:
    def __init__(self, zone: str = "UTC") -> None:
        self.zone = zone

class Stranger: ...

class Gives(Protocol):
    def __call__(self) -> Clock: ...

@dataclass
class Shelf:
    clock: Clock
    height: int = 1

class Holder:
    """Takes whatever it is given."""
    def __init__(self, what: Any = None, *, more: dict[str, Any] | None = None) -> None:
        self.what, self.more = what, more

class Named:
    """Takes what reads as a reference."""
    def __init__(self, ref: Any, provider: Any = None) -> None:
        self.got = ref, provider

class ByMapping:
    def __init__(self, clocks: dict[str, Clock]) -> None:
        self.got = clocks

class Later:
    def __init__(self, clock: Callable[[], Clock]) -> None:
        self.got = clock

class MayBeLater:
    def __init__(self, clock: Callable[[], Clock] | None = None) -> None:
        self.got = clock

class LaterStranger:
    def __init__(self, stranger: Callable[[], Stranger]) -> None: ...

class ByProtocol:
    def __init__(self, clock: Gives) -> None:
        self.got = clock

class Picky:
    def __init__(self, clock: Annotated[Clock, Qualifier("second")]) -> None:
        self.got = clock

class PickyLater:
    def __init__(self, clock: Callable[[], Annotated[Clock, Qualifier("second")]]) -> None:
        self.got = clock

class MayPick:
    def __init__(self, clock: Annotated[Clock | None, Qualifier("gone")] = None) -> None:
        self.got = clock

class Maybe:
    def __init__(self, clock: Clock | None, later: Callable[[], Stranger] | None, size: int | None) -> None:
        self.got = (clock, later, size)

class Settled(dict):
    """A mapping of the user's own."""

class Takes:
    def __init__(self, settled: dict[str, int], either: str | Clock = "") -> None:
        self.got = (settled, either)

class PicksGone:
    def __init__(self, clock: Annotated[Clock, Qualifier("secnd")]) -> None: ...

class PicksWrong:
    def __init__(self, clock: Annotated[Stranger, Qualifier("second")]) -> None: ...

class PicksSeveral:
    def __init__(self, clocks: Annotated[list[Clock], Qualifier("second")]) -> None: ...

class Plain:
    def __init__(self, clock: Clock, text: str = "", shelf: Shelf | None = None, ages: dict[str, int] | None = None):
        self.got, self.shelf = clock, shelf

class Left:
    def __init__(self, right: Callable[[], Right]) -> None:
        self.right = right

class Right:
    def __init__(self, left: Left) -> None:
        self.left = left
'''

#: Two beans of one class.
TWO = "clock: {type: component, component: Clock}\nsecond: {type: component, component: Clock}\n"


@contextmanager
def with_parts(kit: Kit) -> Iterator[None]:
    """With the module of these components beside the file; it is forgotten afterwards."""
    kit.write("container_written.py", PARTS)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


def scanned(kit: Kit, beans: str, **options: Any) -> AgentForge:
    """The application of these beans, with the module scanned."""
    return kit.load("scan: [container_written]\nbeans:\n" + indent(beans, "  "), **options)
