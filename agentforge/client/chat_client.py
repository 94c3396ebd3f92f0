"""A model, its tools, its advisors and a system prompt in one object: what an application asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from agentforge.advisor import Advisor, Link, ToolCallingAdvisor, arranged, calls_tools
from agentforge.client.observer import ChatObserver
from agentforge.client.prompt import Prompt
from agentforge.client.turn import Turn, hold
from agentforge.errors import RunArgumentError
from agentforge.model import (
    ChatMessage,
    ChatModel,
    ChatRequestParameters,
    History,
    SystemMessage,
    ToolChoice,
    UserMessage,
)
from agentforge.tool.execution import Emit, Run, RunEvent, RunStream, ToolChatResult, ToolService
from agentforge.tool.execution.asked import Messages, check_asked

__all__ = ("ChatClient",)


class ChatClient:
    """Holds conversations with one model through a chain of advisors.

    ``tools`` are registered with a `ToolService` of the client's own; with ``service`` that one is used. ``system`` is
    put in front of conversations that have no system message. ``tool_choice`` (``"auto"``, ``"required"`` or a tool's
    name) holds for the first round of each turn. ``advisors`` is the chain, outermost first; the tool advisor stands
    innermost where the list has none, unless ``tool_calling`` is false: then replies with calls are handed back.
    ``tool_context`` is for tools and advisors and never sent to a model. ``messages`` (examples, say) go in front of
    every request, and into no history; ``memory_id``, ``tenant`` and ``roles`` are those of turns that name none. The
    model is never closed here, the service where it is the client's own (``owns_service``). ``observer`` is told of
    every call. Safe to share between tasks.

    Raises `AdvisorOrderError` for advisors that cannot stand in one chain.

    >>> from agentforge.model.scripted import ScriptedChatModel, call
    >>> def get_weather(city: str) -> str:
    ...     "Current weather of a city."
    ...     return f"{city}: 22 degrees"
    >>> model = ScriptedChatModel([call("get_weather", city="Hangzhou"), "It is 22 degrees."])
    >>> with ChatClient(model, tools=[get_weather], system="Answer shortly.") as client:
    ...     client.prompt("What is the weather in Hangzhou?").call_sync().content
    'It is 22 degrees.'
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        tools: Iterable[Any] = (),
        service: ToolService | None = None,
        system: str | None = None,
        tool_choice: ToolChoice | str | None = None,
        parameters: ChatRequestParameters | None = None,
        advisors: Iterable[Advisor] = (),
        tool_calling: bool = True,
        tool_context: Mapping[str, object] | None = None,
        messages: Iterable[ChatMessage] = (),
        memory_id: object = None,
        tenant: str | None = None,
        roles: Iterable[str] = (),
        owns_service: bool | None = None,
        observer: ChatObserver | None = None,
    ) -> None:
        check_asked(parameters, model)
        self.model = model
        self.service = ToolService() if service is None else service
        self.system = system
        self.tool_context: Mapping[str, object] = dict(tool_context or {})
        self.messages = History.of(messages)
        self.memory_id = memory_id
        self.tenant = tenant
        self.roles = frozenset(roles)
        self.parameters = ChatRequestParameters.merge(
            parameters, None if tool_choice is None else ChatRequestParameters(tool_choice=ToolChoice.of(tool_choice))
        )
        self._observer = observer
        self._owns_service = service is None if owns_service is None else owns_service
        given = tuple(tools)
        if service is None:
            self.service.tools(*given)
        self._sources = () if service is None or not given else ToolService(*given).sources
        self._listed = tuple(advisors)
        self._tool_calling = tool_calling
        #: The chain, outermost first.
        self.chain = self.chain_with(())

    @property
    def tool_choice(self) -> ToolChoice | None:
        """What the model must call in the first round of a turn; ``None``: its own default."""
        return self.parameters.tool_choice

    def start(self) -> None:
        """Find two tools of one name before the first request, see `ToolService.start`. Raises `DuplicateToolError`."""
        self.service.start()

    def chain_with(self, added: Sequence[Advisor]) -> tuple[Link, ...]:
        """The chain with further advisors in their places. Raises `AdvisorOrderError`."""
        listed = self._listed
        more = list(added)
        if self._tool_calling and not any(map(calls_tools, (*listed, *more))):
            more.append(_Innermost(self.service))
        return tuple(map(self._bound, arranged(listed, more)))

    def prompt(self, *messages: str | ChatMessage) -> Prompt:
        """A call to be made: a question, or a history with one at its end; see `Prompt` for what else it may say."""
        return Prompt.of(self, messages)

    async def chat(
        self,
        messages: Messages,
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> ToolChatResult:
        """One turn: a text, or the history that a former result's ``messages`` and a new question make.

        ``timeout`` bounds the turn in seconds; ``context`` is the application's data for the tools, or a `Run`. Raises
        what `ToolService.chat` and the advisors raise; each error carries ``partial``.
        """
        prompt, run = self._asked(messages, memory_id, timeout, context)
        return await prompt.call(run)

    def stream(
        self,
        messages: Messages,
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> RunStream:
        """`chat` as events: ``async with client.stream(...) as events: async for event in events: ...``"""
        prompt, run = self._asked(messages, memory_id, timeout, context)
        return prompt.stream(run)

    def chat_sync(
        self,
        messages: Messages,
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> ToolChatResult:
        """`chat` for synchronous code; works in a notebook too."""
        prompt, run = self._asked(messages, memory_id, timeout, context)
        return prompt.call_sync(run)

    def stream_sync(
        self,
        messages: Messages,
        *,
        memory_id: object = None,
        timeout: float | None = None,
        context: Run | Mapping[str, object] | None = None,
    ) -> AbstractContextManager[Iterator[RunEvent]]:
        """`stream` for synchronous code: ``with client.stream_sync(...) as events: for event in events: ...``"""
        prompt, run = self._asked(messages, memory_id, timeout, context)
        return prompt.stream_sync(run)

    async def hold(self, prompt: Prompt, run: Run) -> ToolChatResult:
        """Hold a prompt's turn in a run; `Prompt.call` is the way to say it."""
        return await hold(self._turn(prompt), run)

    def streamed(self, prompt: Prompt, run: Run, *, nested: bool = False) -> RunStream:
        """`hold` as events; `Prompt.stream` is the way to say it."""
        check_asked(None, self.model, "stream")
        turn = self._turn(prompt)

        async def work(emit: Emit) -> ToolChatResult:
            run.tells = emit if nested else None
            try:
                return await hold(turn, run, emit)
            finally:
                run.tells = None  # it leads back to the stream, which has the run

        return RunStream(run, work)

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

    # -- inside ----------------------------------------------------------------------------------

    def _asked(
        self,
        messages: Messages,
        memory_id: object,
        timeout: float | None,
        context: Run | Mapping[str, object] | None,
    ) -> tuple[Prompt, Run | None]:
        prompt = Prompt(self, given=_given(messages), memory=memory_id, seconds=timeout)
        if context is None or isinstance(context, Run):
            return prompt, context
        if not isinstance(context, Mapping):
            raise RunArgumentError(f"context must be a mapping or a Run, not {type(context).__name__}")
        return prompt.tool_context(context), None

    def _bound(self, link: Link) -> Link:
        """A tool advisor without tools of its own calls with the client's; it may stand in other chains as well."""
        advisor = link.advisor
        if not isinstance(advisor, ToolCallingAdvisor) or advisor.service is not None:
            return link
        return replace(link, advisor=advisor.with_service(self.service))

    def _turn(self, prompt: Prompt) -> Turn:
        messages: Sequence[ChatMessage] = prompt.given
        if not messages and prompt.taken_up is not None:
            messages = prompt.taken_up.messages[: prompt.taken_up.given]
        return Turn(
            self.service,
            self.model,
            self._with_system(messages, prompt.system_text),
            ChatRequestParameters.merge(self.parameters, prompt.overrides),
            self.chain if prompt.links is None else prompt.links,
            (*self._sources, *prompt.sources),
            self._observer,
            self.messages,
        )

    def _with_system(self, messages: Sequence[ChatMessage], own: str | None) -> Sequence[ChatMessage]:
        has_one = any(isinstance(message, SystemMessage) for message in messages)
        text = self.system if own is None and not has_one else own
        if text is None or not messages:
            return messages
        others = messages if own is None else (each for each in messages if not isinstance(each, SystemMessage))
        return (SystemMessage(text), *others)


class _Innermost(ToolCallingAdvisor):
    """The tool advisor that is there by itself."""

    innermost = True


def _given(messages: Messages) -> tuple[ChatMessage, ...]:
    if isinstance(messages, str):
        return (UserMessage(messages),)
    if isinstance(messages, ChatMessage | Mapping) or not isinstance(messages, Iterable):
        return (messages,)  # type: ignore[return-value]
    return tuple(messages)
