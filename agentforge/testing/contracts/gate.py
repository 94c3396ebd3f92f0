"""What every tool gate has to do, as a class of tests to subclass."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from agentforge.errors import RunError
from agentforge.model import ToolExecutionRequest
from agentforge.model.scripted import ScriptedChatModel, call, calls
from agentforge.testing.contracts.running import must, run
from agentforge.tool.execution import (
    DefaultToolExecutor,
    PlannedCall,
    Refuse,
    Run,
    ToolGate,
    ToolService,
    Verdict,
)
from agentforge.tool.execution.gates import judged

__all__ = ("ToolGateContract",)

_T = TypeVar("_T")
_SIZES = (1, 2, 5)


class ToolGateContract:
    """The tests of a tool gate: write ``class TestMyGate(ToolGateContract)`` and override `gate`.

    A gate judges a whole batch and has no effect of its own. ``patience`` (60) bounds each test in seconds.
    """

    patience = 60.0

    def gate(self) -> ToolGate:
        """A fresh gate."""
        raise TypeError(f"{type(self).__name__} must override gate()")

    def test_it_is_a_tool_gate(self) -> None:
        """`check` is awaited and takes the batch and the run; ``stage`` is ``permission`` where there is one."""
        made = self.gate()
        must(isinstance(made, ToolGate), f"{type(made).__name__} has no check()")
        must(inspect.iscoroutinefunction(made.check), "check must be async")
        stage = getattr(made, "stage", None)
        must(stage in (None, "permission"), f"stage is {stage!r}; leave it out, or set it to 'permission'")

    def test_it_gives_one_verdict_a_call(self) -> None:
        """`Proceed`, `Refuse` or `Ask` for each, in the order of the batch; a refusal has a text for the model."""

        async def work() -> None:
            for size in _SIZES:
                for verdict in await self._judged(self.gate(), _batch(size)):
                    if isinstance(verdict, Refuse):
                        must(verdict.text.strip(), "a refusal has no text for the model")

        self._run(work())

    def test_it_changes_nothing_about_a_call(self) -> None:
        """Neither the request nor its arguments: what was validated is what runs."""

        async def work() -> None:
            for size in _SIZES:
                batch = _batch(size)
                before = [_said(each) for each in batch]
                await self._judged(self.gate(), batch)
                must([_said(each) for each in batch] == before, "the gate changed a call that it was to judge")

        self._run(work())

    def test_it_judges_the_same_batch_the_same_way(self) -> None:
        """In another run as in this one: it holds nothing of what it saw before."""

        async def work() -> None:
            gate = self.gate()
            first = [type(each) for each in await self._judged(gate, _batch(2))]
            again = [type(each) for each in await self._judged(gate, _batch(2))]
            must(first == again, f"the same batch was judged {_names(first)}, then {_names(again)}")

        self._run(work())

    def test_a_run_goes_on_with_it(self) -> None:
        """In a service: each call has a result or waits for a decision, and nothing breaks."""

        async def work() -> None:
            with ToolService(_echo, gates=[self.gate()]) as service:
                model = ScriptedChatModel([calls(call("_echo", text="a"), call("_echo", text="b")), "Done."])
                try:
                    result = await service.chat(model, None, "Go.")
                except RunError as error:
                    raise AssertionError(f"the run ended: {error.message}") from error
            decided = len(result.tool_executions)
            suspended = result.suspended is not None
            must(decided == 2 or suspended, f"of two calls {decided} have an outcome, and none waits")

        self._run(work())

    async def _judged(self, gate: ToolGate, batch: Sequence[PlannedCall]) -> Sequence[Verdict]:
        try:
            return await judged(gate, batch, Run())
        except RunError as error:
            raise AssertionError(error.message) from error

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return run(lambda: work, patience=self.patience)


def _batch(size: int) -> list[PlannedCall]:
    tool = DefaultToolExecutor(_echo).bound_tool()
    made = []
    for number in range(size):
        arguments: dict[str, object] = {"text": f"word {number}"}
        request = ToolExecutionRequest(f"call_{number}", "_echo", f'{{"text": "word {number}"}}')
        made.append(PlannedCall(number, request, tool, arguments, tool.bind(dict(arguments))))
    return made


def _said(call: PlannedCall) -> tuple[object, ...]:
    return call.request, call.tool, dict(call.arguments or {}), repr(call.bound)


def _names(kinds: Sequence[type]) -> str:
    return " and ".join(kind.__name__ for kind in kinds)


def _echo(text: str) -> str:
    """Says the text again."""
    return text
