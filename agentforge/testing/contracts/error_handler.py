"""What every error strategy has to do, as a class of tests to subclass."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from agentforge.errors import (
    AgentForgeError,
    ToolArgumentsError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
    UnknownToolError,
)
from agentforge.masking import Secrets
from agentforge.model import AiMessage, ToolExecutionRequest, ToolExecutionResultMessage
from agentforge.model.scripted import ScriptedChatModel, call
from agentforge.testing.contracts.running import must, run
from agentforge.tool.error import ToolErrorContext, ToolErrorHandler
from agentforge.tool.error.handler import answer_to
from agentforge.tool.execution import Run, ToolService

__all__ = ("ErrorHandlerContract",)

_T = TypeVar("_T")
_SECRET = "s3cr3t-value-of-a-test"  # a text that no handler may show
_REQUEST = ToolExecutionRequest("call_1", "get_weather", '{"city": "Oslo"}')


class _MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class ErrorHandlerContract:
    """The tests of an error strategy: write ``class TestMyHandler(ErrorHandlerContract)`` and override `handler`.

    A handler answers the model with a text, or ends the run by raising: what it was given, or an error of ours.
    ``patience`` (60) bounds each test in seconds.
    """

    patience = 60.0

    def handler(self) -> ToolErrorHandler:
        """A fresh handler."""
        raise TypeError(f"{type(self).__name__} must override handler()")

    def test_it_answers_or_raises_what_it_was_given(self) -> None:
        """For arguments that do not fit, a tool that failed, one that took too long, and one that there is not."""

        async def work() -> None:
            for error, raw in _failures("it went wrong"):
                text = await self._answer(error, raw)
                must(text is None or text.strip(), f"the model is told nothing of {type(error).__name__}")

        self._run(work())

    def test_it_takes_every_exception(self) -> None:
        """Without words, with words of any script, with words that fail: a tool may raise all of them."""

        async def work() -> None:
            for cause in (ValueError(), KeyError("城市"), RuntimeError("x" * 10_000), _MuteError(), OSError(2, "gone")):
                raw = ToolExecutionError("it went wrong", tool=_REQUEST.name)
                raw.__cause__ = cause
                text = await self._answer(cause, raw)
                must(text is None or text.strip(), f"the model is told nothing of {type(cause).__name__}")

        self._run(work())

    def test_a_registered_secret_does_not_reach_the_model(self) -> None:
        """What it answers holds no secret of the run, even where the error does: `ToolErrorContext.mask` helps."""

        async def work() -> None:
            for error, raw in _failures(f"no access with {_SECRET}"):
                text = await self._answer(error, raw)
                must(_SECRET not in (text or ""), f"of {type(error).__name__} it told the model a secret")

        self._run(work())

    def test_a_run_goes_on_or_ends_in_order(self) -> None:
        """In a service: the model is answered, or the run ends; either way its history is valid."""

        async def work() -> None:
            for turn in (call("_failing"), call("no_such_tool"), call("_failing", wrong=1)):
                handler = self.handler()
                service = ToolService(
                    _failing,
                    arguments_error_handler=handler,
                    execution_error_handler=handler,
                    unknown_tool_strategy=handler,
                )
                with service:
                    try:
                        messages = (await service.chat(ScriptedChatModel([turn, "Done."]), None, "Go.")).messages
                    except Exception as error:
                        partial: Any = getattr(error, "partial", None)
                        must(partial is not None, f"the run ended with {error!r}, which has no partial history")
                        messages = partial.messages
                calls = [each for m in messages if isinstance(m, AiMessage) for each in m.tool_execution_requests]
                results = [m for m in messages if isinstance(m, ToolExecutionResultMessage)]
                must(len(calls) == len(results) == 1, f"{len(calls)} calls have {len(results)} results")

        self._run(work())

    async def _answer(self, error: BaseException, raw: ToolError) -> str | None:
        """What the model is told; ``None`` when the run is ended."""
        context = ToolErrorContext(_REQUEST, None, Run(), raw, Secrets([_SECRET]))
        try:
            return await answer_to(self.handler(), error, context)
        except Exception as raised:
            allowed = raised is error or raised is raw or isinstance(raised, AgentForgeError)
            must(allowed, f"of {type(error).__name__} it made {type(raised).__name__}: {raised}")
            return None

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return run(lambda: work, patience=self.patience)


def _failures(words: str) -> Iterable[tuple[BaseException, ToolError]]:
    """What a handler is called with: the error of its kind, and as it was raised."""
    arguments = ToolArgumentsError(words, tool=_REQUEST.name)
    late = ToolTimeoutError(words, tool=_REQUEST.name)
    unknown = UnknownToolError(words, tool=_REQUEST.name, known=("get_time",))
    cause = RuntimeError(words)
    wrapped = ToolExecutionError(words, tool=_REQUEST.name)
    wrapped.__cause__ = cause
    return [(arguments, arguments), (cause, wrapped), (late, late), (unknown, unknown)]


def _failing() -> str:
    """Fails."""
    raise RuntimeError("it went wrong")
