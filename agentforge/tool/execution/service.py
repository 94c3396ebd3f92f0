"""Tools registered once, conversations held with any model: the engine that seed A's chapter 4 describes."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload
from weakref import WeakValueDictionary

from agentforge.errors import DuplicateToolError, ToolDeclarationError
from agentforge.masking import Secrets
from agentforge.model.arguments import ArgumentLimits
from agentforge.model.chat_model import ChatModel
from agentforge.model.events import Notice
from agentforge.model.history import History
from agentforge.model.request import ChatRequestParameters
from agentforge.model.specification import ToolSpecification
from agentforge.tool.declare import ReturnBehavior
from agentforge.tool.error.handler import ToolErrorHandler, UnknownToolStrategy
from agentforge.tool.error.strategies import strategy
from agentforge.tool.execution.asked import Messages, check_asked, history_of, run_of
from agentforge.tool.execution.asking import asking
from agentforge.tool.execution.background import BackgroundLoop
from agentforge.tool.execution.batch import Emit
from agentforge.tool.execution.chat_result import ToolChatResult
from agentforge.tool.execution.converter import ToolResultConverter
from agentforge.tool.execution.driver import Rounds, ToolDriver
from agentforge.tool.execution.events import RunEvent
from agentforge.tool.execution.gate import ToolGate, ToolInterceptor
from agentforge.tool.execution.loop import ToolLoop
from agentforge.tool.execution.run import Run
from agentforge.tool.execution.scope import RunScope
from agentforge.tool.execution.settings import ErrorHandlers, ToolSettings, check_count
from agentforge.tool.execution.state import ToolLoopState
from agentforge.tool.execution.stream import RunStream
from agentforge.tool.execution.threads import ThreadCounts, ToolThreads
from agentforge.tool.execution.under_way import RunsUnderWay
from agentforge.tool.source import BoundTool, Effect, ToolExecutor, ToolSource, known_tools

if TYPE_CHECKING:
    from agentforge.tool.execution.clashes import OnClash

__all__ = ("ToolService",)

_T = TypeVar("_T")


class ToolService:
    """Registers tools and drives conversations with them.

    Every setting is a keyword (see `ToolSettings` for bounds and defaults); error strategies take a name (``rethrow``,
    ``return_to_model``, ``list_known_tools``, ``mask``) or a handler. Safe to share between tasks. ``close`` (or a
    ``with`` block) ends the worker threads and the loop of the synchronous twins.

    >>> from agentforge.model.scripted import ScriptedChatModel, call
    >>> def get_weather(city: str) -> str:
    ...     "Current weather of a city."
    ...     return f"{city}: 22 degrees, sunny"
    >>> with ToolService(get_weather) as service:
    ...     model = ScriptedChatModel([call("get_weather", city="Hangzhou"), "It is 22 degrees and sunny."])
    ...     service.chat_sync(model, None, "What is the weather in Hangzhou?").text
    'It is 22 degrees and sunny.'
    """

    def __init__(
        self,
        *tools: Any,
        max_tool_calling_round_trips: int = 100,
        max_concurrent_tools: int = 8,
        tool_timeout: float | None = 60.0,
        max_result_bytes: int = 256 * 1024,
        argument_limits: ArgumentLimits | None = None,
        arguments_error_handler: str | ToolErrorHandler | None = None,
        execution_error_handler: str | ToolErrorHandler | None = None,
        unknown_tool_strategy: str | UnknownToolStrategy | None = None,
        gates: Sequence[ToolGate] = (),
        interceptors: Sequence[ToolInterceptor] = (),
        converters: Sequence[ToolResultConverter] = (),
        max_threads: int = 32,
        max_abandoned_threads: int = 64,
        on_clash: OnClash = "error",
        secrets: Secrets | None = None,
    ) -> None:
        check_count("max_threads", max_threads, 1)
        check_count("max_abandoned_threads", max_abandoned_threads, 0)
        self.settings = ToolSettings(
            max_tool_calling_round_trips=max_tool_calling_round_trips,
            max_concurrent_tools=max_concurrent_tools,
            tool_timeout=tool_timeout,
            max_result_bytes=max_result_bytes,
            argument_limits=argument_limits or ArgumentLimits(),
            gates=tuple(gates),
            interceptors=tuple(interceptors),
            converters=tuple(converters),
            threads=ToolThreads(max_threads, max_abandoned_threads),
            error_handlers=ErrorHandlers(),
            on_clash=on_clash,
        )
        self.secrets = secrets if secrets is not None else Secrets()
        #: The runs that are under way; whoever drives one from outside holds it here.
        self.runs = RunsUnderWay()
        self._driver = ToolDriver(self.settings)
        self._tools: tuple[BoundTool, ...] = ()
        self._sources: tuple[ToolSource, ...] = ()
        self._background = BackgroundLoop()
        #: The models used on that loop, to be closed with it; they are held only where they allow no weak reference.
        self._models: WeakValueDictionary[int, ChatModel] = WeakValueDictionary()
        self._held_models: dict[int, ChatModel] = {}
        if arguments_error_handler is not None:
            self.arguments_error_handler(arguments_error_handler)
        if execution_error_handler is not None:
            self.execution_error_handler(execution_error_handler)
        if unknown_tool_strategy is not None:
            self.unknown_tool_strategy(unknown_tool_strategy)
        self.tools(*tools)

    # -- registration (seed A 4.1) ---------------------------------------------------------------

    def tools(self, *items: Any) -> Self:
        """Register tools, in any mixture: objects or classes with `@tool` methods, functions, `BoundTool`,
        `ToolSource`, mappings of `ToolSpecification` to executor, and iterables of these.

        Raises `DuplicateToolError` for a name that is taken and `ToolDeclarationError` for what is no tool.
        """
        for item in items:
            self._register(item)
        return self

    @overload
    def tool(self, item: object, method_name: str | None = None, /) -> Self: ...
    @overload
    def tool(
        self,
        item: ToolSpecification,
        executor: ToolExecutor,
        /,
        *,
        return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM,
        effect: Effect | None = None,
        timeout: float | None = None,
    ) -> Self: ...
    def tool(
        self,
        item: Any,
        executor: Any = None,
        /,
        *,
        return_behavior: ReturnBehavior = ReturnBehavior.TO_LLM,
        effect: Effect | None = None,
        timeout: float | None = None,
    ) -> Self:
        """Register one tool: a specification and its executor, one method of an object by its Python name, or a
        function."""
        from agentforge.tool.execution.default_executor import DefaultToolExecutor, bound_tool_from

        if isinstance(item, ToolSpecification):
            if executor is None:
                raise ToolDeclarationError(f"the specification of tool {item.name!r} needs an executor", tool=item.name)
            bound = bound_tool_from(item, executor, return_behavior=return_behavior, effect=effect, timeout=timeout)
            self._add((bound,))
        elif executor is None:
            self._register(item)
        else:
            self._add((DefaultToolExecutor(item, executor).bound_tool(),))
        return self

    @property
    def tool_specifications(self) -> tuple[ToolSpecification, ...]:
        """The registered tools' declarations; those of sources that look at the run are not among them."""
        return tuple(tool.specification for tool in self._tools)

    @property
    def sources(self) -> tuple[ToolSource | tuple[BoundTool, ...], ...]:
        """All that is registered: the tools that never change as one tuple, then the sources that look at the run."""
        return (self._tools, *self._sources) if self._tools else self._sources

    def arguments_error_handler(self, handler: str | ToolErrorHandler) -> Self:
        """What to do when arguments do not fit (default: ``rethrow``)."""
        self.settings.error_handlers.arguments = strategy(handler)
        return self

    def execution_error_handler(self, handler: str | ToolErrorHandler) -> Self:
        """What to do when a tool fails (default: tell the model the message, and warn in the log)."""
        self.settings.error_handlers.execution = strategy(handler)
        return self

    def unknown_tool_strategy(self, handler: str | UnknownToolStrategy) -> Self:
        """What to do when the model names a tool that was not offered (default: ``rethrow``)."""
        self.settings.error_handlers.unknown_tool = strategy(handler)  # type: ignore[arg-type]
        return self

    # -- conversations ---------------------------------------------------------------------------

    async def chat(
        self,
        model: ChatModel,
        parameters: ChatRequestParameters | None,
        messages: Messages,
        *,
        context: Run | Mapping[str, object] | None = None,
        memory_id: object = None,
        timeout: float | None = None,
    ) -> ToolChatResult:
        """Hold one turn: call the model, run what it asks for, until it asks for nothing more.

        ``messages`` is a text or a sequence, and is never changed. ``context`` is the application's data for the tools
        (a mapping), or a `Run` made by the caller. ``timeout`` bounds the whole turn in seconds.

        Raises `ModelError`, `ToolError` by strategy, `ToolRoundTripLimitError`, `RunTimeoutError`,
        `RunCancelledError`; each carries ``partial``, a valid history with all executions so far.
        """
        check_asked(parameters, model)
        run = run_of(context, memory_id, timeout)
        history, notices = history_of(messages)
        return await self._converse(model, parameters, self._state(history), run, None, notices)

    async def resume(
        self,
        model: ChatModel,
        parameters: ChatRequestParameters | None,
        state: ToolLoopState,
        *,
        context: Run | Mapping[str, object] | None = None,
        memory_id: object = None,
        timeout: float | None = None,
    ) -> ToolChatResult:
        """Take up a suspended or saved run: sources and gates are asked again, then its waiting calls run."""
        check_asked(parameters, model)
        # A copy: what the caller holds stays what was saved.
        return await self._converse(model, parameters, state.copied(), run_of(context, memory_id, timeout), None)

    def stream(
        self,
        model: ChatModel,
        parameters: ChatRequestParameters | None,
        messages: Messages,
        *,
        context: Run | Mapping[str, object] | None = None,
        memory_id: object = None,
        timeout: float | None = None,
    ) -> RunStream:
        """`chat` as events: ``async with service.stream(...) as events: async for event in events: ...``"""
        check_asked(parameters, model, "stream")
        run = run_of(context, memory_id, timeout)
        history, notices = history_of(messages)
        state = self._state(history)
        return RunStream(run, lambda emit: self._converse(model, parameters, state, run, emit, notices))

    def chat_sync(
        self,
        model: ChatModel,
        parameters: ChatRequestParameters | None,
        messages: Messages,
        *,
        context: Run | Mapping[str, object] | None = None,
        memory_id: object = None,
        timeout: float | None = None,
    ) -> ToolChatResult:
        """`chat` for synchronous code; works in a notebook too."""
        return self.run_sync(
            model,
            self.chat(model, parameters, messages, context=context, memory_id=memory_id, timeout=timeout),
        )

    @contextmanager
    def stream_sync(
        self,
        model: ChatModel,
        parameters: ChatRequestParameters | None,
        messages: Messages,
        *,
        context: Run | Mapping[str, object] | None = None,
        memory_id: object = None,
        timeout: float | None = None,
    ) -> Iterator[Iterator[RunEvent]]:
        """`stream` for synchronous code: ``with service.stream_sync(...) as events: for event in events: ...``"""
        stream = self.stream(model, parameters, messages, context=context, memory_id=memory_id, timeout=timeout)
        with self.events_sync(model, stream) as events:
            yield events

    def run_sync(self, model: ChatModel, work: Coroutine[Any, Any, _T]) -> _T:
        """Run work on the loop of the synchronous twins, which closes the model at its end."""
        try:
            self._models[id(model)] = model
        except TypeError:
            self._held_models[id(model)] = model
        # A tool that holds a conversation lends its thread meanwhile.
        with self.settings.threads.lent(), self.runs.expecting():
            return self._background.run(work)

    @contextmanager
    def events_sync(self, model: ChatModel, stream: RunStream) -> Iterator[Iterator[RunEvent]]:
        """The events of a stream that runs on that loop and ends with the block."""
        self.run_sync(model, stream.__aenter__())
        try:
            yield self._events(model, stream)
        finally:
            self.run_sync(model, stream.aclose())

    async def drive(
        self,
        rounds: Rounds,
        state: ToolLoopState,
        run: Run,
        parameters: ChatRequestParameters | None,
        emit: Emit | None = None,
    ) -> ToolChatResult:
        """Hold a turn for somebody who asks the model himself: a tool advisor inside its chain.

        The registered tools are offered with those of ``run.sources``. The run's bounds, its begin and what replies
        cost are the caller's. Raises as `chat` does.
        """
        sources: list[ToolSource | tuple[BoundTool, ...]] = [self._tools, *self._sources, *run.sources]
        return await self._driver.drive(ToolLoop(state), run, parameters, sources, rounds, emit)

    # -- life cycle ------------------------------------------------------------------------------

    def start(self) -> None:
        """Find two tools of one name before the first request, as far as the sources know theirs without a run.

        Whoever holds a service in a container need not call it. Raises `DuplicateToolError`.
        """
        found = (known_tools(source) for source in self._sources)
        self._driver.check_names([self._tools, *(tools for tools in found if tools is not None)])

    @property
    def thread_counts(self) -> ThreadCounts:
        """Worker threads of synchronous tools: busy, idle, abandoned."""
        return self.settings.threads.counts

    def close(self) -> None:
        """End the synchronous twins' loop (with the models' connections on it) and the idle worker threads."""
        with ExitStack() as closing:  # a model that fails to close keeps nothing else open
            closing.callback(self.settings.threads.close)
            closing.callback(self._background.close)
            if self._background.started:
                for model in (*self._models.values(), *self._held_models.values()):
                    closing.callback(self._close_model, model)
            self._models.clear()
            self._held_models.clear()

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

    # -- inside ----------------------------------------------------------------------------------

    async def _converse(
        self,
        model: ChatModel,
        parameters: ChatRequestParameters | None,
        state: ToolLoopState,
        run: Run,
        emit: Emit | None,
        notices: Sequence[Notice] = (),
    ) -> ToolChatResult:
        run.begin()
        run.messages = state.messages
        loop = ToolLoop(state)
        ask = model.chat if emit is None else asking(model, emit)
        with self.runs.holding(run):
            async with RunScope(run):
                # Within the run, as the model may be one that is made for it.
                run.secrets = self.secrets_with(model, run)
                sources: list[ToolSource | tuple[BoundTool, ...]] = [self._tools, *self._sources]
                return await self._driver.drive(loop, run, parameters, sources, ask, emit, notices)

    def _state(self, history: History) -> ToolLoopState:
        return ToolLoopState(history, self.settings.max_tool_calling_round_trips)

    def secrets_with(self, model: ChatModel, run: Run) -> Secrets:
        """What is to be masked in a run with this model: the service's, the model's and the run's own."""
        found = getattr(model, "secrets", None)
        if not isinstance(found, Secrets) or not found:
            return self.secrets | run.secrets if run.secrets else self.secrets
        return self.secrets | found | run.secrets

    def _close_model(self, model: ChatModel) -> None:
        self._background.run(model.aclose())

    def _events(self, model: ChatModel, stream: RunStream) -> Iterator[RunEvent]:
        while True:
            event = self.run_sync(model, _next_of(stream))
            if event is None:
                return
            yield event

    def _register(self, item: Any) -> None:
        from agentforge.tool.execution.default_executor import bound_tools_from

        if isinstance(item, BoundTool):
            self._add((item,))
        elif isinstance(item, Mapping):
            for specification, executor in item.items():
                self.tool(specification, executor)
        elif inspect.iscoroutinefunction(getattr(item, "tools", None)) and not inspect.isclass(item):
            self._sources = (*self._sources, item)
        elif isinstance(item, Iterable) and not isinstance(item, (str, bytes)):
            self.tools(*item)
        else:
            self._add(bound_tools_from(item))

    def _add(self, tools: Sequence[BoundTool]) -> None:
        names = {tool.name: tool.source_name for tool in self._tools}
        for tool in tools:
            if tool.name in names:
                raise DuplicateToolError(
                    f"a tool named {tool.name!r} is registered already (source {names[tool.name]!r})",
                    tool=tool.name,
                    next_step="Give one of the two another name: @tool(name=...).",
                )
            names[tool.name] = tool.source_name
        self._tools = (*self._tools, *tools)


async def _next_of(stream: RunStream) -> RunEvent | None:
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None
