"""The events of a guarded turn: what the model writes waits until it was judged, what tools do is told at once."""

from __future__ import annotations

from agentforge.advisor.safeguard_checks import Judge
from agentforge.advisor.telling import show
from agentforge.model import ChatResponse, Event, ResponseDone, TextDelta, ThinkingDelta
from agentforge.tool.execution import AttemptDiscarded, Emit, RoundStarted

__all__ = ("HeldText",)


class HeldText:
    """A sink that holds text and reasoning back.

    A reply with calls is judged when it is whole, and told then. One without waits for `settle`, as it may be the
    answer; when another round begins it was none.
    """

    def __init__(self, emit: Emit, judge: Judge) -> None:
        self._emit = emit
        self._judge = judge
        self._deltas: list[TextDelta | ThinkingDelta] = []
        self._done: ResponseDone | None = None

    async def put(self, event: Event) -> None:
        """Hold the event, or pass it on."""
        if isinstance(event, TextDelta | ThinkingDelta):
            self._deltas.append(event)
            return
        if isinstance(event, ResponseDone):
            self._done = event
            if event.response.ai_message.has_tool_execution_requests:
                await self._release()
            return
        if isinstance(event, AttemptDiscarded):
            self._drop()
        elif isinstance(event, RoundStarted):
            await self._release()
        await self._emit(event)

    async def settle(self, response: ChatResponse, *, own: bool = False) -> None:
        """The answer is ``response``, which was judged. What was held is told if it is that; ``own`` says that the
        answer is another than the model's, and is told in any case."""
        done, deltas = self._done, self._deltas
        if not own and done is not None and done.response == response:
            await self._tell(done)
        elif own or done is not None or deltas:
            await show(self._emit, response)
        self._drop()

    async def _release(self) -> None:
        """Tell a reply that is no answer, without what may not pass."""
        done = self._done
        if done is not None:
            response = await self._judge.clean_reply(done.response)
            if not any(isinstance(each, TextDelta) for each in self._deltas):
                # It said nothing, or the loop further in hides the text of rounds that go on.
                for delta in self._deltas if response is done.response else ():
                    await self._emit(delta)
                await self._emit(ResponseDone(response))
            elif response is done.response:
                await self._tell(done)
            else:
                await show(self._emit, response)
        self._drop()

    async def _tell(self, done: ResponseDone) -> None:
        """The reply as it was written, where the pieces are those of the whole, which alone was judged."""
        message = done.response.ai_message
        text = "".join(each.text for each in self._deltas if isinstance(each, TextDelta))
        thinking = "".join(each.text for each in self._deltas if isinstance(each, ThinkingDelta))
        if (text, thinking) not in ((message.text or "", message.thinking or ""), (message.text or "", "")):
            await show(self._emit, done.response)
            return
        for delta in self._deltas:
            await self._emit(delta)
        await self._emit(done)

    def _drop(self) -> None:
        self._deltas, self._done = [], None
