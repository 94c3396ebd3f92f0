"""A model that answers from a script: for tests, demonstrations and the documentation's examples.

It keeps the whole contract of `ChatModel`: the same reply plain and streamed, deterministic ids and usage, errors
raised as a provider's would be, and every request recorded, so that a test reads like the conversation it is about.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.call_ids import call_ids_in
from agentforge.model.content import TextContent, ThinkingContent
from agentforge.model.events import (
    ChatEvent,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge.model.messages import AiMessage
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest
from agentforge.model.response import ChatResponse
from agentforge.model.script import (
    ScriptedReply,
    Turn,
    call,
    calls,
    characters_of,
    read_turn,
    resolve_turn,
)
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = ("ScriptedChatModel", "Turn", "call", "calls")

_PIECE = 8


class ScriptedChatModel:
    """A `ChatModel` that answers its n-th request with the n-th turn; see `read_turn` for what a turn may be.

    ``requests`` holds every `ChatRequest` received. With ``repeat`` the script starts over after its last turn;
    without it a further request raises `ModelError`. Mistakes in the script raise `ConfigurationError` at once.

    >>> model = ScriptedChatModel([call("get_weather", city="杭州"), "22 degrees."])
    >>> asyncio.run(model.chat(ChatRequest("Weather in Hangzhou?"))).ai_message.tool_execution_requests[0].id
    'call_1'
    >>> asyncio.run(model.chat(ChatRequest("And now?"))).ai_message.text
    '22 degrees.'
    """

    def __init__(self, turns: Iterable[Turn], *, profile: ModelProfile | None = None, repeat: bool = False) -> None:
        if isinstance(turns, (str, AiMessage, ToolExecutionRequest)):
            turns = (turns,)
        self._turns: tuple[ScriptedReply | Callable[[Any], Any], ...] = tuple(
            read_turn(turn, (position,)) for position, turn in enumerate(turns)
        )
        self._profile = profile if profile is not None else ModelProfile(name="scripted")
        self._repeat = repeat
        self._taken = 0
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []
        #: Whether `aclose` was called.
        self.closed = False

    @classmethod
    def from_yaml(
        cls, path_or_text: str | Path, *, profile: ModelProfile | None = None, repeat: bool = False
    ) -> ScriptedChatModel:
        """A model from a YAML script: a file (`Path`, or a name that ends in ``.yaml``), or the text itself.

        Raises `ConfigurationError` with file and line. Needs the ``yaml`` extra.

        >>> ScriptedChatModel.from_yaml("- calls: [{name: now}]\\n- text: It is noon.").turns_left
        2
        """
        from agentforge.model.script_file import read_script

        return cls(read_script(path_or_text, read_turn), profile=profile, repeat=repeat)

    @property
    def profile(self) -> ModelProfile:
        """What the model claims to be able to do; by default everything."""
        return self._profile

    @property
    def turns_left(self) -> int:
        """How many turns were not used yet."""
        return max(0, len(self._turns) - self._taken)

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The next turn as a whole reply. Raises the turn's error, or `ModelError` when the script is used up."""
        response, error = await self._next(request)
        # A real model always lets others run before it answers.
        await asyncio.sleep(0)
        if error is not None:
            raise error.with_traceback(None)
        return response

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The next turn in pieces; a turn with an error shows its parts first and then raises."""
        response, error = await self._next(request)
        index = 0
        for part in response.ai_message.contents:
            await asyncio.sleep(0)
            if isinstance(part, TextContent):
                for piece in _pieces(part.text):
                    yield TextDelta(piece)
            elif isinstance(part, ThinkingContent):
                for piece in _pieces(part.text):
                    yield ThinkingDelta(piece)
            elif isinstance(part, ToolExecutionRequest):
                yield ToolCallDelta(index, part.id, part.name, "")
                for piece in _pieces(part.arguments):
                    yield ToolCallDelta(index, part.id, part.name, piece)
                yield ToolCallReady(part, index)
                index += 1
        await asyncio.sleep(0)
        if error is not None:
            raise error.with_traceback(None)
        for notice in response.notices:
            yield notice
        yield UsageEvent(response.token_usage)
        yield ResponseDone(response)

    async def aclose(self) -> None:
        """Nothing to release; notes that it was called."""
        self.closed = True

    async def _next(self, request: ChatRequest) -> tuple[ChatResponse, BaseException | None]:
        with self._lock:
            self.requests.append(request)
            position = self._taken
            self._taken += 1
        count = len(self._turns)
        if position >= count and not (self._repeat and count):
            raise ModelError(
                f"the script has {count} turn{'' if count == 1 else 's'}, and this is request {position + 1}",
                next_step="Add a turn to the script, or use repeat=True.",
            )
        at = position % count
        reply = await resolve_turn(self._turns[at], request, (at,), read_turn)
        reply = reply.with_ids(call_ids_in(request.messages))
        response = reply.response(
            input_characters=sum(characters_of(message) for message in request.messages),
            id=f"scripted-{position + 1}",
            model_name=request.parameters.model_name or self._profile.name,
        )
        return response, reply.error

    def __repr__(self) -> str:
        return f"ScriptedChatModel({len(self._turns)} turns, {self._taken} requests)"


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
