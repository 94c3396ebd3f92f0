"""Codes of JSON-RPC answers that are ours: what the transport says in place of a server that cannot."""

from __future__ import annotations

__all__ = ("FAILED", "LOST", "NOT_SENT", "REFUSED", "UNREADABLE")

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
