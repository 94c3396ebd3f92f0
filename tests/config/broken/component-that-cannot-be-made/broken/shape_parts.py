"""Parts of which some cannot be made."""

from __future__ import annotations

import abc
from typing import Annotated, NamedTuple, Protocol

from agentforge.plugin import Qualifier


class Shape(abc.ABC):
    """Has to be derived from."""

    @abc.abstractmethod
    def area(self) -> float:
        """Differs."""


class Square(Shape):
    """One that is whole."""

    def area(self) -> float:
        """Of one."""
        return 1.0


class Drawn(Protocol):
    """What others fulfil."""

    def draw(self) -> None:
        """On paper."""


class Torn:
    """Its hint raises as it is read."""

    def __init__(self, size: 1 / 0) -> None:
        """It never comes so far."""


class Nameless:
    """Its qualifier is not called."""

    def __init__(self, square: Annotated[Square, Qualifier]) -> None:
        """It never comes so far."""


class Frame(NamedTuple):
    """Made from its fields."""

    square: Square
    width: int = 2
