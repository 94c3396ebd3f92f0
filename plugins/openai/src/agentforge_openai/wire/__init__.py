"""The Chat Completions wire: pure functions both ways and an incremental decoder, all testable without I/O."""

__all__ = ()
