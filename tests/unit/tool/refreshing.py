"""What the tests of refreshing tools share: a clock that they set, tables whose tools change, break and come late."""

from __future__ import annotations

import asyncio
from typing import Any

from agentforge import Run, ToolSpecification
from agentforge.tool import RefreshingTools

__all__ = ("INTERVAL", "Clock", "HeldTable", "Table", "answer", "names", "ping", "refreshing")

INTERVAL = 60.0


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float = INTERVAL) -> None:
        """Let time go by; unless given, an interval."""
        self.now += seconds


class Table:
    """What declares the tools: ``rows`` are the present ones, or what goes wrong; ``loads`` counts the looks at it."""

    def __init__(self, *rows: Any) -> None:
        self.rows: Any = list(rows)
        self.loads = 0

    async def load(self) -> Any:
        """The rows."""
        self.loads += 1
        if isinstance(self.rows, BaseException):
            raise self.rows
        return self.rows


class HeldTable(Table):
    """One whose loads say that they have begun, and wait until they may go on."""

    def __init__(self, *rows: Any) -> None:
        super().__init__(*rows)
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    def hold(self) -> None:
        """The next load waits again."""
        self.begun.clear()
        self.may_end.clear()

    async def load(self) -> Any:
        """The rows, in time."""
        found = await super().load()
        self.begun.set()
        await self.may_end.wait()
        return found


def ping(name: str = "ping", description: str = "Ping.", **more: Any) -> ToolSpecification:
    """A declaration."""
    return ToolSpecification(name, description, **more)


def answer(request: Any) -> str:
    """What runs the tools."""
    return f"{request.name} ran"


def refreshing(table: Table, clock: Clock | None = None, **settings: Any) -> RefreshingTools:
    """The source of a table's tools, with the interval of 60 seconds."""
    return RefreshingTools(table.load, answer, interval=INTERVAL, clock=clock or Clock(), **settings)


async def names(source: RefreshingTools) -> list[str]:
    """What it offers."""
    return [each.name for each in await source.tools(Run())]
