"""What a call says beside its client's own settings: built step by step, never changed, free to be shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from agentforge.advisor import Advisor, Link
from agentforge.errors import RunArgumentError
from agentforge.model import ChatMessage, ChatRequestParameters, UserMessage
from agentforge.tool import BoundTool, ToolSource
from agentforge.tool.execution import Run, RunEvent, RunStream, ToolChatResult, ToolLoopState, ToolService, run_of

if TYPE_CHECKING:
    from agentforge.advisor import OutputType, StructuredMode
    from agentforge.client.chat_client import ChatClient
    from agentforge.client.structured import StructuredPrompt

__all__ = ("Prompt",)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call to be made: ``client.prompt("…").tools(OrderTools()).tool_context(tenant_id="acme").call()``.

    Every step gives a new prompt, so that one can be kept and used by many. What it says is added to the client's
    defaults (tools, tool context, advisors) or goes over them (system, parameters).
    """

    client: ChatClient
    given: tuple[ChatMessage, ...] = ()
    system_text: str | None = None
    sources: tuple[ToolSource | tuple[BoundTool, ...], ...] = ()
    context_values: Mapping[str, object] | None = None
    overrides: ChatRequestParameters | None = None
    links: tuple[Link, ...] | None = None
    added: tuple[Advisor, ...] = ()
    memory: object = None
    of_tenant: str | None = None
    with_roles: tuple[str, ...] = ()
    seconds: float | None = None
    taken_up: ToolLoopState | None = None

    @classmethod
    def of(cls, client: ChatClient, messages: Iterable[str | ChatMessage]) -> Self:
        """A prompt of these messages, texts as the user's."""
        return cls(client, tuple(map(_message, messages)))

    # -- what is said ----------------------------------------------------------------------------

    def system(self, text: str) -> Self:
        """The system message of this call, in the place of the client's and of one in the messages."""
        return replace(self, system_text=text)

    def messages(self, *messages: str | ChatMessage) -> Self:
        """Further messages, texts as the user's: a history, and the question at its end."""
        return replace(self, given=(*self.given, *map(_message, messages)))

    def tools(self, *items: Any) -> Self:
        """Tools of this call, beside the client's: whatever `ToolService.tools` takes. Raises as it does."""
        return replace(self, sources=(*self.sources, *ToolService(*items).sources))

    def tool_context(self, values: Mapping[str, object] | None = None, **more: object) -> Self:
        """The application's data for tools and advisors, never sent to a model; later values win."""
        return replace(self, context_values={**(self.context_values or {}), **(values or {}), **more})

    def parameters(self, parameters: ChatRequestParameters | None = None, **values: Any) -> Self:
        """Parameters of the request, over the client's: as an object, or by name (``temperature=0``). Raises
        `RunArgumentError` for a name that there is not."""
        made = ChatRequestParameters.merge(parameters, _parameters(values) if values else None)
        return replace(self, overrides=ChatRequestParameters.merge(self.overrides, made))

    def advisors(self, *advisors: Advisor) -> Self:
        """Advisors of this call, each in the place that it asks for; see `Placement`. Raises `AdvisorOrderError`."""
        added = (*self.added, *advisors)
        return replace(self, added=added, links=self.client.chain_with(added))

    def memory_id(self, memory_id: object) -> Self:
        """The conversation that this turn belongs to."""
        return replace(self, memory=memory_id)

    def tenant(self, tenant: str) -> Self:
        """The tenant for whom it is."""
        return replace(self, of_tenant=tenant)

    def roles(self, *roles: str) -> Self:
        """The roles of the user for whom it is."""
        return replace(self, with_roles=(*self.with_roles, *roles))

    def timeout(self, seconds: float) -> Self:
        """The most that the turn may take."""
        return replace(self, seconds=seconds)

    def resume(self, state: ToolLoopState) -> Self:
        """Go on with a turn that was suspended: give the same messages as then."""
        return replace(self, taken_up=state)

    # -- and asked -------------------------------------------------------------------------------

    async def call(self, context: Run | None = None) -> ToolChatResult:
        """Hold the turn. Raises what `ToolService.chat` and the advisors raise; each error carries ``partial``."""
        return await self.client.hold(self, self.run(context))

    def stream(self, context: Run | None = None, *, nested: bool = False) -> RunStream:
        """`call` as events: ``async with prompt.stream() as events: async for event in events: ...``

        With ``nested`` those of the runs that its tools hold are among them, services that are tools say; each event
        has the id of its run and of that run's parent.
        """
        return self.client.streamed(self, self.run(context), nested=nested)

    def call_sync(self, context: Run | None = None) -> ToolChatResult:
        """`call` for synchronous code; works in a notebook too."""
        return self.client.service.run_sync(self.client.model, self.call(context))

    def stream_sync(
        self, context: Run | None = None, *, nested: bool = False
    ) -> AbstractContextManager[Iterator[RunEvent]]:
        """`stream` for synchronous code: ``with prompt.stream_sync() as events: for event in events: ...``"""
        return self.client.service.events_sync(self.client.model, self.stream(context, nested=nested))

    # -- for a value -----------------------------------------------------------------------------

    @overload
    def structured(
        self, output: type[T] | OutputType[T], *, mode: StructuredMode = ..., max_reprompts: int = ...
    ) -> StructuredPrompt[T]: ...
    @overload
    def structured(
        self, output: Any, *, mode: StructuredMode = ..., max_reprompts: int = ...
    ) -> StructuredPrompt[Any]: ...
    def structured(
        self, output: Any, *, mode: StructuredMode = "auto", max_reprompts: int = 2
    ) -> StructuredPrompt[Any]:
        """This prompt, asked for a value of a type, or for JSON that fits a schema: `StructuredOutputAdvisor` says
        what may be given. Goes over one among the client's advisors. Raises `ConfigurationError`."""
        from agentforge.client.structured import StructuredPrompt

        return StructuredPrompt.of(self, output, mode, max_reprompts)

    @overload
    async def entity(
        self, output: type[T] | OutputType[T], *, mode: StructuredMode = ..., max_reprompts: int = ...
    ) -> T: ...
    @overload
    async def entity(self, output: Any, *, mode: StructuredMode = ..., max_reprompts: int = ...) -> Any: ...
    async def entity(self, output: Any, *, mode: StructuredMode = "auto", max_reprompts: int = 2) -> Any:
        """The value alone: ``await client.prompt("…").entity(Order)``.

        Raises what `call` raises, and `StructuredOutputError` where the model gives no such value, or the turn is
        suspended; `structured` has the rest of the result.
        """
        return (await self.structured(output, mode=mode, max_reprompts=max_reprompts).call()).value

    @overload
    def entity_sync(
        self, output: type[T] | OutputType[T], *, mode: StructuredMode = ..., max_reprompts: int = ...
    ) -> T: ...
    @overload
    def entity_sync(self, output: Any, *, mode: StructuredMode = ..., max_reprompts: int = ...) -> Any: ...
    def entity_sync(self, output: Any, *, mode: StructuredMode = "auto", max_reprompts: int = 2) -> Any:
        """`entity` for synchronous code; works in a notebook too."""
        return self.structured(output, mode=mode, max_reprompts=max_reprompts).call_sync().value

    # -- inside ----------------------------------------------------------------------------------

    def run(self, context: Run | None = None) -> Run:
        """The run that this prompt would be held in: a new one, or the given one with what the prompt says."""
        run = run_of(context, self.memory, self.seconds)
        defaults = self.client.tool_context
        if defaults or self.context_values:
            run.user_data = {**defaults, **run.user_data, **(self.context_values or {})}
        if run.memory_id is None:
            run.memory_id = self.client.memory_id
        run.tenant = self.of_tenant or run.tenant or self.client.tenant
        if self.with_roles or self.client.roles:
            run.roles = run.roles | self.client.roles | frozenset(self.with_roles)
        if self.taken_up is not None:
            run.resume_from(self.taken_up)
        return run

    def __repr__(self) -> str:
        return f"Prompt({len(self.given)} messages, {self.client!r})"


def _message(given: str | ChatMessage) -> ChatMessage:
    if isinstance(given, str):
        return UserMessage(given)
    if not isinstance(given, ChatMessage):
        raise RunArgumentError(
            f"{type(given).__name__} is no message", next_step="Give texts and messages, not a list of them."
        )
    return given


def _parameters(values: Mapping[str, Any]) -> ChatRequestParameters:
    known = [field.name for field in fields(ChatRequestParameters)]
    for name in values:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            raise RunArgumentError(
                f"a request has no parameter {name!r}",
                next_step=f"Did you mean {near[0]!r}?" if near else "What a provider alone knows is custom_parameters.",
            )
    return ChatRequestParameters(**values)
