"""A prompt that is asked for a value: its reply is a text that stands for one, and both are at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from agentforge.advisor import OutputType, OutputTypeError, StructuredMode, StructuredOutputAdvisor
from agentforge.advisor.faults import StructuredOutputError
from agentforge.client.prompt import Prompt
from agentforge.tool.execution import Run, RunEvent, RunStream, ToolChatResult

__all__ = ("StructuredPrompt", "StructuredReply")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StructuredReply(Generic[T]):
    """What a turn came to. ``reply`` is its result, whose text is the JSON; ``output`` reads it."""

    reply: ToolChatResult
    output: OutputType[T]

    @property
    def value(self) -> T:
        """The value, made anew each time. Raises `StructuredOutputError` where the turn is suspended, or ended with
        something else: an advisor further out may have answered itself."""
        reply = self.reply
        if reply.suspended is not None:
            raise StructuredOutputError(
                "the turn is suspended, so there is no value yet",
                next_step="Decide about the waiting calls, and resume the same prompt with reply.suspended.",
            )
        text = reply.content or ""
        try:
            return self.output.parse(text)
        except OutputTypeError as error:
            calls = reply.handed_back
            what = "the reply holds calls that the caller is to run" if calls else "the turn ended with another answer"
            raise StructuredOutputError(
                f"{what}, so there is no value of the type {self.output.name!r}: {error}",
                text=text,
                problems=error.problems,
                next_step="Look at reply for what came.",
            ) from None


@dataclass(frozen=True, slots=True)
class StructuredPrompt(Generic[T]):
    """A `Prompt` for a value: ``prompt.structured(Order)``."""

    prompt: Prompt
    output: OutputType[T]

    @classmethod
    def of(
        cls, prompt: Prompt, output: Any, mode: StructuredMode, max_reprompts: int, *, checks_direct: bool = True
    ) -> Self:
        """The prompt with the advisor for it, in the place of another one."""
        advisor: StructuredOutputAdvisor[T] = StructuredOutputAdvisor(
            output, mode, max_reprompts, checks_direct=checks_direct
        )
        added = (*prompt.added, advisor)
        links = tuple(
            link
            for link in prompt.client.chain_with(added)
            if link.advisor is advisor or not isinstance(link.advisor, StructuredOutputAdvisor)
        )
        return cls(replace(prompt, added=added, links=links), advisor.output)

    async def call(self, context: Run | None = None) -> StructuredReply[T]:
        """Hold the turn. Raises what `Prompt.call` raises, and `StructuredOutputError`."""
        return self.read(await self.prompt.call(context))

    def call_sync(self, context: Run | None = None) -> StructuredReply[T]:
        """`call` for synchronous code."""
        return self.read(self.prompt.call_sync(context))

    def stream(self, context: Run | None = None, *, nested: bool = False) -> RunStream:
        """`call` as events. Texts are pieces of the JSON, which nobody has checked; `read` the result of the last
        event, `RunFinished`."""
        return self.prompt.stream(context, nested=nested)

    def stream_sync(
        self, context: Run | None = None, *, nested: bool = False
    ) -> AbstractContextManager[Iterator[RunEvent]]:
        """`stream` for synchronous code."""
        return self.prompt.stream_sync(context, nested=nested)

    def read(self, result: ToolChatResult) -> StructuredReply[T]:
        """The reply of a result of this prompt."""
        return StructuredReply(result, self.output)
