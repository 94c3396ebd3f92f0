"""A plugin whose import fails: what it needs is not installed."""

from a_library_that_nobody_has import something

__all__ = ("something",)
