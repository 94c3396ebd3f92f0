"""Answers that are too large to be held."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of

__all__ = ("MAX_BODY_BYTES", "too_large")

MAX_BODY_BYTES = 64 * 1024 * 1024
"""How large an answer may be unless a setting says otherwise."""


def too_large(limit: int, headers: Mapping[str, str], *, partial_text: str = "") -> ProtocolError:
    """The error for an answer to a streamed request that passes ``limit`` bytes."""
    return ProtocolError(
        f"the answer is larger than max_body_bytes ({limit} bytes)",
        request_id=request_id_of(headers),
        details={"partial_text": partial_text} if partial_text else {},
        next_step="Raise max_body_bytes if the endpoint really sends answers of this size.",
    )
