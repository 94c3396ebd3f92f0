"""Watching a client from outside: told of every model call and tool call, and able to change none of them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Protocol

from agentforge.model import (
    ChatEvent,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ModelProfile,
    ResponseDone,
    ToolExecutionRequest,
)
from agentforge.tool.execution import CallNext, PlannedCall, Run, ToolExecution, ToolExecutionResult

__all__ = ("CallObserver", "ChatObserver", "ObservedModel")


class ChatObserver(Protocol):
    """Is told of the calls of a client. What it raises would end the run: an observer keeps its faults to itself."""

    def model_calling(self, model: ChatModel, request: ChatRequest) -> None:
        """The model is about to be asked."""
        ...

    def model_called(
        self,
        model: ChatModel,
        request: ChatRequest,
        response: ChatResponse | None,
        error: BaseException | None,
        seconds: float,
    ) -> None:
        """The model answered, or failed; a stream that was closed early has neither response nor error."""
        ...

    def tool_calling(self, request: ToolExecutionRequest) -> None:
        """A tool call is about to run; told only where a `CallObserver` is among the service's interceptors."""
        ...

    def tool_called(self, execution: ToolExecution) -> None:
        """A tool call has its outcome. In a turn that is not streamed it is told when the turn is over."""
        ...


class CallObserver:
    """A tool interceptor that tells an observer of every call before it runs, and does nothing else."""

    def __init__(self, observer: ChatObserver) -> None:
        self._observer = observer

    async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
        """The call's result as it is."""
        self._observer.tool_calling(call.request)
        return await next(call, run)


class ObservedModel:
    """A model whose calls are told to an observer; in all else the model itself."""

    def __init__(
        self, model: ChatModel, observer: ChatObserver, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._model = model
        self._observer = observer
        self._clock = clock

    @property
    def profile(self) -> ModelProfile:
        """The model's own."""
        return self._model.profile

    @property
    def secrets(self) -> Any:
        """The model's own; ``None`` when it has none."""
        return getattr(self._model, "secrets", None)

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The model's reply."""
        self._observer.model_calling(self._model, request)
        started = self._clock()
        response: ChatResponse | None = None
        failed: BaseException | None = None
        try:
            response = await self._model.chat(request)
            return response
        except BaseException as error:
            failed = error
            raise
        finally:
            self._observer.model_called(self._model, request, response, failed, self._clock() - started)
            del failed  # else the error and this frame hold each other

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The model's events."""
        self._observer.model_calling(self._model, request)
        started = self._clock()
        response: ChatResponse | None = None
        failed: BaseException | None = None
        try:
            async with aclosing(self._model.stream(request)) as events:
                async for event in events:
                    if isinstance(event, ResponseDone):
                        response = event.response
                    yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            failed = error
            raise
        finally:
            self._observer.model_called(self._model, request, response, failed, self._clock() - started)
            del failed

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()

    def __repr__(self) -> str:
        return repr(self._model)
