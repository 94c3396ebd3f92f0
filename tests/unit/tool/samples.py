"""Types and tools that the tests of declarations, schemas and binding share."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from agentforge.tool.declare import tool

__all__ = ("Level", "Node", "Open", "Pair", "Place", "Shop")


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Node(BaseModel):
    name: str
    kids: list[Node] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


@dataclass
class Place:
    city: str
    tags: dict[str, int] = field(default_factory=dict)


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Shop:
    """Tools of every kind of method."""

    def __init__(self, n: int) -> None:
        self.n = n

    @tool("Price.")
    def price(self, item: str) -> str:
        return f"{item}{self.n}"

    @tool("Kind.")
    @classmethod
    def kind(cls, item: str) -> str:
        return cls.__name__ + item

    @staticmethod
    @tool("Ping.", name="ping_it")
    def ping(item: str) -> str:
        return item

    @tool("Private.")
    def __hidden(self, item: str) -> str:
        return "hidden" + item

    def helper(self, item: str) -> str:
        return item
