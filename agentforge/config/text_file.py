"""The text of a file that a placeholder names, such as a prompt."""

from __future__ import annotations

from pathlib import Path

from agentforge.config import codes
from agentforge.config.source import MAX_BYTES

__all__ = ("TextFileError", "read_text_file")


class TextFileError(Exception):
    """A file cannot be used as a text: a fault's ``code``, its words and the next step."""

    def __init__(self, code: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step


def read_text_file(path: Path) -> str:
    """The whole text of a file of UTF-8, at most 1 MiB, without its last line break.

    Raises:
        TextFileError: It is no file, cannot be read, is too large (AF104), or is not UTF-8 (AF102).
    """
    try:
        # A pipe or a device would be waited for, or never end.
        if not path.is_file():
            reason = "is no file" if path.exists() else "does not exist"
            step = "Check the path; it starts at the folder of the file in which it stands."
            raise TextFileError(codes.FILE_NOT_READ, f"the file '{path}' {reason}", step)
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        step = "Make it readable, or name another."
        raise TextFileError(codes.FILE_NOT_READ, f"the file '{path}' cannot be read: {reason}", step) from None
    if len(data) > MAX_BYTES:
        message = f"the file '{path}' is larger than {MAX_BYTES:,} bytes"
        raise TextFileError(codes.TOO_LARGE, message, "Name a shorter text.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the file '{path}' is not UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}"
        raise TextFileError(codes.BAD_ENCODING, message, "Save it as UTF-8.") from None
    return text.removesuffix("\n").removesuffix("\r")
