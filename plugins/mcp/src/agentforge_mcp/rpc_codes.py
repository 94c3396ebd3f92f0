"""Codes of JSON-RPC answers that are ours: what the transport says in place of a server that cannot."""

from __future__ import annotations

__all__ = ("LOST", "NOT_SENT", "UNREADABLE")

NOT_SENT = -32098
"""The request did not reach the server."""
LOST = -32097
"""The request was sent, and the connection ended before its answer."""
UNREADABLE = -32096
"""The request was sent, and its answer cannot be read."""
