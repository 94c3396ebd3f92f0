"""A conversation's script, carried in the model's name, so that the stub server needs no set-up and no memory.

``stub-10x4`` asks for tools in ten rounds, four calls each, then answers in words; ``stub-1x1-2000`` cuts the
arguments of each call into 2,000 pieces when it is streamed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

__all__ = ("Call", "Script")

_NAME = re.compile(r"stub-(\d+)x(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the stub model asks for."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Script:
    """How many rounds, how many calls in each, and in how many pieces arguments are streamed."""

    rounds: int
    calls: int
    pieces: int = 1

    @classmethod
    def parse(cls, name: str) -> Script:
        """The script of a model's name; a name of another form is a `ValueError`."""
        found = _NAME.fullmatch(name)
        if found is None:
            raise ValueError(f"no script in the model's name {name!r}; it looks like 'stub-10x4'")
        return cls(int(found[1]), int(found[2]), int(found[3] or 1))

    @property
    def name(self) -> str:
        """The model's name that stands for this script."""
        return f"stub-{self.rounds}x{self.calls}" + (f"-{self.pieces}" if self.pieces > 1 else "")

    @property
    def executions(self) -> int:
        """How many tools run in one conversation."""
        return self.rounds * self.calls

    @property
    def farewell(self) -> str:
        """The last answer, in words."""
        return f"That took {self.rounds} rounds."

    def calls_of(self, round_number: int) -> tuple[Call, ...]:
        """The calls of a round, counted from 0; none once the rounds are over. The two tools take turns."""
        if round_number >= self.rounds:
            return ()
        return tuple(self._call(round_number, position) for position in range(self.calls))

    def _call(self, round_number: int, position: int) -> Call:
        name = "weather"
        arguments: dict[str, str | int] = {"city": "Hangzhou"}
        if self.pieces > 1 or position % 2:
            note = "by the door; " * max(1, self.pieces // 3)
            name, arguments = "book", {"item": "lamp", "quantity": 2, "note": note}
        return Call(f"call_{round_number}_{position}", name, json.dumps(arguments))
