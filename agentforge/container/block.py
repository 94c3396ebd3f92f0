"""A run without a conversation, in which beans of the scope ``invocation`` can be used."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from agentforge.container.faults import ContextStateError
from agentforge.tool.execution import CurrentRun, Run, RunScope, current_run

if TYPE_CHECKING:
    from agentforge.tool.execution.background import BackgroundLoop

__all__ = ("InvocationBlock",)


class InvocationBlock:
    """``async with`` it, or ``with`` it where the application was entered so; once. It gives the `Run`.

    ``loop`` is the application's own thread in synchronous use, on which the run's beans live.
    """

    def __init__(self, loop: BackgroundLoop | None) -> None:
        self._loop = loop
        self._run = Run(parent=current_run())
        self._scope = RunScope(self._run)
        self._current: CurrentRun | None = None

    async def __aenter__(self) -> Run:
        self._run.begin()
        return await self._scope.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._scope.__aexit__(kind, error, traceback)

    def __enter__(self) -> Run:
        if self._loop is None:
            raise ContextStateError(
                "a synchronous block needs an application that was entered by 'with'",
                next_step="Use 'async with app.invocation():'.",
            )
        self._run.begin()
        self._current = CurrentRun(self._run, self._loop.loop)
        self._current.begin()
        return self._run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._current is not None
        assert self._loop is not None
        try:
            self._loop.run(self._run.end())
        finally:
            self._current.end()
