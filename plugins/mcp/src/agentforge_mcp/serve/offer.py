"""What is served and how a call of it runs: an MCP client in the place of a model, the same gates and interceptors.

A call is one turn of a run whose "model" asks for that call and then has nothing more to say, so that look-up,
permission, validation, limits, approval, interceptors, size cap and error handlers are those of any other call.
Nothing here knows the protocol.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from agentforge.client import ChatClient
from agentforge.errors import AgentForgeError, RunCancelledError, UnknownToolError
from agentforge.masking import Secrets
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    Event,
    FinishReason,
    Notice,
    TextContent,
    ToolExecutionRequest,
)
from agentforge.tool import BoundTool, ToolSource, known_tools
from agentforge.tool.execution import (
    PlannedCall,
    Proceed,
    Run,
    RunScope,
    ToolDriver,
    ToolExecutionResult,
    ToolGate,
    ToolLoop,
    ToolLoopState,
    ToolOutcome,
    ToolService,
    history_of,
)
from agentforge_mcp.patterns import check_patterns, fits_any

__all__ = ("ServedTools", "Tell")

_log = logging.getLogger("agentforge.mcp.serve")

Tell = Callable[[Notice], Awaitable[None]]
"""Where a call's notices go, such as how far it is."""

_WAITING_PER_PLACE = 8
#: Gates of these stages judge a tool, and not what is in a call of it: they are asked when tools are listed.
_STAGES = ("permission", "approval")


class ServedTools:
    """The tools of a service, and more of its caller's, for one tenant and its roles.

    ``more`` are tools, and sources of tools, beside the service's; they pass its gates too. ``client`` is the chat
    client whose service it is: its tool context, tenant and roles hold where none are given. ``only`` and ``without``
    are patterns of names. At most ``max_concurrent_calls`` run side by side; eight times as many wait, and further ones
    are refused.
    """

    def __init__(
        self,
        service: ToolService,
        *,
        client: ChatClient | None = None,
        more: Iterable[BoundTool | ToolSource] = (),
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        tenant: str | None = None,
        roles: Iterable[str] | None = None,
        tool_context: Mapping[str, object] | None = None,
        max_concurrent_calls: int = 32,
    ) -> None:
        self._service = service
        self._client = client
        given = tuple(more)
        bound = tuple(each for each in given if isinstance(each, BoundTool))
        others = tuple(each for each in given if not isinstance(each, BoundTool))
        self._more: tuple[ToolSource | tuple[BoundTool, ...], ...] = (bound, *others) if bound else others
        self._only, self._without = tuple(only), tuple(without)
        self._tenant = tenant
        self._roles = None if roles is None else frozenset(roles)
        self._context: Mapping[str, object] = dict(tool_context or {})
        # Of the same settings as the service's own: its limits, handlers, threads and serial keys.
        self._driver = ToolDriver(service.settings)
        self._places = asyncio.Semaphore(max_concurrent_calls)
        self._most_waiting = max_concurrent_calls * _WAITING_PER_PLACE
        self._waiting = 0
        self._seen: tuple[Sequence[BoundTool], tuple[BoundTool, ...]] = ((), ())
        self._names: tuple[str, ...] = ()
        self._unchecked = bool(self._only or self._without)
        self._listed: tuple[BoundTool, ...] = ()
        self._said: set[str] = set()

    @property
    def may_change(self) -> bool:
        """Whether the list may be another one later: some source looks at the run, or a gate decides."""
        return bool(self._gates()) or any(type(source) is not tuple for source in self._sources())

    @property
    def secrets(self) -> Secrets:
        """What is masked in all that leaves."""
        found = getattr(self._client.model, "secrets", None) if self._client is not None else None
        return self._service.secrets | found if isinstance(found, Secrets) else self._service.secrets

    def run(self) -> Run:
        """A run for the tenant and the roles that the configuration fixes."""
        made = Run() if self._client is None else self._client.prompt().run()
        if self._tenant is not None:
            made.tenant = self._tenant
        if self._roles is not None:
            made.roles = self._roles
        if self._context:
            made.user_data = {**made.user_data, **self._context}
        made.selectors = (self._look, *made.selectors, self._select)
        return made

    async def listing(self) -> tuple[BoundTool, ...]:
        """The tools on offer now; the same object as long as nothing changed.

        Raises `ConfigurationError` for a name in ``only`` or ``without`` that no tool has.
        """
        run = self.run()
        toolset = await self._driver.toolset(run, self._sources(), None)
        if self._unchecked:
            # Of what stands here a tool may still come where a source does not say what it has.
            certain = all(type(each) is tuple or known_tools(each) is not None for each in self._sources())
            check_patterns({"only": self._only, "except": self._without}, self._names, certain=certain)
            self._unchecked = False
        tools = await self._allowed(toolset.bound, run)
        if tools != self._listed and _declared(tools) != _declared(self._listed):
            self._listed = tools
        return self._listed

    async def call(
        self, run: Run, name: str, arguments: Mapping[str, object], tell: Tell | None = None
    ) -> ToolExecutionResult:
        """The result of one call, its texts masked; a failure is a result too.

        Raises `UnknownToolError` for a tool that is not on offer, and `RunCancelledError` once the run is cancelled.
        """
        if self._waiting >= self._most_waiting:
            return ToolExecutionResult.failure("Too many calls are waiting; nothing ran. Try again later.")
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._called(run, name, arguments, tell)
        finally:
            self._places.release()

    # -- inside ----------------------------------------------------------------------------------

    async def _called(
        self, run: Run, name: str, arguments: Mapping[str, object], tell: Tell | None
    ) -> ToolExecutionResult:
        try:
            known = await self.listing()
            if all(tool.name != name for tool in known):
                raise UnknownToolError(f"there is no tool {name!r}", tool=name, known=[tool.name for tool in known])
            request = ToolExecutionRequest("call_1", name, json.dumps(arguments, ensure_ascii=False))
            return self._masked(await self._driven(run, request, tell), run)
        except (UnknownToolError, RunCancelledError):
            raise
        except AgentForgeError as error:
            _log.warning("the call of %r failed: %s", name, self.secrets.mask(error.message))
            return self._masked(ToolExecutionResult.failure(error.message), run)
        except Exception as error:
            _log.exception("the call of %r failed", name)
            return ToolExecutionResult.failure(f"The call could not be made: {type(error).__name__}.")

    async def _driven(self, run: Run, request: ToolExecutionRequest, tell: Tell | None) -> ToolExecutionResult:
        run.begin()
        history, _ = history_of(f"Call {request.name}.")
        loop = ToolLoop(ToolLoopState(history, 1))
        run.messages = loop.messages
        asked = False

        async def ask(_: ChatRequest) -> ChatResponse:
            nonlocal asked
            if asked:
                return ChatResponse(AiMessage("Done."))
            asked = True
            return ChatResponse(AiMessage(tool_execution_requests=[request]), FinishReason.TOOL_EXECUTION)

        async def emit(event: Event) -> None:
            if tell is not None and type(event) is Notice:
                await tell(Notice(event.code, run.secrets.mask(event.message), event.details))

        try:
            with self._service.runs.holding(run):
                async with RunScope(run):
                    run.secrets = self.secrets | run.secrets
                    result = await self._driver.drive(loop, run, None, self._sources(), ask, emit)
        except Exception as error:
            done = getattr(getattr(error, "partial", None), "tool_executions", ())
            if not done or run.cancellation.requested:
                raise
            # A handler that ends the run has nothing to tell a model: the error's own text stands in the record.
            execution = done[-1]
        else:
            if not result.tool_executions:
                return ToolExecutionResult.failure(_undecided(loop.state))
            execution = result.tool_executions[-1]
        if execution.outcome is ToolOutcome.UNKNOWN_TOOL:
            raise UnknownToolError(f"there is no tool {request.name!r}", tool=request.name)
        made = execution.result
        return made if made.is_error or not execution.has_failed() else ToolExecutionResult.failure(made.text)

    def _masked(self, result: ToolExecutionResult, run: Run) -> ToolExecutionResult:
        secrets = self.secrets | run.secrets
        if not secrets:
            return result
        parts = [
            TextContent(secrets.mask(part.text)) if type(part) is TextContent else part for part in result.contents
        ]
        return result.with_contents(parts)

    def _sources(self) -> tuple[ToolSource | tuple[BoundTool, ...], ...]:
        return (*self._service.sources, *self._more)

    def _look(self, tools: Sequence[BoundTool], run: Run) -> Sequence[BoundTool]:
        """All of them, before anything is left out."""
        if self._unchecked:
            self._names = tuple(tool.name for tool in tools)
        return tools

    def _select(self, tools: Sequence[BoundTool], run: Run) -> Sequence[BoundTool]:
        """Those that the patterns name; the same objects for the same."""
        if not self._only and not self._without:
            return tools
        if self._seen[0] is not tools:
            kept = (
                tool
                for tool in tools
                if (not self._only or fits_any([tool.name], self._only)) and not fits_any([tool.name], self._without)
            )
            self._seen = tools, tuple(kept)
        return self._seen[1]

    def _gates(self) -> list[ToolGate]:
        return [gate for gate in self._service.settings.gates if getattr(gate, "stage", None) in _STAGES]

    async def _allowed(self, tools: tuple[BoundTool, ...], run: Run) -> tuple[BoundTool, ...]:
        """Those that no gate refuses, or wants to ask about, whatever the arguments."""
        for gate in self._gates():
            calls = [
                PlannedCall(at, ToolExecutionRequest(f"call_{at}", tool.name, "{}"), tool)
                for at, tool in enumerate(tools)
            ]
            try:
                verdicts = await gate.check(calls, run)
                tools = tuple(t for t, verdict in zip(tools, verdicts, strict=True) if isinstance(verdict, Proceed))
            except Exception as error:
                name = type(gate).__name__
                if name not in self._said:
                    self._said.add(name)
                    _log.warning("the gate %s could not say what may be offered, so nothing is: %s", name, error)
                return ()
        return tools


def _declared(tools: Sequence[BoundTool]) -> list[object]:
    return [(tool.specification, tool.effect) for tool in tools]


def _undecided(state: ToolLoopState) -> str:
    """Why a call did not run to its end: somebody is to decide, and over this way nobody can."""
    reasons = "; ".join(dict.fromkeys(ask.reason for ask in state.waiting.values() if ask.reason))
    why = f" ({reasons})" if reasons else ""
    if state.nested:
        return f"A call within this one waits for a decision{why}, which cannot be given here; it was not finished."
    return f"This call needs a decision{why}, which cannot be given here; nothing ran."
