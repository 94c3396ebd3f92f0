"""The runs that are under way on a service, so that it can be closed when the last of them is over."""

from __future__ import annotations

from collections.abc import Callable

from agentforge.tool.execution.run import Run

__all__ = ("RunsUnderWay",)


class RunsUnderWay:
    """Counts runs of any thread: ``with runs.holding(run): ...``; nested and repeated holds of one run count each."""

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held: set[_Hold] = set()
        self._waiting: list[Callable[[], object]] = []

    def __len__(self) -> int:
        return len(self._held)

    def holding(self, run: Run) -> _Hold:
        """A block in which the run is under way."""
        return _Hold(self)

    def expecting(self) -> _Hold:
        """A block in which a run is about to begin, though another thread still has to be told."""
        return _Hold(self)

    def when_idle(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once, as soon as no run is under way (at once if none is), in the thread of the last."""
        self._waiting.append(callback)
        self._tell()

    def _tell(self) -> None:
        while self._waiting and not self._held:
            try:
                callback = self._waiting.pop(0)
            except IndexError:  # another thread was faster
                return
            callback()


class _Hold:
    __slots__ = ("_runs",)

    def __init__(self, runs: RunsUnderWay) -> None:
        self._runs = runs

    def __enter__(self) -> None:
        self._runs._held.add(self)

    def __exit__(self, *_: object) -> None:
        self._runs._held.discard(self)
        if self._runs._waiting:
            self._runs._tell()
