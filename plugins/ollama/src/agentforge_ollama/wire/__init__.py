"""Ollama's chat form, both ways: pure functions without I/O, clocks or randomness."""

__all__ = ()
