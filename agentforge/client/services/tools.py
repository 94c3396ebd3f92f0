"""A service as a tool of another: each call is a run of its own, under the run that makes it.

The inner run has its own model, tools and memory. It ends no later than the outer one and is cancelled with it, what it
costs is paid there, it acts for the same tenant, roles and user data, and where it waits for a decision the outer one
waits too, the state of the inner run within its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from agentforge.client.services.core import ServiceCore
from agentforge.client.services.signature import ServiceSignature
from agentforge.errors import ToolExecutionError, ToolLimitedError
from agentforge.memory import ConversationSuspendedError
from agentforge.model import ToolExecutionRequest
from agentforge.tool import BoundTool, ToolDeclaration, declaration_of
from agentforge.tool.declare import MISSING
from agentforge.tool.execution import Run, ToolChatResult, ToolExecutionResult, ToolLoopState
from agentforge.tool.execution.converter import converted
from agentforge.tool.execution.failure import execution_cause, execution_error
from agentforge.tool.execution.nested import NestedSuspension, taken_up_state
from agentforge.tool.spec.binding import Binder
from agentforge.tool.spec.hints import HiddenValue
from agentforge.tool.spec.schema import compile_parameters
from agentforge.tool.spec.signature import ToolSignature, read_signature
from agentforge.tool.spec.specifications import specification_of, validate_specifications

__all__ = ("tools_of",)


def tools_of(service: object, core: ServiceCore, interface: type) -> tuple[BoundTool, ...]:
    """The methods that are declared with ``@tool``. Raises `ToolDeclarationError` and `DuplicateToolError`."""
    found: list[BoundTool] = []
    for name, _ in inspect.getmembers(interface, inspect.isfunction):
        method = getattr(service, name)
        declaration = declaration_of(method)
        if declaration is not None:
            found.append(_tool(method, declaration, core, core.signature_of(name)))
    validate_specifications(each.specification for each in found)
    return tuple(found)


def _tool(method: Any, declaration: ToolDeclaration, core: ServiceCore, service: ServiceSignature) -> BoundTool:
    signature = read_signature(method)
    compiled = compile_parameters(signature)
    return BoundTool(
        specification_of(signature, compiled),
        Binder(signature.tool, compiled),
        _Invocation(signature, service, core).invoke,
        declaration.return_behavior,
        declaration.effect,
        core.name,
        declaration.timeout,
        declaration.serial,
        declaration.sequential,
    )


class _Invocation:
    """Holds the inner run of a call."""

    def __init__(self, signature: ToolSignature, service: ServiceSignature, core: ServiceCore) -> None:
        self._tool = signature.tool
        self._service = service
        self._core = core
        self._mark = f"agentforge.service_calls.{id(self):x}"
        self._hidden = {name: kind for name, kind in signature.injected.items() if isinstance(kind, HiddenValue)}

    async def invoke(self, request: ToolExecutionRequest, bound: Mapping[str, Any], run: Run) -> ToolExecutionResult:
        """The answer of the inner run. Raises `NestedSuspension` where it waits."""
        state, held = taken_up_state(), run.attributes
        inner = _under(run)
        if inner.depth > self._core.max_depth:
            raise ToolLimitedError(
                f"not run: {inner.depth} runs inside one another are more than {self._core.max_depth}", tool=self._tool
            )
        held[self._mark] = self._calls_of(run) + 1
        suspended = None
        try:
            try:
                turn = await self._turn(bound, run, inner, state)
            except ConversationSuspendedError:
                if state is not None or not await self._gave_up(run, inner):
                    # In words of its own: the conversation's id is not for the outer model.
                    raise ToolExecutionError(
                        f"an earlier call of {self._tool!r} waits for a decision; until then nothing else can be asked",
                        tool=self._tool,
                        next_step="Decide and resume the turn that waits, or give it up: memory.give_up(key).",
                    ) from None
                inner = _under(run)
                turn = await self._turn(bound, run, inner, None)
            suspended = turn.suspended
            if suspended is None:
                made = converted(self._service.answer.told(turn), self._tool, run.converters)
                return made.with_attributes({**made.attributes, "run_id": inner.id})
        except (Exception, SystemExit) as error:
            run.secrets = run.secrets | inner.secrets  # the words of the error are the outer run's to tell now
            raise execution_error(error, self._tool) from execution_cause(error)
        finally:
            if suspended is None:
                held[self._mark] = self._calls_of(run) - 1
        raise NestedSuspension(suspended, _reasons(suspended))

    async def _turn(
        self, bound: Mapping[str, Any], run: Run, inner: Run, state: ToolLoopState | None
    ) -> ToolChatResult:
        return await self._core.turn(self._service.name, (), self._arguments(bound, run, inner), state, inner)

    async def _gave_up(self, run: Run, inner: Run) -> bool:
        """Let go of a turn of the tool's conversation that waits though the outer conversation has gone on without it:
        its call was refused, or failed when it was taken up. Without a memory of its own nobody knows that of the outer
        one, and a call beside this one may be what waits."""
        from agentforge.advisor import MEMORY_TURN

        if MEMORY_TURN not in run.attributes or self._calls_of(run) > 1:
            return False
        return await self._core.give_up(self._service.name, inner)

    def _calls_of(self, run: Run) -> int:
        """How many calls of the run are under way here, or wait."""
        found = run.attributes.get(self._mark)
        return found if isinstance(found, int) else 0

    def _arguments(self, bound: Mapping[str, Any], run: Run, inner: Run) -> dict[str, Any]:
        """The model's arguments, and the hidden ones out of the run that makes the call."""
        given = dict(bound)
        for name, kind in self._hidden.items():
            if kind.name in run.user_data or kind.default is MISSING:
                given[name] = kind.of(run)
        if self._service.run is not None:
            given[self._service.run] = inner
        if self._service.memory_id is not None:
            given[self._service.memory_id] = _below(run.memory_id, self._tool)
        return given


def _under(run: Run) -> Run:
    return Run(parent=run, tenant=run.tenant, roles=run.roles, user_data=run.user_data)


def _below(outer: object, tool: str) -> object:
    """The conversation of a tool: not the outer one, which is open meanwhile and may lie in the same memory. What is no
    memory id there makes none here."""
    if outer is None or outer == "":
        return outer
    named = isinstance(outer, str | int | UUID) and not isinstance(outer, bool)
    return f"{outer}/{tool}" if named else (outer, tool)


def _reasons(state: ToolLoopState) -> str:
    return "; ".join(ask.reason for _, ask in sorted(state.waiting.items()))
