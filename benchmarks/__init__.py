"""What the loop costs beside one written by hand: ``python -m benchmarks`` or ``make bench``."""

from __future__ import annotations

__all__: tuple[str, ...] = ()
