"""What every AI service does behind its methods: arguments in, a turn of the client, an answer out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentforge.client.chat_client import ChatClient
from agentforge.client.prompt import Prompt
from agentforge.client.services.answer import told, told_sync
from agentforge.client.services.declare import ServiceMethod
from agentforge.client.services.signature import Asked, ServiceSignature
from agentforge.client.structured import StructuredPrompt
from agentforge.tool.execution import Run, ToolChatResult, ToolLoopState

__all__ = ("ServiceCore",)


@dataclass(frozen=True, slots=True)
class _Method:
    signature: ServiceSignature
    #: What each call begins with: the method's tools, advisors and parameters on the client's.
    prompt: Prompt


class ServiceCore:
    """The methods of one service over one client. Raises what `Prompt` raises for tools and advisors that cannot be."""

    def __init__(
        self,
        name: str,
        client: ChatClient,
        methods: Mapping[str, tuple[ServiceSignature, ServiceMethod]],
        max_depth: int,
    ) -> None:
        self.name = name
        self.client = client
        self.max_depth = max_depth
        self._methods = {
            each: _Method(signature, _prompt(client, signature, how)) for each, (signature, how) in methods.items()
        }

    def asks(self, method: str) -> bool:
        """Whether it is one of the methods that a model answers."""
        return method in self._methods

    def signature_of(self, method: str) -> ServiceSignature:
        """What a method is."""
        return self._methods[method].signature

    def bound(self, method: str, state: ToolLoopState | None = None) -> Callable[..., Any]:
        """The method as it is called; with ``state`` it goes on with a turn that was suspended."""
        signature = self.signature_of(method)
        if signature.answer.streams:
            give = self._stream_sync if signature.answer.sync else self._stream
            if not signature.is_async:
                return lambda *args, **kwargs: give(method, args, kwargs, state)

            async def streaming(*args: Any, **kwargs: Any) -> Any:
                return give(method, args, kwargs, state)

            return streaming
        if not signature.is_async:
            return lambda *args, **kwargs: self._call_sync(method, args, kwargs, state)

        async def calling(*args: Any, **kwargs: Any) -> Any:
            turn = await self.turn(method, args, kwargs, state)
            return signature.answer.of(turn, method)

        return calling

    async def turn(
        self,
        method: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        state: ToolLoopState | None = None,
        run: Run | None = None,
    ) -> ToolChatResult:
        """The turn of a call; in ``run``, where that is not the caller's to give."""
        prompt, own = self._asked(method, args, kwargs, state)
        return await prompt.call(own if run is None else run)

    async def give_up(self, method: str, run: Run) -> bool:
        """Let go of the turn that waits in the conversation of ``run``; whether there was one in a memory of the
        method's advisors."""
        from agentforge.advisor import MessageMemoryAdvisor
        from agentforge.memory import MemoryKey

        links = self._methods[method].prompt.links
        found = False
        for link in self.client.chain if links is None else links:
            if isinstance(link.advisor, MessageMemoryAdvisor):
                key = MemoryKey(run.tenant, run.memory_id)
                found = await link.advisor.memory.give_up(key) is not None or found
        return found

    # -- inside ----------------------------------------------------------------------------------

    def _asked(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], state: ToolLoopState | None
    ) -> tuple[Prompt, Run | None]:
        method = self._methods[name]
        asked = method.signature.asked(args, kwargs)
        prompt = replace(
            method.prompt,
            given=asked.messages,
            system_text=asked.system,
            memory=asked.memory_id,
            context_values=self._context(asked) or None,
            taken_up=state,
        )
        return prompt, asked.run

    def _context(self, asked: Asked) -> dict[str, object]:
        """The hidden values of a call. A parameter's default goes under what the client or the run has."""
        known = self.client.tool_context.keys() | (asked.run.user_data.keys() if asked.run is not None else ())
        return {**{name: value for name, value in asked.defaults.items() if name not in known}, **asked.context}

    def _call_sync(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], state: ToolLoopState | None
    ) -> Any:
        prompt, run = self._asked(name, args, kwargs, state)
        return self.signature_of(name).answer.of(prompt.call_sync(run), name)

    def _stream(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], state: ToolLoopState | None) -> Any:
        prompt, run = self._asked(name, args, kwargs, state)
        stream = prompt.stream(run)
        answer = self.signature_of(name).answer
        return stream if answer.form == "stream" else told(stream, answer, name)

    def _stream_sync(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], state: ToolLoopState | None
    ) -> Iterator[Any]:
        prompt, run = self._asked(name, args, kwargs, state)
        return told_sync(prompt.stream_sync(run), self.signature_of(name).answer, name)

    def __repr__(self) -> str:
        return f"{self.name}({self.client!r})"


def _prompt(client: ChatClient, signature: ServiceSignature, how: ServiceMethod) -> Prompt:
    prompt = Prompt(client, seconds=how.timeout, overrides=how.parameters)
    if how.tools:
        prompt = prompt.tools(*how.tools)
    if how.advisors:
        prompt = prompt.advisors(*how.advisors)
    output = signature.answer.output
    if output is None:
        return prompt
    most = 2 if how.max_reprompts is None else how.max_reprompts
    # A Result has a place for whatever tools return straight to the caller.
    checks = signature.answer.form != "result"
    return StructuredPrompt.of(prompt, output, how.mode or "auto", most, checks_direct=checks).prompt
