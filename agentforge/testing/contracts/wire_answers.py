"""What a wire makes of answers: plain and streamed alike, wherever the network cuts the bytes, names taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from agentforge.errors import ModelError
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    ResponseDone,
    TextContent,
    ThinkingContent,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.model.scripted import call, calls
from agentforge.testing.contracts.model_suite import WEATHER, events_of, offering
from agentforge.testing.contracts.running import must, skip
from agentforge.testing.contracts.streams import check_stream, same_reply
from agentforge.testing.contracts.wire_asking import ILLEGAL_NAMES
from agentforge.testing.contracts.wire_suite import WireSuite, texts_in

if TYPE_CHECKING:
    from agentforge.provider import Decoder, WireModel

__all__ = ("WireAnswersSuite",)

_TEXT = "杭州: 22 ℃ 🌤 – a text that comes in several pieces."
_THOUGHT = "First the weather 🌤, then an answer in several pieces."
#: How many places a stream is cut in two at, spread over it.
_PLACES = 200


@dataclass
class _Tape:
    """The bytes of a stream as they went by, and how to make a decoder that reads them again."""

    arguments: tuple[Any, ...]
    content: bytearray = field(default_factory=bytearray)


class WireAnswersSuite(WireSuite):
    """The part of `WireModelContract` about replies."""

    #: Whether the endpoint wants opaque state of its replies back; false where the wire keeps what others want.
    replays_state = True

    def test_a_reply_is_the_same_plain_and_streamed_part_by_part(self) -> None:
        """Thinking, text and calls, in their order, with what the provider wants back of each (`provider_state`)."""
        self.script_needed()

        async def work() -> None:
            for turn, tools in _turns():
                plain, streamed = await self._both(turn, tools=tools)
                same_reply(plain, streamed)
                one, other = _parts(plain.ai_message), _parts(streamed.ai_message)
                must(one == other, f"the parts differ: {one} plain, {other} streamed")

        self.run(work())

    def test_a_stream_gives_the_same_events_wherever_it_is_cut(self) -> None:
        """Byte by byte, in pieces, in two at each place, whole: within a character, a line, an event."""
        self.script_needed()

        async def work() -> None:
            for turn, tools in _turns():
                async with self.wire(turn, tools=tools) as model:
                    tape = await self._taped(model, tools=tools)
                    whole = _played(model, tape, [bytes(tape.content)])
                    for what, pieces in _cuts(bytes(tape.content)):
                        try:
                            events = _played(model, tape, pieces)
                        except Exception as error:
                            raise AssertionError(
                                f"a stream that is cut {what} fails with {type(error).__name__}: {error}"
                            ) from error
                        must(events == whole, f"a stream that is cut {what} {_difference(events, whole)}")

        self.run(work())

    def test_a_stream_that_ends_too_early_is_an_error(self) -> None:
        """At each place: a `ModelError`, or the whole reply where no more than its end mark is missing."""
        self.script_needed()

        async def work() -> None:
            for turn, tools in _turns():
                async with self.wire(turn, tools=tools) as model:
                    tape = await self._taped(model, tools=tools)
                    content = bytes(tape.content)
                    whole = _done(_played(model, tape, [content]))
                    for place in _places(content):
                        try:
                            early = _done(_played(model, tape, [content[:place]]))
                        except ModelError:
                            continue
                        one, other = _parts(early.ai_message), _parts(whole.ai_message)
                        must(
                            one == other and early.finish_reason is whole.finish_reason,
                            f"a stream that ended after {place} of {len(content)} bytes was taken for whole: "
                            f"{one or 'nothing'} instead of {other}; raise StreamTruncatedError in finish",
                        )

        self.run(work())

    def test_aliases_of_names_are_taken_back(self) -> None:
        """A call of a tool that had an alias comes back under the tool's own name: in replies, in events."""
        self.script_needed()

        async def work() -> None:
            tools = [_tool(name) for name in ILLEGAL_NAMES]
            async with self.wire(tools=True) as model:
                try:
                    aliases = model.preview_tools(tools).aliases
                except ModelError:
                    skip("the model refuses such names")
            turn = calls(*(call(aliases.get(name, name), n=1) for name in ILLEGAL_NAMES))
            request = ChatRequest("Go.", ChatRequestParameters(tools=tools))
            async with self.wire(turn) as model:
                plain = await model.chat(request)
            async with self.wire(turn) as model:
                events = await events_of(model, request)
            told: list[tuple[str, list[str | None]]] = [
                ("a plain reply", _names(plain)),
                ("a streamed reply", _names(check_stream(events))),
            ]
            ready = [event.request.name for event in events if isinstance(event, ToolCallReady)]
            pieces = {event.index: event.name for event in events if isinstance(event, ToolCallDelta) and event.name}
            told += [("ToolCallReady", list(ready))] if ready else []
            told += [("ToolCallDelta", [pieces.get(at) for at in range(len(ILLEGAL_NAMES))])] if pieces else []
            for where, names in told:
                must(
                    names == list(ILLEGAL_NAMES),
                    f"in {where} the tools are called {names}, not {list(ILLEGAL_NAMES)}; "
                    "look the name up in answering.aliases",
                )

        self.run(work())

    def test_a_reply_goes_back_as_it_came(self) -> None:
        """The next request holds its text, its calls with their ids, and what the provider wants back."""
        self.script_needed()

        async def work() -> None:
            asking = [{"id": "call_0815", "name": WEATHER.name, "args": {"city": "杭州"}}]
            turn = {"thinking": _THOUGHT, "text": _TEXT, "calls": asking}
            for streamed in (False, True):
                async with self.wire(turn, tools=True) as model:
                    asked = ChatRequest("Weather?", offering())
                    reply = check_stream(await events_of(model, asked)) if streamed else await model.chat(asked)
                    [made] = reply.ai_message.tool_execution_requests
                    result = ToolExecutionResultMessage(made.id, made.name, "Rain.")
                    messages: list[ChatMessage] = [UserMessage("Weather?"), reply.ai_message, result]
                    sent = self.sent_whole(model, "a reply of its own", messages, offering())
                    how = "streamed" if streamed else "plain"
                    must(sent.says(_TEXT), f"the text of a {how} reply does not go back")
                    must(WEATHER.name in sent.texts, f"the call of a {how} reply does not go back")
                    must(sent.has_object({"city": "杭州"}), f"the arguments of a {how} reply do not go back")
                    plain = _without_state(reply.ai_message)
                    other = self.sent_whole(model, "a reply", [messages[0], plain, result], offering())
                    must(
                        not self.replays_state or plain == reply.ai_message or other.body != sent.body,
                        f"what the provider wants back of a {how} reply (provider_state) does not go back; send it "
                        "where state.provider == shape.provider",
                    )

        self.run(work())

    def test_notices_of_a_request_are_on_its_response(self) -> None:
        """What was mapped, left out or mended on the way out is told with the reply: ``answering.notices``."""
        self.script_needed()

        async def work() -> None:
            mended: list[ChatMessage] = [
                UserMessage("Weather?"),
                AiMessage([ToolExecutionRequest("call_1", WEATHER.name, "{}")]),
                UserMessage("Well?"),
            ]
            for streamed in (False, True):
                async with self.wire("Nobody knows.", tools=True) as model:
                    asked = ChatRequest(mended, offering())
                    reply = check_stream(await events_of(model, asked)) if streamed else await model.chat(asked)
                codes = [notice.code for notice in reply.notices]
                must(
                    "history_call_without_result" in codes,
                    f"a history was mended, and the {'streamed' if streamed else 'plain'} response has the notices "
                    f"{codes}; give answering.notices to the response",
                )

        self.run(work())

    # -- inside ----------------------------------------------------------------------------------

    async def _both(self, turn: Any, *, tools: bool) -> tuple[ChatResponse, ChatResponse]:
        request = ChatRequest("Weather?", offering() if tools else None)
        async with self.wire(turn, tools=tools) as model:
            plain = await model.chat(request)
        async with self.wire(turn, tools=tools) as model:
            streamed = check_stream(await events_of(model, request))
        return plain, streamed

    async def _taped(self, model: WireModel[Any], *, tools: bool) -> _Tape:
        """What the other side streams, on its way into the model's own decoder."""
        tapes: list[_Tape] = []
        decoder_of = model._decoder

        def taping(*arguments: Any) -> Decoder:
            tapes.append(_Tape(arguments))
            decoder = decoder_of(*arguments)
            feed = decoder.feed

            def taped(chunk: bytes) -> list[ChatEvent]:
                tapes[-1].content += chunk
                return feed(chunk)

            return _Listening(decoder, taped)

        model._decoder = taping  # type: ignore[method-assign,assignment]
        try:
            await events_of(model, ChatRequest("Weather?", offering() if tools else None))
        finally:
            model._decoder = decoder_of  # type: ignore[method-assign]
        if not tapes or not tapes[0].content:
            skip("the other side does not stream")
        return tapes[0]


class _Listening:
    """A decoder whose bytes go past a tape."""

    def __init__(self, decoder: Decoder, feed: Any) -> None:
        self._decoder = decoder
        self.feed = feed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def finish(self) -> list[ChatEvent]:
        return self._decoder.finish()


def _turns() -> list[tuple[Any, bool]]:
    """What is answered, and whether tools are offered with the request."""
    answer = {"thinking": _THOUGHT, "text": _TEXT, "usage": {"input": 30, "output": 5}}
    asking = [call(WEATHER.name, city="杭州 🌤"), call(WEATHER.name, city="Oslo")]
    return [(answer, False), (calls(*asking, text="I look it up.", thinking=_THOUGHT), True)]


def _tool(name: str) -> ToolSpecification:
    schema: dict[str, object] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return ToolSpecification(name, "A tool.", ToolParameters(schema))


def _names(reply: ChatResponse) -> list[str | None]:
    return [each.name for each in reply.ai_message.tool_execution_requests]


def _parts(message: AiMessage) -> list[tuple[object, ...]]:
    """The parts of a message, without ids that were made up; neighbours of one kind in one piece."""
    made: list[tuple[object, ...]] = []
    for part in message.contents:
        opaque = getattr(part, "provider_state", None)
        state = texts_in(dict(opaque.data)) if opaque is not None else []
        if isinstance(part, ToolExecutionRequest):
            made.append(("call", part.id if part.id_was_given else None, part.name, part.arguments, state))
        elif isinstance(part, (TextContent, ThinkingContent)):
            kind = "text" if isinstance(part, TextContent) else "thinking"
            made.append((kind, part.text, state))
        else:
            made.append((part,))
    return made


def _without_state(message: AiMessage) -> AiMessage:
    return AiMessage(
        [
            replace(part, provider_state=None)
            if isinstance(part, (TextContent, ThinkingContent, ToolExecutionRequest))
            else part
            for part in message.contents
        ]
    )


def _played(model: WireModel[Any], tape: _Tape, pieces: Sequence[bytes]) -> list[ChatEvent]:
    """The events of these bytes, read as the model reads a stream."""
    numbers = count(1)
    answering, *rest = tape.arguments
    # Ids that are made up are the same in each reading.
    decoder = model._decoder(replace(answering, new_id=lambda: f"made_{next(numbers)}"), *rest)
    events: list[ChatEvent] = []
    for piece in pieces:
        events += decoder.feed(piece)
        if decoder.failure is not None:
            raise decoder.failure
        if decoder.ended:
            break
    return [*events, *decoder.finish()]


def _done(events: Sequence[ChatEvent]) -> ChatResponse:
    must(events and isinstance(events[-1], ResponseDone), "finish gave no ResponseDone")
    last = events[-1]
    assert isinstance(last, ResponseDone)
    return last.response


def _places(content: bytes) -> range:
    """Places to cut at, at most so many."""
    return range(1, len(content), max(len(content) // _PLACES, 1))


def _cuts(content: bytes) -> Iterator[tuple[str, list[bytes]]]:
    for size in (1, 2, 3, 7, 61):
        said = "after each byte" if size == 1 else f"every {size} bytes"
        yield said, [content[at : at + size] for at in range(0, len(content), size)]
    for at in _places(content):
        yield f"in two after {at} bytes", [content[:at], content[at:]]


def _difference(events: Sequence[ChatEvent], whole: Sequence[ChatEvent]) -> str:
    for number, (one, other) in enumerate(zip(events, whole, strict=False), 1):
        if one != other:
            return f"has {one} as event {number}; in one piece it has {other}"
    return f"gives {len(events)} events; in one piece it gives {len(whole)}"
