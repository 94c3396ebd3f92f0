"""A model, its tools and a system prompt in one object: what an application asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from agentforge.client.observer import ChatObserver, ObservedModel
from agentforge.model import (
    ChatMessage,
    ChatModel,
    ChatRequestParameters,
    Event,
    SystemMessage,
    ToolChoice,
    UserMessage,
)
from agentforge.tool.execution import (
    Run,
    RunEvent,
    RunFinished,
    RunStarted,
    RunStream,
    ToolChatResult,
    ToolFinished,
    ToolService,
)

__all__ = ("ChatClient",)


class ChatClient:
    """Holds conversations with one model over one `ToolService`.

    ``system`` is put in front of conversations that have no system message. ``tool_choice`` (``"auto"``,
    ``"required"`` or a tool's name) holds for the first round of each turn. With ``owns_service`` closing the client
    closes the service; the model is never closed here. ``observer`` is told of every call. Safe to share between tasks.

    >>> from agentforge.model.scripted import ScriptedChatModel, call
    >>> def get_weather(city: str) -> str:
    ...     "Current weather of a city."
    ...     return f"{city}: 22 degrees"
    >>> model = ScriptedChatModel([call("get_weather", city="Hangzhou"), "It is 22 degrees."])
    >>> with ChatClient(ToolService(get_weather), model, system="Answer shortly.", owns_service=True) as client:
    ...     client.chat_sync("What is the weather in Hangzhou?").text
    'It is 22 degrees.'
    """

    def __init__(
        self,
        service: ToolService,
        model: ChatModel,
        *,
        system: str | None = None,
        tool_choice: ToolChoice | str | None = None,
        owns_service: bool = False,
        observer: ChatObserver | None = None,
    ) -> None:
        self.service = service
        self.model = model
        self.system = system
        self._observer = observer
        self._asked: ChatModel = model if observer is None else ObservedModel(model, observer)
        self._parameters = (
            None if tool_choice is None else ChatRequestParameters(tool_choice=ToolChoice.of(tool_choice))
        )
        self._owns_service = owns_service

    @property
    def tool_choice(self) -> ToolChoice | None:
        """What the model must call in the first round of a turn; ``None``: its own default."""
        return self._parameters.tool_choice if self._parameters is not None else None

    async def chat(
        self,
        messages: str | ChatMessage | Iterable[ChatMessage],
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> ToolChatResult:
        """One turn: a text, or the history that a former result's ``messages`` and a new question make.

        ``timeout`` bounds the turn in seconds; ``context`` is the application's data for the tools, or a `Run`. Raises
        what `ToolService.chat` raises.
        """
        history = self._with_system(messages)
        with self._told(context) as run:
            return await self.service.chat(
                self._asked, self._parameters, history, context=run, memory_id=memory_id, timeout=timeout
            )

    def stream(
        self,
        messages: str | ChatMessage | Iterable[ChatMessage],
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> RunStream:
        """`chat` as events: ``async with client.stream(...) as events: async for event in events: ...``"""
        history = self._with_system(messages)
        stream = self.service.stream(
            self._asked, self._parameters, history, context=context, memory_id=memory_id, timeout=timeout
        )
        return stream if self._observer is None else _observed(stream, self._observer)

    def chat_sync(
        self,
        messages: str | ChatMessage | Iterable[ChatMessage],
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> ToolChatResult:
        """`chat` for synchronous code; works in a notebook too."""
        history = self._with_system(messages)
        with self._told(context) as run:
            return self.service.chat_sync(
                self._asked, self._parameters, history, context=run, memory_id=memory_id, timeout=timeout
            )

    @contextmanager
    def stream_sync(
        self,
        messages: str | ChatMessage | Iterable[ChatMessage],
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> Iterator[Iterator[RunEvent]]:
        """`stream` for synchronous code: ``with client.stream_sync(...) as events: for event in events: ...``"""
        history = self._with_system(messages)
        with self.service.stream_sync(
            self._asked, self._parameters, history, context=context, memory_id=memory_id, timeout=timeout
        ) as events:
            yield events if self._observer is None else _watched(events, self._observer)

    def close(self) -> None:
        """Close the service, where it is the client's own; safe to call twice."""
        if self._owns_service:
            self.service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ChatClient(model={self.model!r})"

    @contextmanager
    def _told(self, context: Run | Mapping[str, object] | None) -> Iterator[Run | Mapping[str, object] | None]:
        """The run to use; its executions are told when it is over, however it ends."""
        if self._observer is None or not isinstance(context, Run | Mapping | None):  # the last the service refuses
            yield context
            return
        run = context if isinstance(context, Run) else Run(user_data=context)
        before = len(run.tool_executions)
        try:
            yield run
        finally:
            for execution in run.tool_executions[before:]:
                self._observer.tool_called(execution)

    def _with_system(
        self, messages: str | ChatMessage | Iterable[ChatMessage]
    ) -> str | ChatMessage | Iterable[ChatMessage]:
        if self.system is None:
            return messages
        if isinstance(messages, str):
            return (SystemMessage(self.system), UserMessage(messages))
        given = (messages,) if isinstance(messages, ChatMessage) else tuple(messages)
        if any(isinstance(message, SystemMessage) for message in given):
            return given
        return (SystemMessage(self.system), *given)


def _observed(stream: RunStream, observer: ChatObserver) -> RunStream:
    """The same run and events, told to the observer as they pass."""

    async def work(emit: Callable[[Event], Awaitable[None]]) -> ToolChatResult:
        async with stream as events:
            async for event in events:
                if isinstance(event, ToolFinished):
                    observer.tool_called(event.execution)
                if not isinstance(event, (RunStarted, RunFinished)):  # the outer stream has its own
                    await emit(event)
        return stream.result

    return RunStream(stream.run, work)


def _watched(events: Iterator[RunEvent], observer: ChatObserver) -> Iterator[RunEvent]:
    for event in events:
        if isinstance(event, ToolFinished):
            observer.tool_called(event.execution)
        yield event
