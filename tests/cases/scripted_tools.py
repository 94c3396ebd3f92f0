"""Tools as a scripted conversation declares them; waits are for what happens, not for a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from agentforge import BoundTool, ReturnBehavior, tool
from agentforge.tool.execution.default_executor import bound_tools_from

__all__ = ("ScriptedTools", "python_value")

_NAMES = {"datetime": datetime, "UUID": UUID, "Decimal": Decimal, "asyncio": asyncio, "dict": dict}


def python_value(expression: str) -> Any:
    """The value of an expression of a row."""
    return eval(expression, {"__builtins__": {}, **_NAMES})


class ScriptedTools:
    """The tools of a row. ``runs`` and ``ended`` hold names in the order in which calls began and ended.

    ``sleep_s`` waits until every tool without a wait has ended, ``sync_sleep_s`` blocks until the block is left: both
    show an order of events and take no time of their own.
    """

    def __init__(self, declared: Sequence[Mapping[str, Any]]) -> None:
        self.runs: list[str] = []
        self.ended: list[str] = []
        self.threads: list[threading.Thread] = []
        self._quick = {row["name"] for row in declared if "sleep_s" not in row}
        self._progress = asyncio.Event()
        self._release = threading.Event()
        self.functions = [self._made(row) for row in declared]

    def bound(self) -> list[BoundTool]:
        """The tools as they are registered."""
        return [bound for function in self.functions for bound in bound_tools_from(function)]

    async def __aenter__(self) -> ScriptedTools:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._release.set()

    def _made(self, row: Mapping[str, Any]) -> Any:
        behavior = ReturnBehavior.IMMEDIATE if row.get("return_direct") else ReturnBehavior.TO_LLM
        decorate: Callable[[Any], Any] = tool(
            f"The tool {row['name']}.",
            name=row["name"],
            return_behavior=behavior,
            timeout=row.get("timeout_s"),
            effect="write" if row.get("idempotent") is False else None,
        )

        async def in_loop() -> Any:
            self.runs.append(row["name"])
            try:
                while "sleep_s" in row and not self._quick <= set(self.ended):
                    self._progress.clear()
                    await self._progress.wait()
                return self._outcome(row)
            finally:
                self.ended.append(row["name"])
                self._progress.set()

        def on_thread() -> Any:
            self.runs.append(row["name"])
            self.threads.append(threading.current_thread())
            self._release.wait(timeout=row["sync_sleep_s"])
            self.ended.append(row["name"])
            return self._outcome(row)

        return decorate(on_thread if "sync_sleep_s" in row else in_loop)

    def _outcome(self, row: Mapping[str, Any]) -> Any:
        if "raises" in row:
            name, _, text = row["raises"].partition(": ")
            raise {"asyncio.CancelledError": asyncio.CancelledError, "ConnectionError": ConnectionError}[name](text)
        return python_value(row["returns_python"]) if "returns_python" in row else row.get("returns")
