"""The Chat Completions wire: pure functions both ways and an incremental decoder, all testable without I/O. What the
Responses form writes or says alike, such as media, errors and sources, it takes from here."""

__all__ = ()
