"""What is asked: few tools, short questions, and a picture that is drawn here."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from agentforge.model import ToolSpecification

__all__ = (
    "BOTH_CITIES",
    "CLOCK",
    "HEATING",
    "NOTE",
    "NOTE_TEXT",
    "REPORT",
    "REPORT_CODE",
    "SIZE_SCHEMA",
    "WEATHER",
    "WEATHER_IN_OSLO",
    "red_picture",
)


def _tool(name: str, description: str, properties: dict[str, Any], *, strict: bool | None = None) -> ToolSpecification:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ToolSpecification(name, description, schema, strict)  # type: ignore[arg-type]  # a mapping is made one


_CITY = {"city": {"type": "string", "description": "The name of the city."}}

WEATHER = _tool("get_weather", "Gives the current weather of a city.", _CITY)
CLOCK = _tool("get_local_time", "Gives the current local time in a city.", _CITY)
NOTE = _tool(
    "send_note",
    "Sends a note to a person.",
    {
        "to": {"type": "string", "description": "Who gets it."},
        "text": {"type": "string", "description": "The words of the note."},
    },
)
#: A schema that the words of the question tempt to break.
HEATING = _tool(
    "set_heating",
    "Sets the heating of a room.",
    {
        "room": {"type": "string", "description": "The name of the room."},
        "level": {"type": "string", "enum": ["low", "medium", "high"], "description": "The level."},
    },
    strict=True,
)
SIZE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "size": {"type": "string", "enum": ["small", "large"]}},
    "required": ["city", "size"],
    "additionalProperties": False,
}

WEATHER_IN_OSLO = "What is the weather in Oslo right now? Look it up with the tool."
BOTH_CITIES = "What is the weather in Oslo, and what is it in Lima? Look up both at once, with two calls."
NOTE_TEXT = "The meeting moved to Thursday at ten; bring the plans, and tell the others."
#: A result whose code nobody can guess, so that an answer which has it has read the result.
REPORT_CODE = "4417"
REPORT = f"Oslo: 17 degrees, light rain. Code of the report: QX-{REPORT_CODE}"


def red_picture(side: int = 32) -> bytes:
    """A PNG file, red all over."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xff\0\0" * side) * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
