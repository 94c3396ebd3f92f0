"""Codes of JSON-RPC answers: those that are ours, which the transport says in place of a server that cannot, and those
of the protocol that are told apart where the SDK is not loaded."""

from __future__ import annotations

__all__ = (
    "FAILED",
    "INVALID_PARAMS",
    "LOST",
    "METHOD_NOT_FOUND",
    "NOT_SENT",
    "NO_RESOURCE",
    "REFUSED",
    "UNREADABLE",
)

NOT_SENT = -32098
"""The request did not reach the server."""
LOST = -32097
"""The request was sent, and the connection ended before its answer."""
UNREADABLE = -32096
"""The request was sent, and its answer cannot be read."""

FAILED = -32095
"""The request was sent, and a status says that the server, or something before it, failed: it may have acted."""
REFUSED = -32094
"""The request was sent, and a status says that it was not taken."""

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
NO_RESOURCE = -32002
"""In the earlier versions; the newest one says `INVALID_PARAMS`."""
