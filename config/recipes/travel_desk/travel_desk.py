"""What the travel desk knows by itself."""

from __future__ import annotations

from typing import Annotated

from agentforge.tool import P, tool


@tool(effect="read")
def walking_time(metres: Annotated[int, P("how far it is, in metres")]) -> str:
    """How long it takes to walk."""
    return f"{max(1, round(metres / 80))} minutes"
