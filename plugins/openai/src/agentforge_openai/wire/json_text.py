"""JSON to bytes in one form: compact, UTF-8, and safe for text that is not."""

from __future__ import annotations

import json

from agentforge.errors import ConfigurationError

__all__ = ("dump_bytes", "dump_text", "utf8")

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dump_text(value: object) -> str:
    """Compact JSON text. Raises `ConfigurationError` for a value that JSON cannot hold."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"a value of the request cannot be written as JSON: {error}",
            next_step="Use texts, finite numbers, booleans, None, lists and mappings with text keys.",
        ) from error


def dump_bytes(value: object) -> bytes:
    """Compact JSON as UTF-8. Halves of surrogate pairs become the replacement character.

    >>> dump_bytes({"a": "\\ud83d"}).decode()
    '{"a":"\ufffd"}'
    """
    return utf8(dump_text(value))


def utf8(text: str) -> bytes:
    """The text as UTF-8, by the same rule."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, where two halves that belong together become one character again.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
