"""The Responses wire: items in, items out. Pure functions, testable without I/O."""

__all__ = ()
