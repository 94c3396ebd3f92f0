"""What every tool interceptor has to do, as a class of tests to subclass."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from agentforge.errors import RunCancelledError
from agentforge.model.scripted import ScriptedChatModel, call, calls
from agentforge.testing.contracts.running import must, run
from agentforge.tool import tool
from agentforge.tool.execution import Run, ToolExecution, ToolInterceptor, ToolOutcome, ToolService

__all__ = ("ToolInterceptorContract",)

_T = TypeVar("_T")


class ToolInterceptorContract:
    """The tests of a tool interceptor: write ``class TestMine(ToolInterceptorContract)`` and override `interceptor`.

    It may look at a call, change its result or answer in its place; it may not lose it, mix it up with another, run a
    write twice or hold up a cancellation. ``patience`` (60) bounds each test in seconds.
    """

    patience = 60.0

    def interceptor(self) -> ToolInterceptor:
        """A fresh interceptor."""
        raise TypeError(f"{type(self).__name__} must override interceptor()")

    def test_it_is_a_tool_interceptor(self) -> None:
        """`around` is awaited and takes the call, the run and what comes next."""
        made = self.interceptor()
        must(isinstance(made, ToolInterceptor), f"{type(made).__name__} has no around()")
        must(inspect.iscoroutinefunction(made.around), "around must be async")
        try:
            inspect.signature(made.around).bind(None, None, None)
        except TypeError as error:
            raise AssertionError(f"around must take (call, run, next): {error}") from error

    def test_a_call_has_a_result(self) -> None:
        """A `ToolExecutionResult`, the tool's or one of its own, with something to tell the model."""

        async def work() -> None:
            [made] = await self._executions(_echo, [call("_echo", text="hello")])
            cause = made.result.cause
            must(
                made.outcome is ToolOutcome.OK, f"the call ended as {made.outcome.value}: {cause or made.result_text()}"
            )
            must(made.result.contents, "the result has no contents")

        self._run(work())

    def test_a_failing_tool_stays_a_failure_of_the_tool(self) -> None:
        """Its error passes, or is answered; it does not become an error of the interceptor's own."""

        async def work() -> None:
            [made] = await self._executions(_fail, [call("_fail")])
            cause: BaseException | None = made.result.cause
            chain = []
            while cause is not None:
                chain.append(cause)
                cause = cause.__cause__
            passed = any(isinstance(each, _ExpectedError) for each in chain)
            must(passed or made.outcome is ToolOutcome.OK, f"the tool's error became: {made.result_text()}")

        self._run(work())

    def test_a_write_runs_once_at_most(self) -> None:
        """Also when it failed: whether a write took effect is not known, so it is not repeated."""

        async def work() -> None:
            for fails in (False, True):
                ran: list[str] = []

                [made] = await self._executions(_writer(ran, fails=fails), [call("write", text="hello")])
                must(len(ran) <= 1, f"the write ran {len(ran)} times")
                twice = "called next again" in made.result_text()
                must(not twice, "it tried to run the write again, which the service refused")

        self._run(work())

    def test_calls_side_by_side_keep_their_own_results(self) -> None:
        """It holds nothing of one call that another could get."""

        async def work() -> None:
            words = [f"word-{number}-end" for number in range(5)]
            made = await self._executions(_echo, [call("_echo", text=word) for word in words])
            must(len(made) == len(words), f"{len(words)} calls have {len(made)} executions")
            for execution in made:
                own = str(execution.request.arguments_as_map()["text"])
                strange = [word for word in words if word != own and word in execution.result_text()]
                must(not strange, f"the call of {own!r} got the result of {', '.join(strange)}")

        self._run(work())

    def test_a_cancellation_passes(self) -> None:
        """A run that is cancelled while its tool works ends at once; the interceptor does not swallow it."""

        async def work() -> None:
            begun = asyncio.Event()

            async def wait() -> str:
                """Waits."""
                begun.set()
                await asyncio.Event().wait()
                return "too late"

            with ToolService(wait, interceptors=[self.interceptor()], tool_timeout=None) as service:
                context = Run()
                model = ScriptedChatModel([call("wait"), "Done."])
                task = asyncio.ensure_future(service.chat(model, None, "Wait.", context=context))
                told = asyncio.ensure_future(begun.wait())
                await asyncio.wait((task, told), return_when=asyncio.FIRST_COMPLETED)
                told.cancel()
                if not begun.is_set():  # it answered in the tool's place
                    await task
                    return
                context.cancel()
                await asyncio.wait((task,))
                error = None if task.cancelled() else task.exception()
                must(isinstance(error, RunCancelledError), f"the cancelled run ended with {error!r}")
                outcomes = [each.outcome for each in context.tool_executions]
                must(outcomes == [ToolOutcome.CANCELLED], f"the cancelled call ended as {outcomes}")

        self._run(work())

    # -- inside ----------------------------------------------------------------------------------

    async def _executions(self, function: Any, requests: Sequence[Any]) -> Sequence[ToolExecution]:
        """The executions of one batch, whose failures are told to the model."""
        model = ScriptedChatModel([calls(*requests), "Done."])
        service = ToolService(
            function, interceptors=[self.interceptor()], execution_error_handler="return_to_model", tool_timeout=None
        )
        with service:
            return (await service.chat(model, None, "Go.")).tool_executions

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return run(lambda: work, patience=self.patience)


class _ExpectedError(Exception):
    """What the failing tools raise."""


def _echo(text: str) -> str:
    """Says the text again."""
    return text


def _fail() -> str:
    """Fails."""
    raise _ExpectedError("it went wrong")


def _writer(ran: list[str], *, fails: bool) -> Callable[..., Any]:
    @tool("Writes a text.", effect="write")
    def write(text: str) -> str:
        ran.append(text)
        if fails:
            raise _ExpectedError("it went wrong")
        return "written"

    return write
