"""From nothing to the first answer, as a program of its own that says how many modules and how much memory that took.

It imports nothing itself before it counts, so that the figures are the contender's. CPU is read by `benchmarks.start`,
as it includes the interpreter's own start and end.
"""

from __future__ import annotations

import sys

__all__ = ("main",)


def main(who: str, base_url: str) -> None:
    """Hold one conversation of one round; print the modules after the imports and at the end, and the peak in KB."""
    bare = len(sys.modules)
    if who == "by hand":
        from benchmarks.by_hand import ByHand as Contender
    else:
        from benchmarks.ours import Ours as Contender  # type: ignore[assignment]
    imported = len(sys.modules) - bare

    import asyncio

    from benchmarks.script import Script
    from benchmarks.tools import PROMPT

    script = Script(1, 1)
    settings = {} if who == "by hand" else {"transport": who}

    async def ask() -> str:
        contender = Contender(base_url, script.name, **settings)  # type: ignore[arg-type]
        try:
            return await contender.ask(PROMPT)
        finally:
            await contender.aclose()

    if asyncio.run(ask()) != script.farewell:
        raise RuntimeError(f"{who}: the answer is not the script's")
    print(imported, len(sys.modules) - bare, _peak_kilobytes())


def _peak_kilobytes() -> int:
    """Peak memory. Linux's `getrusage` would also count the parent's, which the child had before it was itself."""
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak
