"""The events of a structured answer: the JSON as text while it is written, whichever way the model was asked for it.

What is told before the last reply was checked are snapshots: nobody has validated them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agentforge.model import ChatResponse, Event, ResponseDone, TextDelta, ToolCallDelta, ToolCallReady
from agentforge.tool.execution import AttemptDiscarded, Emit, RoundStarted

__all__ = ("AnswerEvents", "LastReply")


class AnswerEvents:
    """A sink for one model call. Arguments of the tool ``tool`` are told as text; other text waits then until it is
    known that no such call follows it. The reply is told as ``decoded`` gives it."""

    def __init__(self, emit: Emit, tool: str | None, decoded: Callable[[ChatResponse], ChatResponse]) -> None:
        self._emit = emit
        self._tool = tool
        self._decoded = decoded
        self._texts: list[TextDelta] = []
        #: The places of the final answers' calls among all calls of the reply.
        self._finals: set[int] = set()

    async def put(self, event: Event) -> None:
        """Tell the event in its form."""
        if isinstance(event, TextDelta) and self._tool is not None:
            self._texts.append(event)
        elif isinstance(event, ToolCallDelta) and self._is_final(event.index, event.name):
            self._texts = []
            if event.arguments_delta:
                await self._emit(TextDelta(event.arguments_delta))
        elif isinstance(event, ToolCallReady) and self._is_final(event.index, event.request.name):
            self._texts = []
        elif isinstance(event, ToolCallDelta | ToolCallReady):
            await self._release()
            await self._emit(replace(event, index=event.index - sum(at < event.index for at in self._finals)))
        elif isinstance(event, ResponseDone):
            await self._release()
            await self._emit(ResponseDone(self._decoded(event.response)))
        else:
            await self._emit(event)

    def _is_final(self, index: int, name: str | None) -> bool:
        if self._tool is not None and name == self._tool:
            self._finals.add(index)
        return index in self._finals

    async def _release(self) -> None:
        texts, self._texts = self._texts, []
        for text in texts:
            await self._emit(text)


class LastReply:
    """A sink for a whole turn that keeps the end of its last reply back until the answer was judged."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._done: ResponseDone | None = None

    async def put(self, event: Event) -> None:
        """Tell the event, or keep it."""
        if isinstance(event, ResponseDone):
            await self.release()
            if event.response.ai_message.has_tool_execution_requests:
                await self._emit(event)
            else:
                self._done = event
            return
        if isinstance(event, AttemptDiscarded):
            self._done = None
        elif isinstance(event, RoundStarted):
            await self.release()
        await self._emit(event)

    async def release(self) -> None:
        """Tell what was kept."""
        done, self._done = self._done, None
        if done is not None:
            await self._emit(done)
